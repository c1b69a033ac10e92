"""The engines that scripts/compare_engines.py compares, and what each finds for the sentences of a test set."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from torch import Tensor

from fairseq_rope.export.writing import write_model
from fairseq_rope.tools._common import ToolError
from fairseq_rope.tools.engine import Hypothesis
from fairseq_rope.tools.translator import Translator


class Sentences(NamedTuple):
    """A binarised test set: source tokens with </s>, (S,) each, and the text of each reference."""

    sources: list[Tensor]
    references: list[str]


class Found(NamedTuple):
    """One engine's translations in the order of the test set, their scores, and their tokens with </s> in all."""

    texts: list[str]
    scores: list[float]
    tokens: int


def sentences(translator: Translator, *, limit: int | None) -> Sentences:
    """Read the first `limit` sentences of `--gen-subset`.

    Raises:
        ToolError: a sentence is too long for the model.
        OSError: the folder of fairseq-preprocess has no such set.
    """
    subset = translator.cfg.dataset.gen_subset
    translator.task.load_dataset(subset)
    dataset = translator.task.dataset(subset)
    numbers = range(min(len(dataset), limit or len(dataset)))
    sources = [dataset.src[i] for i in numbers]
    longest = max(map(len, sources), default=0)
    if longest > translator.engine.max_source_tokens:
        raise ToolError(
            f"a sentence of {subset} has {longest} tokens, and the most is {translator.engine.max_source_tokens}"
        )
    return Sentences(
        sources, [translator.codec.decode(dataset.tgt[i].tolist(), translator.engine.marks) for i in numbers]
    )


def exported(
    fairseq: Translator, options: Sequence[str], folder: Path, *, quantization: str, layout: str
) -> Translator:
    """Load the model of `fairseq` with CTranslate2, from a folder that is written here.

    Args:
        fairseq: with one rotary model.
        options: of `translate`, for both engines and for CTranslate2's.
        folder: a new one.
        quantization: of the stored weights.
        layout: the rotary pairs of the stored weights.
    """
    folder.mkdir()
    write_model(folder, fairseq.task, fairseq.engine.models[0], quantization=quantization, layout=layout)
    return Translator.from_args([*options, "--engine", "ctranslate2", "--path", str(folder)])


def translate(translator: Translator, sources: Sequence[Tensor]) -> tuple[float, dict[int, Hypothesis]]:
    """Search for the best translation of each source; the seconds are those of the search alone.

    Raises:
        ToolError: a source has none.
    """
    start = time.perf_counter()
    found = dict(translator.engine.translate(sources))
    seconds = time.perf_counter() - start
    hypotheses = {place: best for place, best in found.items() if best is not None}
    if len(hypotheses) < len(sources):
        raise ToolError(f"{len(sources) - len(hypotheses)} sentences have no translation")
    return seconds, hypotheses


def decoded(translator: Translator, hypotheses: dict[int, Hypothesis]) -> Found:
    """Put what `translate` gives in order, as text."""
    ordered = [hypotheses[place] for place in range(len(hypotheses))]
    return Found(
        [translator.codec.decode(best.tokens, translator.engine.marks) for best in ordered],
        [best.score for best in ordered],
        sum(len(best.tokens) for best in ordered),
    )
