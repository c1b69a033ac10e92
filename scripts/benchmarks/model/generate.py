"""Beam search through fairseq-generate: tokens and sentences a second."""

import contextlib
import gc
import logging
import os
import re
from collections.abc import Callable

from benchmarks.model import build
from benchmarks.model.spec import Repetition, Spec

BATCHES = {"1": ["--batch-size", "1"], "32": ["--batch-size", "32"], "tokens": ["--max-tokens", "4096"]}
# what fairseq-generate logs last, from a clock of its own that counts the search and not the start
_TRANSLATED = re.compile(r"Translated ([\d,]+) sentences \(([\d,]+) tokens\) in .* ([\d.]+) tokens/s\)")


def measurement(spec: Spec) -> Callable[[], Repetition]:
    """Prepare a command line; a repetition is one fairseq-generate of the whole test set, in this process.

    In this process, so that a GPU is warm after the first.
    """
    from fairseq import options as fairseq_options
    from fairseq_cli import generate

    from fairseq_rope.compat.safe_globals import allow_fairseq_checkpoints

    # torch refuses checkpoints of fairseq's own model too
    allow_fairseq_checkpoints()
    args = fairseq_options.parse_args_and_arch(fairseq_options.get_generation_parser(), input_args=command_line(spec))
    log = _Log()

    def repeat() -> Repetition:
        with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
            generate.main(args)
        # the model is part of a cycle; its memory on a GPU stays with torch for the next one
        gc.collect()
        return parsed(log.last)

    return repeat


def command_line(spec: Spec) -> list[str]:
    """Return the arguments of fairseq-generate."""
    # both count tokens before the end of the sentence
    words = str(spec.steps - 1)
    forced = ["--min-len", words, "--max-len-a", "0", "--max-len-b", words] if spec.steps else []
    return [
        *(spec.data, "--path", spec.checkpoint, "--gen-subset", "test", "--beam", "4", "--lenpen", "0.6", "--quiet"),
        *("--no-progress-bar", "--distributed-world-size", "1", "--num-workers", "0"),
        # a multiple of 1: with its default of 8, fairseq's main branch leaves out the sentences that do not fill one
        *("--required-batch-size-multiple", "1", *BATCHES[spec.batch], *forced, *build.device_options(spec)),
        *(build.ARCHS["rope"][:2] if spec.model == "rope" else []),
    ]


def parsed(line: str) -> Repetition:
    """Return what the last line says that fairseq-generate logs.

    Raises:
        RuntimeError: it is another line.
    """
    match = _TRANSLATED.search(line)
    if not match:
        raise RuntimeError(f"fairseq-generate did not log what it translated, but: {line!r}")
    sentences, tokens = (int(match[i].replace(",", "")) for i in (1, 2))
    # the seconds themselves are rounded to tenths
    return Repetition(seconds=tokens / float(match[3]), tokens=tokens, sentences=sentences)


class _Log(logging.Handler):
    """Keeps the line that counts of what fairseq-generate logs."""

    def __init__(self) -> None:
        super().__init__()
        self.last = ""
        logger = logging.getLogger("fairseq_cli.generate")
        logger.setLevel(logging.INFO)
        logger.addHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        """Take one record."""
        if "Translated" in record.getMessage():
            self.last = record.getMessage()
