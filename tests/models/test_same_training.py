"""Training is stock's: 200 updates of fairseq's Trainer with positions switched off in both give the same losses."""

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.model import build, data, train
from benchmarks.model.rotation import without_rotation
from benchmarks.model.spec import Spec
from tests.support.near import LOSSES

UPDATES = 200
OPTIONS = (
    *("--dropout", "0", "--encoder-embed-dim", "32", "--decoder-embed-dim", "32", "--encoder-layers", "2"),
    *("--decoder-layers", "2", "--clip-norm", "1", "--warmup-updates", "50", "--lr", "3e-3"),
)


def losses(spec: Spec) -> list[float]:
    """Train, and give the loss of every update."""
    trainer, found = build.trainer(spec, build.training_options(spec, max_tokens=spec.max_tokens)), []
    # what the trainer reports is rounded
    trainer.get_criterion().register_forward_hook(lambda _, __, result: found.append(result[0].item() / result[1]))
    groups = train.batches(trainer)
    with without_rotation(trainer.get_model()):
        for _ in range(UPDATES):
            trainer.train_step(next(groups))
    return found


def test_two_hundred_losses_are_those_of_stock_without_positions(tmp_path: Path) -> None:
    corpus = data.synthetic_corpus(tmp_path, 400, pairs=500, test_pairs=10)
    spec = Spec("train", "rope", "tiny", "fp32", "cpu", str(corpus), str(tmp_path), OPTIONS, max_tokens=600)
    ours = losses(spec)
    no_positions = (*OPTIONS, "--no-token-positional-embeddings")
    stock = losses(replace(spec, model="stock", options=no_positions))
    assert ours == pytest.approx(stock, rel=LOSSES["training, relative"])
    assert len(ours) == UPDATES and stock[-1] < 0.9 * stock[0]
