"""The archives of WMT14: fetched once, continued, checked; what is not them is named and never used."""

import gzip
import http.server
import io
import shutil
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support import ROOT
from tests.support.environment import environment, real_corpora
from tests.support.mirror import LANGS, Pairs, make_archives, served

FETCH = "bash data-prep/prepare_wmt14_ende.sh fetch"
EUROPARL, COMMON_CRAWL = "training-parallel-europarl-v7.tgz", "training-parallel-commoncrawl.tgz"


@pytest.fixture(scope="module")
def archives(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Pairs]]:
    folder = tmp_path_factory.mktemp("mirror")
    return folder, make_archives(folder, real_corpora())


def fetch(work: Path, *before: str, **settings: str) -> subprocess.CompletedProcess[str]:
    env = environment(work, **{"WMT14_SUBSET": "1", **settings})
    return subprocess.run(
        ["bash", "-c", "\n".join((*before, FETCH))], cwd=ROOT, env=env, capture_output=True, text=True, check=False
    )


def has_all(work: Path, text: dict[str, Pairs]) -> bool:
    return all(
        (work / "raw" / f"{name}.{lang}").read_text(encoding="utf-8").split("\n")[:-1] == text[name][lang]
        for name in ("train", "valid")
        for lang in LANGS
    )


def flat(folder: Path, to: Path) -> Path:
    """All archives in one folder, as WMT14_ARCHIVES wants them."""
    to.mkdir()
    for path in folder.rglob("*.tgz"):
        shutil.copy(path, to)
    return to


def test_the_corpora_are_fetched_once_and_are_those_of_the_server(archives, tmp_path: Path):
    folder, text = archives
    with served(folder) as (address, requests):
        assert fetch(tmp_path, WMT14_MIRROR=address).returncode == 0
        assert len(requests) == 5
        done = fetch(tmp_path, WMT14_MIRROR=address)
        assert done.returncode == 0 and len(requests) == 5
    assert has_all(tmp_path, text)
    assert "make " not in done.stderr
    assert len((tmp_path / "archives.sha256").read_text().splitlines()) == 5


def test_archives_that_are_there_are_taken_without_a_server(archives, tmp_path: Path):
    folder, text = archives
    done = fetch(tmp_path / "work", WMT14_ARCHIVES=str(flat(folder, tmp_path / "archives")))
    assert done.returncode == 0, done.stderr
    assert has_all(tmp_path / "work", text)


@pytest.mark.parametrize("continues", [True, False], ids=["continues", "starts again"])
def test_an_interrupted_download_goes_on(archives, tmp_path: Path, continues: bool):
    folder, text = archives
    part = tmp_path / "download" / f"{EUROPARL}.part"
    part.parent.mkdir()
    whole = (folder / "wmt13" / EUROPARL).read_bytes()
    part.write_bytes(whole[:3000])
    options = [] if continues else [http.server.SimpleHTTPRequestHandler]
    with served(folder, *options) as (address, requests):
        done = fetch(tmp_path, WMT14_MIRROR=address)
    assert done.returncode == 0, done.stderr
    assert requests[0] == f"/wmt13/{EUROPARL} bytes=3000-"
    assert requests[1:2] == ([] if continues else [f"/wmt13/{EUROPARL} whole"]) or continues
    assert has_all(tmp_path, text)


def test_a_download_that_was_complete_when_the_run_was_stopped_is_used(archives, tmp_path: Path):
    folder, _ = archives
    (tmp_path / "download").mkdir()
    shutil.copy(folder / "wmt13" / EUROPARL, tmp_path / "download" / f"{EUROPARL}.part")
    with served(folder) as (address, requests):
        assert fetch(tmp_path, WMT14_MIRROR=address).returncode == 0
    assert not [request for request in requests if EUROPARL in request]


def truncate(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-400])


def add_parent(file: Path) -> None:
    with tarfile.open(file, "w:gz") as archive:
        for name in ("training/europarl-v7.de-en.en", "training/../../outside"):
            archive.addfile(tarfile.TarInfo(name))


BAD: dict[str, tuple[Callable[[Path], object], str]] = {
    "truncated": (truncate, "is no whole archive: truncated or corrupt"),
    "HTML": (lambda file: file.write_text("<!DOCTYPE html><html>Not here</html>"), "is no whole archive: an HTML page"),
    "swapped": (
        lambda file: shutil.copy(file.parent.parent / "wmt14" / "training-parallel-nc-v9.tgz", file),
        "does not hold training/europarl-v7.de-en.en: it is another archive under this name",
    ),
    "no tar": (lambda file: file.write_bytes(gzip.compress(b"text\n" * 500, mtime=0)), "is no tar archive"),
    "hostile": (add_parent, "is not unpacked: its member 'training/../../outside' is outside the archive's folder"),
    "missing": (lambda file: file.unlink(), "cannot fetch http://localhost:"),
}


@pytest.mark.parametrize(("change", "message"), BAD.values(), ids=BAD)
def test_a_bad_archive_is_named_and_never_used_and_a_good_one_later_is(
    archives, tmp_path: Path, change: Callable[[Path], object], message: str
):
    folder, text = archives
    mirror = tmp_path / "mirror"
    shutil.copytree(folder, mirror)
    change(mirror / "wmt13" / EUROPARL)
    with served(mirror) as (address, _):
        bad = fetch(tmp_path / "work", WMT14_MIRROR=address)
        assert bad.returncode != 0 and message in bad.stderr and EUROPARL in bad.stderr
        assert not list((tmp_path / "work" / "raw").rglob("*.en"))
        shutil.copy(folder / "wmt13" / EUROPARL, mirror / "wmt13" / EUROPARL)
        (tmp_path / "work" / "archives.sha256").unlink(missing_ok=True)
        for file in (tmp_path / "work" / "download").glob("*.tgz"):
            file.unlink()
        good = fetch(tmp_path / "work", WMT14_MIRROR=address)
    assert good.returncode == 0, good.stderr
    assert has_all(tmp_path / "work", text)


def test_an_archive_that_changed_since_its_first_use_is_refused(archives, tmp_path: Path):
    folder, _ = archives
    own = flat(folder, tmp_path / "archives")
    assert fetch(tmp_path / "work", WMT14_ARCHIVES=str(own)).returncode == 0
    shutil.rmtree(tmp_path / "work" / "raw")
    shutil.copy(own / "training-parallel-nc-v9.tgz", own / EUROPARL)
    done = fetch(tmp_path / "work", WMT14_ARCHIVES=str(own))
    assert done.returncode != 0
    assert EUROPARL in done.stderr and "has the SHA-256" in done.stderr and "but must have" in done.stderr


def test_other_archives_than_those_of_the_text_are_refused_before_anything_else(archives, tmp_path: Path):
    own = flat(archives[0], tmp_path / "archives")
    assert fetch(tmp_path / "work", WMT14_ARCHIVES=str(own)).returncode == 0
    shutil.copy(own / "training-parallel-nc-v9.tgz", own / EUROPARL)
    env = environment(tmp_path / "work", WMT14_SUBSET="1", WMT14_ARCHIVES=str(own))
    command = ["bash", "scripts/run_wmt14_ende.sh", "average"]
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and f"{EUROPARL} has the SHA-256" in done.stderr and "was made from one" in done.stderr


def test_a_sample_is_not_taken_for_the_full_corpus(archives, tmp_path: Path):
    own = flat(archives[0], tmp_path / "archives")
    done = fetch(tmp_path / "work", WMT14_ARCHIVES=str(own), WMT14_SUBSET="0", FREE_GIB="0")
    assert done.returncode != 0
    assert "has 250 lines, but must have 1920209" in done.stderr or "needs 17 GiB" in done.stderr


def rewrite(archive: Path, **texts: str) -> None:
    """Put other text into an archive of one corpus, LANG=text."""
    with tarfile.open(archive) as file:
        names = file.getnames()
    with tarfile.open(archive, "w:gz") as file:
        for name in names:
            content = texts[name.rpartition(".")[2]].encode()
            info = tarfile.TarInfo(name)
            info.size = len(content)
            file.addfile(info, io.BytesIO(content))


def test_a_corpus_without_its_last_line_end_is_not_joined_to_the_next_in_one_line(archives, tmp_path: Path):
    own = flat(archives[0], tmp_path / "archives")
    rewrite(own / EUROPARL, en="one\ntwo", de="eins\nzwei")
    rewrite(own / COMMON_CRAWL, en="three\n", de="drei")
    assert fetch(tmp_path / "work", WMT14_ARCHIVES=str(own)).returncode == 0
    for lang, begin in (("en", "one\ntwo\nthree\n"), ("de", "eins\nzwei\ndrei\n")):
        assert (tmp_path / "work" / "raw" / f"train.{lang}").read_text(encoding="utf-8").startswith(begin)


def test_corpora_that_are_aligned_only_all_together_are_refused(archives, tmp_path: Path):
    own = flat(archives[0], tmp_path / "archives")
    rewrite(own / EUROPARL, en="one\ntwo\n", de="zwei\n")
    rewrite(own / COMMON_CRAWL, en="three\n", de="drei\nvier\n")
    done = fetch(tmp_path / "work", WMT14_ARCHIVES=str(own))
    assert done.returncode == 1
    assert "europarl-v7.de-en.de has 1 lines, but" in done.stderr and "europarl-v7.de-en.en has 2" in done.stderr
    assert not (tmp_path / "work" / "raw" / "train.en").exists()


def test_a_full_disk_leaves_nothing_under_a_final_name(archives, tmp_path: Path):
    folder, _ = archives
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=128k", "tmpfs", disk], capture_output=True, check=False
    )
    is_small = mounted.returncode == 0
    # who may not mount gets files that cannot grow: the corpus itself is the first that is too large
    before, error = ((), "No space left on device") if is_small else (("ulimit -f 48",), "File size limit exceeded")
    try:
        done = fetch(disk, *before, WMT14_ARCHIVES=str(flat(folder, tmp_path / "archives")))
        assert done.returncode != 0 and error in done.stderr
        for lang in LANGS:
            assert not (disk / "raw" / f"train.{lang}").exists()
    finally:
        if is_small:
            subprocess.run(["umount", disk], check=True)
