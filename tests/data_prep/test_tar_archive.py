"""Archives and gzip files that are fetched or given: what is hostile in them is named, and nothing is unpacked."""

import functools
import gzip
import io
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.program import Done, run_program

Member = tuple[tarfile.TarInfo, bytes]
Run = Callable[..., Done]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a program of data-prep."""
    return functools.partial(run_program, monkeypatch)


def member(name: str, *, content: bytes = b"text\n", **fields: object) -> Member:
    info = tarfile.TarInfo(name)
    info.size = len(content)
    for field, value in fields.items():
        setattr(info, field, value)
    return info, content


def archive(path: Path, *members: Member) -> Path:
    with tarfile.open(path, "w:gz") as file:
        for info, content in members:
            file.addfile(info, io.BytesIO(content) if info.isreg() else None)
    return path


WANTED = member("training/a.en", content=b"wanted\n")
SYMLINK, HARD_LINK = tarfile.SYMTYPE, tarfile.LNKTYPE
HOSTILE = {
    "parent": (member("training/../../out"), "'training/../../out' is outside the archive's folder"),
    "absolute": (member("/tmp/out"), "'/tmp/out' is outside the archive's folder"),
    "symlink": (member("a", type=SYMLINK, linkname="/etc/passwd"), "'a' is a link to /etc/passwd, outside"),
    "relative symlink": (member("a/b", type=SYMLINK, linkname="../../c"), "'a/b' is a link to ../../c, outside"),
    "hard link": (member("a/b", type=HARD_LINK, linkname="../c"), "'a/b' is a link to ../c, outside"),
    "device": (member("dev/null", type=tarfile.CHRTYPE), "'dev/null' is a device or a pipe"),
    "disk": (member("dev/sda", type=tarfile.BLKTYPE), "'dev/sda' is a device or a pipe"),
    "pipe": (member("pipe", type=tarfile.FIFOTYPE), "'pipe' is a device or a pipe"),
}


@pytest.mark.parametrize(("hostile", "message"), HOSTILE.values(), ids=HOSTILE)
def test_an_archive_with_a_hostile_member_is_refused_by_the_member(
    hostile: Member, message: str, tmp_path: Path, run: Run
):
    path = archive(tmp_path / "a.tgz", WANTED, hostile)
    looked = run("tar_archive", str(path))
    assert looked.status == 0 and looked.stdout.decode().startswith(f"is not unpacked: its member {message}")
    done = run("tar_archive", str(path), "training/a.en")
    assert done.status == 1 and done.stdout == b""
    assert done.error.startswith(f"tar_archive: error: {path} is not unpacked: its member {message}")


IN_ITS_PLACE = {
    "folder": [member("training/a.en", type=tarfile.DIRTYPE)],
    "symlink": [WANTED, member("training/b", type=SYMLINK, linkname="a.en")],
    "hard link": [WANTED, member("training/b", type=HARD_LINK, linkname="training/a.en")],
    "twice": [WANTED, member("training/a.en", content=b"other\n")],
}


@pytest.mark.parametrize("members", IN_ITS_PLACE.values(), ids=IN_ITS_PLACE)
def test_what_is_wanted_must_be_one_file(members: list[Member], tmp_path: Path, run: Run):
    path = archive(tmp_path / "a.tgz", *members)
    name = members[-1][0].name
    done = run("tar_archive", str(path), name)
    assert done.status == 1 and done.stdout == b""
    assert f"its member '{name}' is a link or a folder, or is there twice" in done.stderr


def test_a_link_within_the_archive_harms_nobody(tmp_path: Path, run: Run):
    path = archive(tmp_path / "a.tgz", member("training/b", type=SYMLINK, linkname="../training/a.en"), WANTED)
    assert run("tar_archive", str(path)).stdout == b""
    assert run("tar_archive", str(path), "other", "training/a.en").stdout == b"wanted\n"


def zeros(path: Path, start: bytes = b"") -> Path:
    """Ten million bytes that unpack to `start` and 10 GiB of zeros."""
    part = gzip.compress(bytes(1 << 28), compresslevel=6, mtime=0)
    path.write_bytes(gzip.compress(start, mtime=0) + 40 * part)
    return path


def header(size: int, kind: bytes = tarfile.REGTYPE) -> bytes:
    info = tarfile.TarInfo("training/a.en")
    info.size, info.type = size, kind
    return info.tobuf(tarfile.GNU_FORMAT)


BOMBS = {
    "file": (header(10 << 30), "its member 'training/a.en' has 10737418240 bytes, more than 100 times"),
    "many files": (header(1 << 29) + bytes(1 << 29) + header(1 << 29), "it holds more than 100 times its size"),
    "header": (header(10 << 30, tarfile.XHDTYPE), "it holds more than 100 times its size"),
    "after the end": (header(0) + bytes(1024), "it holds more than 100 times its size"),
}


@pytest.mark.parametrize(("start", "message"), BOMBS.values(), ids=BOMBS)
def test_a_bomb_is_named_and_read_to_its_limit_only(start: bytes, message: str, tmp_path: Path, run: Run):
    done = run("tar_archive", str(zeros(tmp_path / "bomb.tgz", start)))
    assert done.stdout.decode().startswith(f"is not unpacked: {message}")


def test_a_bomb_of_text_is_named(tmp_path: Path, run: Run):
    path = zeros(tmp_path / "train.en.gz")
    done = run("gunzip", str(path))
    assert done.status == 1
    assert done.stdout == b""
    assert done.error == f"gunzip: error: {path} is not unpacked: it holds more than 100 times its size"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (gzip.compress(b"text\n" * 999)[:-9], "is not a whole gzip file: truncated or corrupt, "),
        (b"text", "is not a whole gzip file: not gzip, 4 bytes"),
        (b"<!DOCTYPE html>", "is not a whole gzip file: an HTML page of 15 bytes"),
        (None, "cannot read"),
    ],
    ids=["truncated", "text", "HTML", "missing"],
)
def test_what_is_no_gzip_file_is_named(content: bytes | None, message: str, tmp_path: Path, run: Run):
    path = tmp_path / "train.en.gz"
    if content is not None:
        path.write_bytes(content)
    done = run("gunzip", str(path))
    assert done.status == 1 and message in done.stderr and str(path) in done.stderr


def test_text_that_shrinks_well_is_unpacked(tmp_path: Path, run: Run):
    text = "the same line\n" * 100_000
    (tmp_path / "train.en.gz").write_bytes(gzip.compress(text.encode()))
    assert run("gunzip", str(tmp_path / "train.en.gz")).stdout == text.encode()
