"""An engine in a process of its own, and what its search gives."""

import functools
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import NamedTuple

import torch
from torch import Tensor

from fairseq_rope.compat.chatter import silence_libraries
from fairseq_rope.inference.translator import Translator
from fairseq_rope.scoring.metrics import fairseq_bleu
from fairseq_rope_data.errors import UserError


class Result(NamedTuple):
    """One engine's translations in the order of the test set, their scores, number of tokens with </s>, and BLEU4."""

    texts: list[str]
    scores: list[float]
    tokens: int
    bleu: float


class EngineProcess:
    """A process that holds one engine: in one process with others none is as fast as where it is used.

    Args:
        options: of `translate`.
        limit: translate the first so many sentences of `--gen-subset`; all if None.
        threads: on the CPU.
    """

    def __init__(self, options: Sequence[str], *, limit: int | None, threads: int) -> None:
        self._spec = (tuple(options), limit, threads)
        self._process = ProcessPoolExecutor(1, get_context("spawn"))

    def search(self) -> tuple[float, Result]:
        """Translate the test set; the seconds are those of the search alone.

        Raises:
            UserError: what is wrong with options, files or sentences.
            OSError: the folder of fairseq-preprocess has no such set.
        """
        return self._process.submit(_search, *self._spec).result()

    def close(self) -> None:
        """End the process."""
        self._process.shutdown()


def _search(options: tuple[str, ...], limit: int | None, threads: int) -> tuple[float, Result]:
    translator, sources, references = _load(options, limit, threads)
    start = time.perf_counter()
    translations = dict(translator.engine.translate(sources))
    seconds = time.perf_counter() - start
    hypotheses = [best for place in range(len(sources)) if (best := translations.get(place)) is not None]
    if len(hypotheses) < len(sources):
        raise UserError(f"{len(sources) - len(hypotheses)} sentences have no translation")
    texts = [_text(translator, best.tokens) for best in hypotheses]
    scores, tokens = [best.score for best in hypotheses], sum(len(best.tokens) for best in hypotheses)
    return seconds, Result(texts, scores, tokens, fairseq_bleu(texts, references).value)


@functools.cache
def _load(options: tuple[str, ...], limit: int | None, threads: int) -> tuple[Translator, list[Tensor], list[str]]:
    """Return an engine, the source tokens with </s> of its test set, (S,) each, and the text of each reference."""
    silence_libraries()
    torch.set_num_threads(threads)
    translator = Translator.from_args(options)
    subset = translator.cfg.dataset.gen_subset
    translator.task.load_dataset(subset)
    dataset = translator.task.dataset(subset)
    numbers = range(min(len(dataset), limit or len(dataset)))
    sources = [dataset.src[i] for i in numbers]
    longest, most = max(map(len, sources), default=0), translator.engine.max_source_tokens
    if longest > most:
        raise UserError(f"a sentence of {subset} has {longest} tokens, and the most is {most}")
    return translator, sources, [_text(translator, dataset.tgt[i].tolist()) for i in numbers]


def _text(translator: Translator, tokens: list[int]) -> str:
    return translator.codec.decode(tokens, translator.engine.special_ids)
