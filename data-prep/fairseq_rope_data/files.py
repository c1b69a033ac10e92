"""Text files of any size, UTF-8 and read line by line; outputs that are complete or not there."""

import contextlib
import glob
import os
import shutil
from collections.abc import Iterable, Iterator
from io import BufferedReader
from pathlib import Path

from fairseq_rope_data.errors import UserError
from fairseq_rope_data.streams import FULL

BOM = b"\xef\xbb\xbf"


def decode(line: bytes, name: str, number: int) -> str:
    r"""Decode a line and take off its \n, and before the first one a byte order mark.

    Args:
        line: one line of the file `name`.
        number: of the line, from 1.

    Raises:
        UserError: it is not UTF-8; the text names file, line and byte.
    """
    try:
        text = line.removesuffix(b"\n").decode("utf-8")
    except UnicodeDecodeError as error:
        byte = line[error.start]
        raise UserError(f"{name}:{number}: not valid UTF-8, byte {error.start + 1} is 0x{byte:02x}") from None
    return text.removeprefix("\ufeff") if number == 1 else text


def open_text(path: Path) -> BufferedReader:
    """Open a file or pipe for reading bytes.

    Raises:
        UserError: it cannot be opened.
    """
    try:
        return path.open("rb")
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from None


def read_lines(path: Path) -> Iterator[str]:
    r"""Yield the lines of a file, which end at \n only: other tools count them so.

    Raises:
        UserError: the file cannot be opened, is a page that a server sent instead, or a line is not UTF-8.
    """
    with open_text(path) as file:
        yield from decoded(file, str(path))


def decoded(file: BufferedReader, name: str) -> Iterator[str]:
    """Yield the lines of a file at its start, as `read_lines` does."""
    refuse_page(file.peek(1024), name)
    for number, line in enumerate(file, 1):
        yield decode(line, name, number)


def refuse_page(beginning: bytes, name: str) -> None:
    """Check that a file is no page that a server sent in its place.

    Raises:
        UserError: it begins as one.
    """
    if beginning[:1024].lstrip(BOM + b" \t\r\n").lower().startswith((b"<!doctype html", b"<html")):
        raise UserError(f"{name} is an HTML page, such as a server's error message, and not text")


def check_begins_with_word(path: Path) -> None:
    """Check that a dictionary has no byte order mark, which fairseq would take for a part of its first word.

    Raises:
        UserError: it has one.
    """
    with path.open("rb") as file:
        if file.read(len(BOM)) == BOM:
            raise UserError(f"{path}:1: must begin with a word, but has a byte order mark before it")


@contextlib.contextmanager
def complete_file(path: Path) -> Iterator[Path]:
    """Yield a temporary path, renamed to `path` when the block ends well and removed when it does not.

    Where `path` is a link the file that it points to is written, and the link stays.

    Raises:
        UserError: its folder does not exist, it is a folder, a device or a link to itself, or there is no more space.
    """
    with complete_files(path) as (part,):
        yield part


@contextlib.contextmanager
def complete_files(*paths: Path) -> Iterator[list[Path]]:
    """Yield a temporary path for each of `paths`, renamed in this order when the block ends well, else removed.

    The last one is a sign: where it is, all are complete. Links and errors as in `complete_file`.
    """
    files = [_target(path) for path in paths]
    parts = [_part(file) for file in files]
    try:
        with named_when_full(" and ".join(map(_named, paths))):
            yield parts
        if len(files) > 1:
            files[-1].unlink(missing_ok=True)  # or an older one would be a sign already between two renames
        for part, file in zip(parts, files, strict=True):
            part.replace(file)
    finally:
        for part in parts:
            part.unlink(missing_ok=True)


def check_can_be_written(path: Path) -> None:
    """Check what `complete_file` checks, before there is anything to write.

    Raises:
        UserError: as there, but for a lack of space.
    """
    _target(path)


def check_apart(written: Iterable[Path], read: Iterable[Path]) -> None:
    """Check that no file is written that is read too, by another name or a link even.

    Raises:
        UserError: one is.
    """
    inputs = {path.resolve(): path for path in read}
    for path in written:
        if path.resolve() in inputs:
            raise UserError(f"{path} would be written in the place of {inputs[path.resolve()]}, which is read")


@contextlib.contextmanager
def complete_folder(path: Path) -> Iterator[Path]:
    """Yield a new folder beside `path`, renamed to it when the block ends well and removed when it does not.

    Raises:
        UserError: something, be it a link, is at `path` already or when the block ends; its parent does not exist; or
            there is no more space.
    """
    _check_new(path)
    if not path.parent.is_dir():
        raise UserError(f"cannot write {path}: there is no folder {path.parent}")
    part = _part(path)
    part.mkdir()
    try:
        with named_when_full(str(path)):
            yield part
        try:
            part.rename(path)
        except OSError:
            _check_new(path)  # another process was faster
            raise
    finally:
        shutil.rmtree(part, ignore_errors=True)


@contextlib.contextmanager
def named_when_full(name: str) -> Iterator[None]:
    """Name the file in an error that only writing gives.

    Raises:
        UserError: there is no more space, or no more is allowed.
    """
    try:
        yield
    except OSError as error:
        if error.errno in FULL:
            raise UserError(f"cannot write {name}: {error.strerror}") from error
        raise


def _target(path: Path) -> Path:
    """Return the file that is to be written, which is not `path` where that is a link."""
    file = Path(os.path.realpath(path))
    if file.is_symlink():
        raise UserError(f"cannot write {path}: it is a link to itself")
    if file.exists() and not file.is_file():
        raise UserError(f"cannot write {_named(path)}: it is a {'folder' if file.is_dir() else 'device'}")
    if not file.parent.is_dir():
        raise UserError(f"cannot write {_named(path)}: there is no folder {file.parent}")
    return file


def _check_new(path: Path) -> None:
    if path.exists() or path.is_symlink():
        raise UserError(f"{path} exists already; remove it or choose another name")


def _named(path: Path) -> str:
    file = Path(os.path.realpath(path))
    return f"{path}" if file == Path(os.path.abspath(path)) else f"{path}, which is {file}"


def _part(path: Path) -> Path:
    """Return a name beside `path` for this process, and remove what killed processes left under such names."""
    for part in path.parent.glob(f"{glob.escape(path.name)}.part-*"):
        number = part.name.rpartition("-")[2]
        # a process with this one's number is gone, too: containers give the same ones again
        if number.isdecimal() and (int(number) == os.getpid() or not _lives(int(number))):
            shutil.rmtree(part) if part.is_dir() else part.unlink(missing_ok=True)
    return path.with_name(f"{path.name}.part-{os.getpid()}")


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass  # another user's
    return True
