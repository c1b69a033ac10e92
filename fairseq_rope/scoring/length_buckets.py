"""Scores by the length of the source sentence."""

from collections.abc import Sequence
from dataclasses import dataclass

from fairseq_rope.scoring.metrics import Metric, Score

# the last of each bucket but the last, in words; fixed, so that tables of different runs compare
EDGES = (10, 20, 30, 40, 50)


@dataclass(frozen=True)
class Bucket:
    """The score of the sentences whose source has so many words, such as 11-20."""

    words: str
    sentences: int
    score: Score


def length_buckets(lengths: Sequence[int], hyps: Sequence[str], refs: Sequence[str], metric: Metric) -> list[Bucket]:
    """Score the sentences of each bucket as a corpus of their own; a bucket without sentences is left out.

    Args:
        lengths: words of each source sentence; a sentence without words counts as a short one.
        hyps: as many hypotheses.
        refs: as many references.
        metric: what scores them.
    """
    buckets = []
    for words, inside in bucket_lines(lengths).items():
        score = metric([hyps[i] for i in inside], [refs[i] for i in inside])
        buckets.append(Bucket(words, len(inside), score))
    return buckets


def bucket_lines(lengths: Sequence[int]) -> dict[str, list[int]]:
    """Return the name of each bucket that has sentences -> which those are, counted from 0; short ones first.

    Args:
        lengths: words of each source sentence; a sentence without words counts as a short one.
    """
    found = {}
    for first, last in zip((0, *(edge + 1 for edge in EDGES)), (*EDGES, None), strict=True):
        inside = [i for i, words in enumerate(lengths) if first <= words and (last is None or words <= last)]
        if inside:
            found[f"{first}+" if last is None else f"{max(first, 1)}-{last}"] = inside
    return found
