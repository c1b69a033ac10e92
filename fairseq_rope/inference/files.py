"""Translate files, with progress and notes on stderr."""

import contextlib
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from fairseq_rope.inference.options import Request
from fairseq_rope.inference.progress import Progress
from fairseq_rope.inference.translator import Translator
from fairseq_rope_data.clean_line import byte_lines
from fairseq_rope_data.errors import UserError
from fairseq_rope_data.files import complete_file, named_when_full
from fairseq_rope_data.streams import tell


def translate_files(request: Request) -> None:
    """Load everything that a request names, then translate its inputs to the last line.

    Raises:
        UserError: an output that cannot be written, or what `Translator` refuses.
    """
    with _open_output(request.output) as output:
        translator = Translator(request)
        # a bar between translations on the same terminal would spoil both
        show_bar = not (request.cfg.common.no_progress_bar or (request.output == "-" and sys.stdout.isatty()))
        progress = Progress(request.inputs, show_bar=show_bar)
        translator.on_note = progress.note
        try:
            translations = translator.translate(progress.reading(_read_inputs(request.inputs)))
            _write_lines(translations, output, progress, flush_every=translator.buffer_size)
        finally:
            progress.close()
            if translator.windows_alone:
                tell(
                    f"translate: {translator.windows_alone:,} of {translator.windows:,} windows came back with another "
                    "number of sentences, or cut: their lines were translated one by one"
                )


def _read_inputs(names: Sequence[str]) -> Iterator[bytes | None]:
    """Yield the raw lines of files one after the other, and None where one ends; `-` is stdin."""
    for name in names:
        with contextlib.nullcontext(sys.stdin.buffer) if name == "-" else open(name, "rb") as file:
            yield from byte_lines(file)
        yield None


@contextlib.contextmanager
def _open_output(name: str) -> Iterator[BinaryIO]:
    """Open stdout for `-`, or a file that is there only when it is complete; a pipe or device is written directly.

    Raises:
        UserError: the file cannot be written.
    """
    path = Path(name)
    if name == "-":
        yield sys.stdout.buffer
        return
    direct = path.exists() and not path.is_file()
    with named_when_full(name), contextlib.nullcontext(path) if direct else complete_file(path) as part:
        try:
            file = part.open("wb")
        except OSError as error:
            raise UserError(f"--output {name} cannot be written: {error.strerror}") from error
        with file:
            yield file


def _write_lines(translations: Iterable[str], output: BinaryIO, progress: Progress, *, flush_every: int) -> None:
    """Write translations as they come; a reader of stdout gets each buffer of lines at once."""
    for count, text in enumerate(translations, start=1):
        output.write(f"{text}\n".encode())
        if count % flush_every == 0:
            output.flush()
        progress.written()
    output.flush()
