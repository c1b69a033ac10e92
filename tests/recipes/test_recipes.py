"""The recipes themselves, on small text: a whole chain, an interruption, data that is not what it should be."""

import functools
import gzip
import http.server
import re
import shutil
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support import ROOT
from tests.support.environment import environment, forking_environment
from tests.support.mirror import served
from tests.support.process_groups import kill_group
from tests.support.trained import Trained

PARTS = {"train": "train", "valid": "val", "test": "test_2016_flickr"}


# a model that has hardly learned would go on to 200 words
CONF = """# shellcheck shell=bash disable=SC2034
source "$ROOT/scripts/conf/multi30k.env"
GENERATE+=(--max-len-b 10)
"""


def multi30k(command: list[str], env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def prepared(trained: Trained, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Text in BPE as Wu et al. give theirs: 200 pairs for training, 50 for each other part."""
    folder = tmp_path_factory.mktemp("prepared")
    for lang in ("en", "de"):
        lines = (trained.data.parent / f"bpe.{lang}").read_text(encoding="utf-8").splitlines(keepends=True)
        for name, part in (("train", lines[:200]), ("valid", lines[200:250]), ("test.2016", lines[250:])):
            with gzip.open(folder / f"{name}.{lang}.gz", "wt", encoding="utf-8") as file:
                file.writelines(part)
    return folder


@pytest.fixture
def command(tmp_path: Path) -> list[str]:
    """The recipe, with a conf beside its work folder."""
    conf = tmp_path / "conf.env"
    conf.write_text(CONF)
    return ["bash", "scripts/run_multi30k.sh", "--conf", str(conf)]


def test_the_chain_runs_to_its_table_then_has_nothing_left_to_do_and_takes_the_baseline_beside_it(
    prepared: Path, command: list[str], tmp_path: Path
):
    settings, work = {"PREPARED": str(prepared), "MAX_EPOCH": "10"}, tmp_path / "work"
    forking = forking_environment(work, **settings)
    first = multi30k(command, forking)
    assert first.returncode == 0, first.stderr[-3000:]
    assert re.search(r"\| epochs, updates +\| 10, \d+ +\|", first.stdout)
    assert re.search(r"\| test: BLEU4 +\| \d+\.\d\d", first.stdout) and "tok:as-is" in first.stdout
    page = (work / "report.html").read_text(encoding="utf-8")
    assert f"The page of this experiment: {work}/report.html" in first.stdout
    assert "rope reaches" in page and "MAX_EPOCH=10" in page and "<svg" in page
    averaged = (work / "rope" / "averaged.pt").stat().st_mtime_ns
    assert multi30k(command, forking).stdout == first.stdout
    assert (work / "rope" / "averaged.pt").stat().st_mtime_ns == averaged
    other = multi30k(command, {**forking, "MAX_EPOCH": "11"})
    assert other.returncode != 0 and "+--max-epoch 11" in other.stderr
    baseline = multi30k(command, {**forking, "BASELINE": "1"})
    assert baseline.returncode == 0, baseline.stderr[-3000:]
    header, _, parameters = baseline.stdout.splitlines()[:3]
    assert [cell.strip() for cell in header.split("|")[2:-1]] == ["rope", "sinusoidal"]
    assert len(set(parameters.split("|")[2:-1])) == 1  # the baseline has as many
    assert "How does sinusoidal compare with rope?" in (work / "report.html").read_text(encoding="utf-8")


def wait_until(holds: Callable[[], bool], work: Path) -> None:
    """Wait for what the page of a stopped run says."""
    deadline = time.monotonic() + 120
    while not (work / "report.html").exists() or not holds():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_a_recipe_killed_while_training_goes_on(prepared: Path, command: list[str], tmp_path: Path):
    settings, work = {"PREPARED": str(prepared), "MAX_EPOCH": "10"}, tmp_path / "work"
    env, quiet = forking_environment(work, **settings), subprocess.DEVNULL
    process = subprocess.Popen(command, cwd=ROOT, env=env, stdout=quiet, stderr=quiet, start_new_session=True)
    while not (work / "rope" / "checkpoint4.pt").exists():
        assert process.poll() is None
        time.sleep(0.02)
    kill_group(process)
    wait_until(lambda: "has not ended" in (work / "report.html").read_text(encoding="utf-8"), work)
    done = multi30k(command, env)
    assert done.returncode == 0, done.stderr[-3000:]
    assert re.search(r"\| epochs, updates +\| 10, ", done.stdout)
    assert re.search(r"Loaded checkpoint \S+ \(epoch [4-9] @", done.stderr) and not list(work.rglob("*.part*"))


@pytest.fixture
def raw(data_dir: Path) -> Path:
    return data_dir / "multi30k"


def fetch(work: Path, **settings: str) -> subprocess.CompletedProcess[str]:
    command = ["bash", "data-prep/prepare_multi30k.sh", "fetch"]
    env = environment(work, **settings)
    return subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)


def test_multi30k_is_taken_from_a_server_or_a_folder_and_is_the_same(raw: Path, tmp_path: Path):
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(raw))
    with http.server.ThreadingHTTPServer(("localhost", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        done = fetch(tmp_path / "server", MULTI30K_URL=f"http://localhost:{server.server_port}")
        server.shutdown()
    assert done.returncode == 0, done.stderr
    assert fetch(tmp_path / "folder", MULTI30K_DIR=str(raw)).returncode == 0
    for part, name in PARTS.items():
        for lang in ("en", "de"):
            expected = gzip.decompress((raw / f"{name}.{lang}.gz").read_bytes())
            assert (tmp_path / "server" / "raw" / f"{part}.{lang}").read_bytes() == expected
            assert (tmp_path / "folder" / "raw" / f"{part}.{lang}").read_bytes() == expected


def test_an_interrupted_download_of_multi30k_goes_on(raw: Path, tmp_path: Path):
    part = tmp_path / "download" / "train.en.gz.part"
    part.parent.mkdir()
    part.write_bytes((raw / "train.en.gz").read_bytes()[:5000])
    with served(raw) as (address, requests):
        done = fetch(tmp_path, MULTI30K_URL=address)
    assert done.returncode == 0, done.stderr
    assert requests[0] == "/train.en.gz bytes=5000-" and len(requests) == 6


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda file: file.unlink(), "MULTI30K_DIR must hold train.de or train.de.gz"),
        (lambda file: file.write_bytes(file.read_bytes()[:5000]), "is not a whole gzip file"),
        (lambda file: file.write_bytes(gzip.compress(b"something else\n")), "has the SHA-256"),
        (lambda file: file.write_bytes(b"<html>404</html>"), "is not a whole gzip file"),
    ],
)
def test_a_file_that_is_not_multi30ks_is_named_and_not_used(raw: Path, tmp_path: Path, change, message: str):
    shutil.copytree(raw, tmp_path / "raw30k")
    change(tmp_path / "raw30k" / "train.de.gz")
    done = fetch(tmp_path, MULTI30K_DIR=str(tmp_path / "raw30k"))
    assert done.returncode != 0
    assert message in done.stderr and "train.de" in done.stderr
    assert not (tmp_path / "raw" / "train.de").exists()


def test_without_network_the_error_says_what_to_do(tmp_path: Path):
    done = fetch(tmp_path, MULTI30K_URL="http://localhost:9")
    assert done.returncode != 0
    assert "cannot fetch http://localhost:9/train.en.gz" in done.stderr and "MULTI30K_DIR" in done.stderr
