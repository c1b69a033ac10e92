r"""Translate raw text: one line of UTF-8 out for each line in, in order, whatever the lines hold.

python -m fairseq_rope.tools.translate data-bin --path checkpoints/average.pt --tokenizer moses \
    --bpe subword_nmt --bpe-codes codes --beam 4 --lenpen 0.6 --input in.txt --output out.txt

Options are those of fairseq-interactive, with these differences: only the best translation is written, as text;
--input can be given several times; a line without a word stays empty; a line that is too long is cut, not refused;
batches are of --max-tokens 4096 unless that or --batch-size is given; --buffer-size, how many lines are read, sorted by
length and batched together, is 1000 unless given, or 1 at a terminal; languages that are not given are taken from the
file names in DATA, for --tokenizer moses too. As there, --max-len-b 200 limits the output's tokens whatever the
input's length: give --max-len-a 1.5 to let it grow with the input.

--engine ctranslate2 takes a folder of fairseq_rope.export.ctranslate2 in the place of DATA and --path. Its translations
are those of fairseq's engine but for ties, where two are as good as each other, and for those that --max-len-a and
--max-len-b cut; fairseq's options that it cannot follow are refused. Its own default on a CPU is batches of at most 32
sentences, as many at the same time as there are cores.

stderr tells what was replaced or cut (invalid UTF-8, control characters, long lines), with the number of the line.
"""

import contextlib
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from fairseq_rope.compat.chatter import silence_libraries
from fairseq_rope.inference.options import parse
from fairseq_rope.inference.progress import TranslateLog
from fairseq_rope.inference.translator import Translator
from fairseq_rope_data.clean_line import byte_lines
from fairseq_rope_data.errors import UserError, run
from fairseq_rope_data.files import complete_file, named_when_full


def read_inputs(names: Sequence[str]) -> Iterator[bytes]:
    """Give the raw lines of files one after the other; `-` is stdin."""
    for name in names:
        with contextlib.nullcontext(sys.stdin.buffer) if name == "-" else open(name, "rb") as file:
            yield from byte_lines(file)


@contextlib.contextmanager
def open_output(name: str) -> Iterator[BinaryIO]:
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


def write_lines(translations: Iterable[str], output: BinaryIO, log: TranslateLog, *, flush_every: int) -> None:
    """Write translations as they come; a reader of stdout gets each buffer of lines at once."""
    for count, text in enumerate(translations, start=1):
        output.write(f"{text}\n".encode())
        if count % flush_every == 0:
            output.flush()
        log.written()
    output.flush()


def main() -> None:
    """Read the command line, load everything, then translate to the last line."""
    silence_libraries()
    request = parse(sys.argv[1:], __doc__ or "")
    with open_output(request.output) as output:
        translator = Translator(request)
        # a bar between translations on the same terminal would spoil both
        show_bar = not (request.cfg.common.no_progress_bar or (request.output == "-" and sys.stdout.isatty()))
        log = TranslateLog(request.inputs, show_bar=show_bar)
        translator.report = log.note
        try:
            translations = translator.translate(log.reading(read_inputs(request.inputs)))
            write_lines(translations, output, log, flush_every=translator.buffer_size)
        finally:
            log.close()


if __name__ == "__main__":
    run("translate", main)
