"""A work folder of masked language models, as the recipe leaves it: training logs, and reports of blocks."""

import random
from collections.abc import Mapping
from pathlib import Path

from fairseq_rope.scoring.block_sums import BlockSums
from fairseq_rope.scoring.masked_report import MaskedReport, masked_json

LOG = """num. shared model params: 1,000 (num. trained: 1,000)
epoch 001 | valid on 'valid' subset | loss {early} | ppl 477 | bsz 16 | num_updates 100
epoch 002 | valid on 'valid' subset | loss {late} | ppl 300 | bsz 16 | num_updates 200 | best_loss {late}
epoch 002 | loss 9.2 | ppl 500 | num_updates 200 | train_wall 60 | wall 122
done training in 121.5 seconds
"""
TRAINED, BLOCKS, TOKENS = 16, 60, 5


def masked_runs(work: Path, bits: Mapping[str, Mapping[int, float | None]], *, seeds: int = 2) -> Path:
    """Make a work folder.

    Args:
        work: the folder to make.
        bits: model -> length of blocks -> bits a masked token, above a part that all models share; None where it cannot
            be read.
        seeds: of each model; each is 0.01 bits worse than the one before.
    """
    for model, lengths in bits.items():
        for seed in range(1, seeds + 1):
            folder = work / (model if seed == 1 else f"{model}-seed{seed}")
            folder.mkdir(parents=True)
            late = 8 + (next(iter(lengths.values())) or 0) + seed / 100
            (folder / "train.log").write_text(LOG.format(early=9.5, late=late))
            for length, above in lengths.items():
                report = MaskedReport("valid", length, TRAINED, "masks", _sums(length, above, seed), _notes(above))
                (folder / f"score-valid-{length}.json").write_text(masked_json(report))
    return work


def _sums(length: int, above: float | None, seed: int) -> BlockSums | None:
    if above is None:
        return None
    dice = random.Random(length)
    bits = [TOKENS * (above + seed / 100 + dice.choice([6, 7, 8])) for _ in range(BLOCKS)]
    return BlockSums([TOKENS] * BLOCKS, bits, [i % 3 for i in range(BLOCKS)])


def _notes(above: float | None) -> list[str]:
    return ["--allow beyond-table: not read, for its table ends"] if above is None else []
