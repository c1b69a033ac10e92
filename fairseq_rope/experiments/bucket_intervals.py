"""Intervals of BLEU by the length of the source: a bootstrap of each bucket, for the noise of the test set.

The sentences of a bucket are found by WORK/text/SET.SOURCE. Where that gives other scores than the reports have, as of
a source that has changed since, there is no interval; nor of one sentence, beside which there is none to be drawn.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from fairseq_rope.experiments.bootstraps import settings_of
from fairseq_rope.experiments.work_folder import Model, files_of_stem
from fairseq_rope.scoring.detokenize import bpe_kind, join_bpe
from fairseq_rope.scoring.evaluation import ScoreSettings
from fairseq_rope.scoring.length_buckets import bucket_lines
from fairseq_rope.scoring.metrics import bleu_metric
from fairseq_rope.scoring.resampling import interval, resampled_scores
from fairseq_rope.scoring.text import read_lines

_NEAR = 0.005  # half of the last digit that a table shows

Buckets = Mapping[tuple[str, int], Mapping[int, float]]
Intervals = dict[tuple[str, int], tuple[float, float]]


class _Texts(NamedTuple):
    """The words of each source sentence, the references, the hypotheses by seed, and how they were scored."""

    lengths: list[int]
    refs: list[str]
    hyps: dict[int, list[str]]
    settings: ScoreSettings


def bucket_intervals(model: Model, test_set: str, buckets: Buckets) -> Intervals:
    """Return the ends of the 95% interval of each bucket's BLEU, as the mean over seeds, of buckets that have one.

    Args:
        model: one of a work folder.
        test_set: the name of a test set.
        buckets: words and number of sentences of a bucket -> its BLEU by seed, as reports have it.

    Raises:
        UserError: a file is damaged.
    """
    texts = _texts(model, test_set)
    if texts is None:
        return {}
    lines = bucket_lines(texts.lengths)
    found = {}
    for (words, sentences), scores in buckets.items():
        inside = lines.get(words, [])
        if len(inside) == sentences > 1 and scores.keys() <= texts.hyps.keys():
            metric = bleu_metric(lowercase=texts.settings.lowercase, target_lang=texts.settings.target_lang)
            own = [[texts.hyps[seed][i] for i in inside] for seed in scores]
            resampled = resampled_scores(metric, own, [texts.refs[i] for i in inside]).texts
            if np.allclose([each.score for each in resampled], [*scores.values()], rtol=0, atol=_NEAR):
                found[words, sentences] = interval(np.mean([each.samples for each in resampled], axis=0))
    return found


def _texts(model: Model, test_set: str) -> _Texts | None:
    """Return the texts of a test set; None where one is missing, or has another number of lines."""
    files = {seed: file for seed, folder in model.runs.items() for file in files_of_stem(folder, f"hyp-{test_set}")}
    targets = {file.suffix for file in files.values()}
    sources = [path.name for path in files_of_stem(model.work / "raw", test_set) if path.suffix not in targets]
    if len(targets) != 1 or len(sources) != 1:
        return None
    source, reference = model.work / "text" / sources[0], model.work / "raw" / f"{test_set}{targets.pop()}"
    if not (source.is_file() and reference.is_file()):
        return None
    lines, refs = read_lines(source), read_lines(reference)
    hyps = {seed: read_lines(file) for seed, file in files.items()}
    if any(len(text) != len(lines) for text in (refs, *hyps.values())):
        return None
    lengths = [len(line.split()) for line in join_bpe(lines, bpe_kind(lines))]
    return _Texts(lengths, refs, hyps, settings_of(next(iter(files.values()))))
