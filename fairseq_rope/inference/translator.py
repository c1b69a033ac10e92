"""Translate raw lines: one line out for each line in, in their order, whatever they hold."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice

from fairseq import tasks, utils

from fairseq_rope.checkpoints.loading import brief
from fairseq_rope.inference.ctranslate2_engine import CTranslate2Engine
from fairseq_rope.inference.engine import Engine, Hypothesis
from fairseq_rope.inference.fairseq_engine import FairseqEngine
from fairseq_rope.inference.line_codec import LineCodec
from fairseq_rope.inference.options import Request, parse
from fairseq_rope_data.errors import UserError

# takes the number of a line, from 1, and what was replaced or cut in it
Report = Callable[[int, str], None]


def ignore(number: int, note: str) -> None:
    """Report to nobody."""


class Translator:
    """An engine, tokenizer and BPE, loaded once, on the GPU if there is one and `--cpu` isn't given.

        translator = Translator.from_args(["data-bin", "--path", "checkpoint_best.pt", "--tokenizer", "moses"])
        for translation in translator.translate(lines): ...

    Args:
        request: what `options.parse` gives; its inputs and output aren't used here.
        report: told what had to be replaced or cut.

    Raises:
        UserError: a model, dictionary or BPE file can't be loaded, or options exclude each other.
    """

    def __init__(self, request: Request, *, report: Report = ignore) -> None:
        self.cfg = cfg = request.cfg
        self.report = report
        self.buffer_size: int = cfg.interactive.buffer_size
        if not cfg.generation.no_seed_provided:
            utils.set_torch_seed(cfg.common.seed)
        try:
            self.task = tasks.setup_task(cfg.task)
            self.codec = LineCodec(self.task, cfg, normalize=request.normalize, lowercase=request.lowercase)
        except Exception as error:  # each task, tokenizer and BPE has errors of its own
            raise UserError(f"cannot load the dictionaries of {cfg.task.data} or --bpe: {brief(error)}") from error
        self.engine: Engine
        if request.runtime is None:
            self.engine = FairseqEngine(cfg, self.task)
        else:
            self.engine = CTranslate2Engine(cfg, self.task, request.runtime)

    @classmethod
    def from_args(cls, argv: Sequence[str], *, report: Report = ignore) -> "Translator":
        """Load what a command line of `translate` names; for errors see `parse` and the class."""
        return cls(parse(argv, __doc__ or ""), report=report)

    def translate(self, lines: Iterable[bytes | str]) -> Iterator[str]:
        """Translate lines, `--buffer-size` of them at a time, so memory doesn't grow with their number.

        Args:
            lines: raw lines, whatever they hold, with or without a line end.

        Yields: one translation for each line, without a line end; an empty one for a line without a word.
        """
        source = iter(lines)
        first = 1
        while buffer := list(islice(source, self.buffer_size)):
            yield from self._translate_buffer(buffer, first)
            first += len(buffer)

    def _translate_buffer(self, lines: list[bytes | str], first: int) -> list[str]:
        translations = [""] * len(lines)
        sources = {}
        for position, line in enumerate(lines):
            tokens, notes = self.codec.encode(line, max_tokens=self.engine.max_source_tokens)
            for note in notes:
                self.report(first + position, note)
            if tokens is not None:
                sources[position] = tokens
        if sources:
            positions = list(sources)
            for place, best in self.engine.translate(list(sources.values())):
                translations[positions[place]] = self._decode(best, first + positions[place])
        return translations

    def _decode(self, best: Hypothesis | None, number: int) -> str:
        if best is None:
            self.report(number, "the model gave no translation")
            return ""
        # </s> stands after the last token that fits
        if len(best.tokens) > best.limit:
            self.report(number, f"its translation was cut at {best.limit:,} tokens (--max-len-a, --max-len-b)")
        return self.codec.decode(best.tokens, self.engine.marks)
