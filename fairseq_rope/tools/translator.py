"""Translate raw lines with fairseq models: one line out for each line in, in their order, whatever they hold."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np
import torch
from fairseq import tasks, utils
from torch import Tensor

import fairseq_rope  # noqa: F401  registers the archs and lets torch load fairseq's types
from fairseq_rope.tools._common import ToolError
from fairseq_rope.tools.ensemble import brief, load_ensemble
from fairseq_rope.tools.line_codec import LineCodec
from fairseq_rope.tools.translate_options import Request, parse

# takes the number of a line, from 1, and what was replaced or cut in it
Report = Callable[[int, str], None]
Hypothesis = dict[str, Tensor]


def ignore(number: int, note: str) -> None:
    """Report to nobody."""


class Translator:
    """Models, tokeniser and BPE, loaded once, on the GPU if there is one and `--cpu` isn't given.

        translator = Translator.from_args(["data-bin", "--path", "checkpoint_best.pt", "--tokenizer", "moses"])
        for translation in translator.translate(lines): ...

    Args:
        request: what `translate_options.parse` gives; its inputs and output aren't used here.
        report: told what had to be replaced or cut.

    Raises:
        ToolError: a checkpoint, dictionary or BPE file can't be loaded, or options exclude each other.
    """

    def __init__(self, request: Request, *, report: Report = ignore) -> None:
        self.cfg = cfg = request.cfg
        self.report = report
        self.buffer_size: int = cfg.interactive.buffer_size
        self.use_cuda = torch.cuda.is_available() and not cfg.common.cpu
        if not cfg.generation.no_seed_provided:
            utils.set_torch_seed(cfg.common.seed)
        try:
            self.task = tasks.setup_task(cfg.task)
            self.codec = LineCodec(self.task, cfg, normalise=request.normalise, lowercase=request.lowercase)
        except Exception as error:  # each task, tokeniser and BPE has errors of its own
            raise ToolError(f"cannot load the dictionaries of {cfg.task.data} or --bpe: {brief(error)}") from error
        self.models = load_ensemble(cfg, self.task, use_cuda=self.use_cuda)
        try:
            self.generator = self.task.build_generator(self.models, cfg.generation)
        except (AssertionError, ValueError) as error:  # options of the search that exclude each other
            raise ToolError(brief(error)) from error
        self.max_source_tokens = self._max_source_tokens()

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
            tokens, notes = self.codec.encode(line, max_tokens=self.max_source_tokens)
            for note in notes:
                self.report(first + position, note)
            if tokens is not None:
                sources[position] = tokens
        for positions, sample in self._batches(sources):
            width = sample["src_tokens"].size(1)
            hypotheses = self.task.inference_step(self.generator, self.models, {"net_input": sample})
            for position, best in zip(positions, hypotheses, strict=True):
                translations[position] = self._decode(best, first + position, width)
        return translations

    def _batches(self, sources: dict[int, Tensor]) -> Iterator[tuple[list[int], dict[str, Tensor]]]:
        """Group sources, (S,) each, by length into what a model reads, with their positions in the buffer."""
        if not sources:
            return
        positions, tokens = list(sources), list(sources.values())
        lengths = [len(line) for line in tokens]
        dataset = self.task.build_dataset_for_inference(tokens, lengths)
        limits = {"max_tokens": self.cfg.dataset.max_tokens, "max_sentences": self.cfg.dataset.batch_size}
        # not task.get_batch_iterator: it starts a loader, and keeps every dataset that it has seen
        for batch in dataset.batch_by_size(np.argsort(lengths, kind="stable"), **limits):
            sample = dataset.collater([dataset[i] for i in batch])
            # (B, S) and (B); the collater sorts, so `id` tells which is which
            net_input = {name: sample["net_input"][name] for name in ("src_tokens", "src_lengths")}
            yield (
                [positions[i] for i in sample["id"].tolist()],
                utils.move_to_cuda(net_input) if self.use_cuda else net_input,
            )

    def _decode(self, hypotheses: list[Hypothesis], number: int, width: int) -> str:
        """Turn the best hypothesis into text; `width` is the batch's S, from which fairseq takes the length limit."""
        if not hypotheses:
            self.report(number, "the model gave no translation")
            return ""
        tokens: list[int] = hypotheses[0]["tokens"].tolist()
        options: Any = self.cfg.generation
        limit = int(options.max_len_a * width + options.max_len_b)
        limit = min(limit, getattr(self.generator, "max_len", limit + 1) - 1)
        # fairseq puts </s> after the last token that fits
        if len(tokens) > limit and not options.match_source_len:
            self.report(number, f"its translation was cut at {limit:,} tokens (--max-len-a, --max-len-b)")
        marks = getattr(self.generator, "symbols_to_strip_from_output", {self.task.target_dictionary.eos()})
        return self.codec.decode(tokens, marks)

    def _max_source_tokens(self) -> int:
        """Find how many source tokens, with </s>, fit the task, each model and a batch."""
        limit = utils.resolve_max_positions(self.task.max_positions(), *(m.max_positions() for m in self.models))
        limit = limit[0] if isinstance(limit, tuple | list) else limit
        return min(limit, self.cfg.dataset.max_tokens or limit)
