"""The sentences in which two models differ most, for better and for worse: readers trust losses that are shown."""

import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass

from sacrebleu.metrics.chrf import CHRF

from fairseq_rope.page.marks import Piece, marked

MOST_LETTERS = 600  # of a sentence: a line may be a document
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


@dataclass(frozen=True)
class Sample:
    """A sentence of a test set and what two models make of it.

    Args:
        line: its number, from 1.
        gain: sentence chrF2 of the model less that of the baseline.
        source: "" where it is not known.
        reference: as it is scored against.
        baseline: its translation, in pieces that are alike or differ.
        model: that of the model, likewise.
    """

    line: int
    gain: float
    source: str
    reference: str
    baseline: list[Piece]
    model: list[Piece]


def largest_differences(
    sources: Sequence[str],
    references: Sequence[str],
    baseline: Sequence[str],
    model: Sequence[str],
    *,
    lowercase: bool,
    shown: int,
) -> tuple[list[Sample], list[Sample]]:
    """Return the largest gains and the largest losses in sentence chrF2, the largest first.

    Args:
        sources: none where they are not known.
        references: as many as there are translations.
        baseline: translations of the baseline.
        model: those of the model.
        lowercase: as in the scores.
        shown: so many of each at most.
    """
    logging.getLogger("sacrebleu").setLevel(logging.WARNING)
    metric = CHRF(lowercase=lowercase)

    def score(hypothesis: str, reference: str) -> float:
        return float(metric.sentence_score(hypothesis, [reference]).score)

    gains = {
        i: score(ours, reference) - score(theirs, reference)
        for i, (ours, theirs, reference) in enumerate(zip(model, baseline, references, strict=True))
        if ours != theirs
    }
    ranked = sorted(gains, key=lambda i: (-gains[i], i))

    def sample(i: int) -> Sample:
        theirs, ours = marked(_cut(baseline[i]), _cut(model[i]))
        return Sample(i + 1, gains[i], _cut(sources[i]) if sources else "", _cut(references[i]), theirs, ours)

    better = [sample(i) for i in ranked[:shown] if gains[i] > 0]
    worse = [sample(i) for i in reversed(ranked[-shown:]) if gains[i] < 0]
    return better, worse


def _cut(text: str) -> str:
    """Return a sentence that is not too long to be shown, without what is no text in HTML."""
    text = _CONTROL.sub("\ufffd", text)
    return text if len(text) <= MOST_LETTERS else f"{text[:MOST_LETTERS]} ..."
