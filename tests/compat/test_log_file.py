"""A line that fairseq-train logs once stands in its --log-file once."""

from pathlib import Path

from tests.integration.test_training import train
from tests.support.trained import Trained


def test_later_epochs_are_not_logged_more_often(trained: Trained, tmp_path: Path):
    log = tmp_path / "logs" / ".." / "train.log"
    (tmp_path / "logs").mkdir()
    options = ("--max-tokens", "1500", "--log-format", "simple", "--log-interval", "1")
    train(trained.data, "--max-epoch", "3", *options, "--save-dir", str(tmp_path), "--log-file", str(log))
    lines = [line for line in log.read_text().splitlines() if "epoch 00" in line]
    assert sum("valid on " in line for line in lines) == 3 and sum("num_updates" in line for line in lines) > 6
    assert len(lines) == len(set(lines))
