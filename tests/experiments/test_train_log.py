"""Training logs: their entries, whatever stands around them, and damage."""

import math
from pathlib import Path

import pytest

from fairseq_rope.experiments.train_log import Validation, read_train_log
from fairseq_rope_data.errors import UserError
from tests.support.train_logs import LOG


def test_a_log_gives_each_validation_as_it_last_was(tmp_path: Path):
    (tmp_path / "train.log").write_text(LOG)
    log = read_train_log(tmp_path / "train.log")
    assert log.validations == [Validation(1, 124, 9.5), Validation(2, 248, 8.25)]
    assert (log.parameters, log.seconds) == (2568192, 150)


def epoch(updates: int, words: float, seconds: int) -> str:
    numbers = f"wps 1 | wpb {words} | bsz 9 | num_updates {updates} | lr 1 | train_wall {seconds} | wall 9"
    return f"epoch 001 | loss 9 | {numbers}\n"


def test_the_speed_is_of_epochs_that_one_process_began_and_ended(tmp_path: Path):
    path, size = tmp_path / "train.log", LOG.splitlines(keepends=True)[0]
    valid = LOG.splitlines(keepends=True)[1]
    path.write_text(LOG)
    assert math.isnan(read_train_log(path).words_per_second)
    whole = size + valid + epoch(100, 900.5, 50) + epoch(200, 1100, 30)
    path.write_text(whole)
    assert read_train_log(path).words_per_second == pytest.approx((100 * 900.5 + 100 * 1100) / 80)
    # resumed after 250 updates: of the third epoch fairseq tells the seconds of the rest only
    path.write_text(whole + size + epoch(300, 1000, 7) + epoch(350, 1000, 20))
    assert read_train_log(path).words_per_second == pytest.approx((100 * 900.5 + 100 * 1100 + 50 * 1000) / 100)
    path.write_text(size + valid + epoch(3, 900, 0))
    assert math.isnan(read_train_log(path).words_per_second)


@pytest.mark.parametrize(("text", "message"), [(None, "there is no training log"), ("nothing\n", "no validation")])
def test_a_log_that_says_nothing_is_named(tmp_path: Path, text: str | None, message: str):
    if text is not None:
        (tmp_path / "train.log").write_text(text)
    with pytest.raises(UserError, match=f"{message}|train.log: {message}"):
        read_train_log(tmp_path / "train.log")


NUMBER = "num_updates 248 | best_loss 8.25"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("loss 8.25 | nll", "loss x8 | nll", "train.log:6: loss must be a number, but is 'x8'"),
        ("wall 150", "wall x", "train.log:7: wall must be a number, but is 'x'"),
        (NUMBER, "num_up", "train.log:6: a validation must have a loss and num_updates: damaged, or cut off"),
        (NUMBER, "num_updates 22026-11-22 03:00:00 | INFO | fairseq", "train.log:6: a validation must have"),
        (NUMBER, "num_updates " + "9" * 5000, "train.log:6: a validation must have"),
        (NUMBER, "num_updates \u0662\u0664\u0668", "train.log:6: a validation must have"),
    ],
    ids=["loss", "wall", "cut", "cut and gone on", "5,000 digits", "other digits"],
)
def test_a_damaged_entry_of_a_log_is_named(tmp_path: Path, old: str, new: str, message: str):
    assert old in LOG
    (tmp_path / "train.log").write_text(LOG.replace(old, new))
    with pytest.raises(UserError, match=message):
        read_train_log(tmp_path / "train.log")


@pytest.mark.parametrize(
    "change",
    [
        lambda log: log.replace("\n", "\r\n").encode(),
        lambda log: b"\xef\xbb\xbf" + log.encode(),
        lambda log: b"saved in /home/\xe4\n" + log.encode() + b"\0" * 50,
        lambda log: (log + "epoch 003 | valid on 'valid' subset | loss 1.5 | num_updates 3").encode(),
    ],
    ids=["other line ends", "byte order mark", "no UTF-8, NULs", "cut in its last line"],
)
def test_what_a_log_says_beside_its_entries_changes_nothing(tmp_path: Path, change):
    (tmp_path / "train.log").write_bytes(change(LOG))
    log = read_train_log(tmp_path / "train.log")
    assert (log.validations, log.parameters, log.seconds) == (
        [Validation(1, 124, 9.5), Validation(2, 248, 8.25)],
        2568192,
        150,
    )


def test_the_best_validation_is_one_with_a_number(tmp_path: Path):
    for losses, best in ((("nan", "8.5"), 8.5), (("9.5", "nan"), 9.5), (("inf", "8.5"), 8.5)):
        text = LOG.replace("loss 9.5", f"loss {losses[0]}").replace("loss 8.25", f"loss {losses[1]}")
        (tmp_path / "train.log").write_text(text)
        assert read_train_log(tmp_path / "train.log").best.loss == best
