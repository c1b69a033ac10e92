"""`from_pretrained` of an archive: what would leave the folder is named, and nothing is unpacked."""

import gzip
import io
import os
import tarfile
from pathlib import Path

import pytest
from fairseq import file_utils

import fairseq_rope  # noqa: F401  checks archives
from fairseq_rope_data.errors import UserError


def member(name: str, *, content: bytes = b"text\n", **fields: object) -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    info.size = len(content)
    for field, value in fields.items():
        setattr(info, field, value)
    return info, content


def archive(path: Path, *members: tuple[tarfile.TarInfo, bytes]) -> Path:
    with tarfile.open(path, f"w:{path.suffix[1:]}") as file:
        for info, content in members:
            file.addfile(info, io.BytesIO(content) if info.isreg() else None)
    return path


SYMLINK, HARD_LINK = tarfile.SYMTYPE, tarfile.LNKTYPE
BAD = {
    "parent": (member("model/../../outside"), "'model/../../outside' is outside the archive's folder"),
    "absolute": (member("/tmp/outside"), "'/tmp/outside' is outside the archive's folder"),
    "symlink": (
        member("model/link", type=tarfile.SYMTYPE, linkname="/etc"),
        "'model/link' is a link to /etc, outside the archive's folder",
    ),
    "symlink within": (
        member("model/in", type=tarfile.SYMTYPE, linkname="model.pt"),
        "'model/in' is a link, to model.pt",
    ),
    "hard link": (
        member("model/hard", type=tarfile.LNKTYPE, linkname="../x"),
        "'model/hard' is a link to ../x, outside the archive's folder",
    ),
    "device": (member("model/null", type=tarfile.CHRTYPE), "'model/null' is a device or a pipe"),
    "pipe": (member("model/pipe", type=tarfile.FIFOTYPE), "'model/pipe' is a device or a pipe"),
}


@pytest.mark.parametrize("suffix", ["gz", "bz2", "xz"])
@pytest.mark.parametrize(("bad", "message"), BAD.values(), ids=BAD)
def test_a_member_that_must_not_be_unpacked_is_named_and_nothing_is_left(
    bad: tuple[tarfile.TarInfo, bytes], message: str, suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path = archive(tmp_path / f"model.tar.{suffix}", member("model/model.pt"), bad)
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    before = path.read_bytes()
    with pytest.raises(UserError) as error:
        file_utils.load_archive_file(str(path))
    assert str(error.value) == f"{path} is not unpacked: its member {message}"
    assert path.read_bytes() == before and not os.listdir(tmp_path / "tmp")


def test_names_that_begin_alike_do_not_lead_outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = archive(tmp_path / "model.tar.gz", member("..a"), member("..b"))
    (tmp_path / "tmp" / "other").mkdir(parents=True)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    with pytest.raises(UserError, match=r"model.tar.gz is not unpacked: all its names begin with '..'"):
        file_utils.load_archive_file(str(path))
    assert path.is_file() and os.listdir(tmp_path / "tmp") == ["other"]


def bomb(path: Path, header: tarfile.TarInfo, gibibytes: int) -> Path:
    """An archive whose one member is zeros, a thousandth of their size."""
    zeros = gzip.compress(bytes(1 << 28), compresslevel=6, mtime=0)
    with path.open("wb") as file:
        file.write(gzip.compress(header.tobuf(tarfile.GNU_FORMAT), mtime=0))
        for _ in range(4 * gibibytes):
            file.write(zeros)
    return path


@pytest.mark.parametrize(("kind", "gibibytes"), [(tarfile.REGTYPE, 10), (tarfile.XHDTYPE, 1)], ids=["file", "header"])
def test_a_bomb_is_named_and_not_unpacked(kind: bytes, gibibytes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    info = tarfile.TarInfo("model/model.pt")
    info.size, info.type = gibibytes << 30, kind
    path = bomb(tmp_path / "model.tar.gz", info, gibibytes)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "no folder for temporary files"))
    with pytest.raises(UserError, match=r"model.tar.gz is not unpacked: .* more than 100 times"):
        file_utils.load_archive_file(str(path))
    assert path.is_file()


@pytest.mark.parametrize("suffix", ["gz", "bz2", "xz"])
def test_a_good_archive_is_unpacked_as_before(suffix: str, tmp_path: Path):
    folder = tarfile.TarInfo("model")
    folder.type, folder.mode = tarfile.DIRTYPE, 0o755
    files = [member("model/model.pt", content=b"weights"), member("model/dict.en.txt")]
    path = archive(tmp_path / f"model.tar.{suffix}", (folder, b""), *files)
    unpacked = Path(file_utils.load_archive_file(str(path)))
    assert (unpacked / "model.pt").read_bytes() == b"weights" and (unpacked / "dict.en.txt").is_file()


def test_a_folder_is_taken_as_it_is_and_what_is_no_archive_is_named(tmp_path: Path):
    assert file_utils.load_archive_file(str(tmp_path)) == str(tmp_path)
    assert file_utils.load_archive_file(str(tmp_path / "nothing")) is None
    (tmp_path / "model.tar.gz").write_bytes(b"text")
    with pytest.raises(UserError, match="is no whole archive: not gzip, 4 bytes"):
        file_utils.load_archive_file(str(tmp_path / "model.tar.gz"))
    assert (tmp_path / "model.tar.gz").is_file()
