"""Translate raw lines: one line out for each line in, in their order, whatever they hold."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from fairseq import tasks, utils

from fairseq_rope.checkpoints.loading import brief
from fairseq_rope.inference.ctranslate2_engine import CTranslate2Engine
from fairseq_rope.inference.engine import Engine, Hypothesis
from fairseq_rope.inference.fairseq_engine import FairseqEngine
from fairseq_rope.inference.line_codec import LineCodec
from fairseq_rope.inference.options import Request, parse
from fairseq_rope.inference.windows import Line, buffers, source_of, targets_of, windows_of
from fairseq_rope_data.errors import UserError

# takes the number of a line, from 1, and what was replaced or cut in it
OnNote = Callable[[int, str], None]


def ignore(number: int, note: str) -> None:
    """Drop a note."""


class Translator:
    """An engine, tokenizer and BPE, loaded once, on the GPU if there is one and `--cpu` isn't given.

        translator = Translator.from_args(["data-bin", "--path", "checkpoint_best.pt", "--tokenizer", "moses"])
        for translation in translator.translate(lines): ...

    Args:
        request: what `parse` returns; its inputs and output aren't used here.
        on_note: called with what had to be replaced or cut.

    Raises:
        UserError: a model, dictionary or BPE file can't be loaded, or options exclude each other, or the dictionary
            has no separator.
    """

    def __init__(self, request: Request, *, on_note: OnNote = ignore) -> None:
        self.cfg = cfg = request.cfg
        self.on_note = on_note
        self.buffer_size: int = cfg.interactive.buffer_size
        if not cfg.generation.no_seed_provided:
            utils.set_torch_seed(cfg.common.seed)
        try:
            self.task = tasks.setup_task(cfg.task)
            self.codec = LineCodec(
                self.task,
                cfg,
                normalize=request.normalize,
                lowercase=request.lowercase,
                separator=request.separator if request.window > 1 else None,
            )
        except Exception as error:  # each task, tokenizer and BPE has errors of its own
            raise UserError(f"cannot load the dictionaries of {cfg.task.data} or --bpe: {brief(error)}") from error
        self.window = request.window
        self.separators = _separators(self.task, request)
        # windows of several lines, and those of them whose lines had to be translated one by one
        self.windows = self.windows_alone = 0
        self.engine: Engine
        if request.runtime is None:
            self.engine = FairseqEngine(cfg, self.task)
        else:
            self.engine = CTranslate2Engine(cfg, self.task, request.runtime)

    @classmethod
    def from_args(cls, argv: Sequence[str], *, on_note: OnNote = ignore) -> "Translator":
        """Load what a command line of `translate` names; for errors see `parse` and the class."""
        return cls(parse(argv, __doc__ or ""), on_note=on_note)

    def translate(self, lines: Iterable[bytes | str | None]) -> Iterator[str]:
        """Translate lines, `--buffer-size` of them at a time, so memory doesn't grow with their number.

        Args:
            lines: raw lines, whatever they hold, with or without a line end; None is no line, but the end of a
                document, which no window crosses.

        Yields: one translation for each line, without a line end; an empty one for a line without a word.
        """
        windows = windows_of(self._encoded(lines), self.window, max_tokens=self.engine.max_source_tokens)
        for buffer in buffers(windows, self.buffer_size):
            translations = self._translate_buffer(buffer)
            yield from (translations.get(line.number, "") for window in buffer for line in window)

    def _encoded(self, lines: Iterable[bytes | str | None]) -> Iterator[Line | None]:
        number = 0
        for line in lines:
            if line is None:
                yield None
                continue
            number += 1
            tokens, notes = self.codec.encode(line, max_tokens=self.engine.max_source_tokens)
            for note in notes:
                self.on_note(number, note)
            yield Line(number, tokens)

    def _translate_buffer(self, windows: list[list[Line]]) -> dict[int, str]:
        """Return translations by the number of their line; lines without a word are left out."""
        translations: dict[int, str] = {}
        waiting = [window for window in windows if window[0].tokens is not None]
        self.windows += sum(len(window) > 1 for window in waiting)
        while waiting:
            alone: list[list[Line]] = []
            for index, best in self.engine.translate([source_of(window, self.separators[0]) for window in waiting]):
                window = waiting[index]
                if len(window) == 1:
                    translations[window[0].number] = self._decode(best, window[0].number)
                elif sentences := self._sentences(best, len(window)):
                    translations.update(zip((line.number for line in window), sentences, strict=True))
                else:
                    self.windows_alone += 1
                    alone += [[line] for line in window]
            waiting = alone
        return translations

    def _sentences(self, best: Hypothesis | None, lines: int) -> list[str]:
        """Return the sentences of a window's translation; none where it was cut, or has another number of them."""
        if best is None or len(best.tokens) > best.limit:
            return []
        found = [
            self.codec.decode(tokens, self.engine.special_ids) for tokens in targets_of(best.tokens, self.separators[1])
        ]
        return found if len(found) == lines and all(found) else []

    def _decode(self, best: Hypothesis | None, number: int) -> str:
        if best is None:
            self.on_note(number, "the model gave no translation")
            return ""
        # </s> stands after the last token that fits
        if len(best.tokens) > best.limit:
            self.on_note(number, f"its translation was cut at {best.limit:,} tokens (--max-len-a, --max-len-b)")
        return self.codec.decode(best.tokens, self.engine.special_ids | {self.separators[1]})


def _separators(task: Any, request: Request) -> tuple[int, int]:
    """Return the index of the separator in both dictionaries, or -1, which is no token, where there are no windows.

    Raises:
        UserError: it is not in one of them.
    """
    if request.window == 1:
        return -1, -1
    for side, dictionary in (("source", task.source_dictionary), ("target", task.target_dictionary)):
        if request.separator not in dictionary:
            raise UserError(
                f"--window-separator {request.separator} is not in the {side} dictionary of {task.cfg.data}: --window "
                "needs a model that was trained on windows, which fairseq_rope_data.windows makes"
            )
    return task.source_dictionary.index(request.separator), task.target_dictionary.index(request.separator)
