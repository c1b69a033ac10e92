"""Whether models differ in masked tokens by more than the noise of the text: paired bootstraps of its blocks."""

from collections.abc import Iterator

import numpy as np

from fairseq_rope.experiments.pairs import shared_seeds
from fairseq_rope.experiments.work_folder import Model, reports
from fairseq_rope.scoring.block_sums import BlockSums, accuracy, mean_bits
from fairseq_rope.scoring.bootstrap import Bootstrap, bootstrap_of
from fairseq_rope.scoring.masked_report import sums_of
from fairseq_rope.scoring.resampling import resampled_sums

_METRICS = (("bits", mean_bits, 3), ("accuracy", accuracy, 2))  # name, of what sums, decimals


def block_bootstraps(baseline: Model, model: Model) -> Iterator[tuple[str, list[int], list[Bootstrap]]]:
    """Yield test set, seeds and the bootstrap of each metric, where both models read the same masked blocks.

    Raises:
        UserError: a report is damaged.
    """
    found: dict[tuple[str, str], dict[int, tuple[BlockSums, BlockSums]]] = {}
    for seed in shared_seeds(model, baseline):
        ours, theirs = reports(model.runs[seed]), reports(baseline.runs[seed])
        for name in [name for name in theirs if name in ours]:
            own, other = sums_of(ours[name]), sums_of(theirs[name])
            signatures = {score["signature"] for each in (ours, theirs) for score in each[name]["scores"]}
            if own and other and own.tokens and len(signatures) == 1 and own.tokens == other.tokens:
                found.setdefault((name, signatures.pop()), {})[seed] = (other, own)
    for (name, signature), pairs in found.items():
        # (blocks, seeds of the baseline and then of the model, 3)
        statistics = np.stack([pair[i].statistics() for i in (0, 1) for pair in pairs.values()], axis=1)
        seeds = {each.name: len(pairs) for each in (baseline, model)}
        metrics = []
        for metric, score_of, decimals in _METRICS:
            scores = resampled_sums(metric, score_of, statistics, signature=signature)
            metrics.append(bootstrap_of(seeds, scores, decimals=decimals))
        yield name, [*pairs], metrics
