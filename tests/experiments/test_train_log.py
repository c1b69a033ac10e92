"""Training logs: their entries, whatever stands around them, and damage."""

import math
from pathlib import Path

import pytest

from fairseq_rope.experiments.train_log import Validation, read_train_log
from fairseq_rope.experiments.wall_clock import WallClock
from fairseq_rope_data.errors import UserError
from tests.support.train_logs import BLEU_LOG, LOG


def test_a_log_gives_each_validation_as_it_last_was(tmp_path: Path):
    (tmp_path / "train.log").write_text(LOG)
    log = read_train_log(tmp_path / "train.log")
    assert log.validations == [Validation(1, 124, 9.5), Validation(2, 248, 8.25)]
    assert (log.parameters, log.seconds) == (2568192, 150)


def test_of_several_validation_sets_the_first_is_read_by_which_fairseq_chooses(tmp_path: Path):
    path, lines = tmp_path / "train.log", LOG.splitlines(keepends=True)
    other = [line.replace("'valid' subset | loss ", "'valid1' subset | loss 1") for line in lines if "valid on" in line]
    assert other
    path.write_text("".join(line + (other.pop(0) if "valid on" in line else "") for line in lines))
    assert read_train_log(path).validations == [Validation(1, 124, 9.5), Validation(2, 248, 8.25)]


def test_a_log_has_the_bleu_of_its_validations_where_the_training_searched(tmp_path: Path):
    path = tmp_path / "train.log"
    path.write_text(LOG)
    log = read_train_log(path)
    assert (log.bleu, log.best_bleu) == ([], None)
    path.write_text(BLEU_LOG)
    log = read_train_log(path)
    assert log.validations == [Validation(1, 124, 9.5, 0.31), Validation(2, 248, 8.25, 12.5)]
    assert log.best_bleu == (log.validations[1], 12.5)
    # begun without, gone on with it; and of equal ones the first is the best
    path.write_text(BLEU_LOG.replace(" bleu 0.31 |", ""))
    assert [bleu for _, bleu in read_train_log(path).bleu] == [12.5]
    path.write_text(BLEU_LOG.replace("bleu 0.31", "bleu 12.5"))
    assert read_train_log(path).best_bleu == (Validation(1, 124, 9.5, 12.5), 12.5)


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
    rates = [100 * 900.5 / 50, 100 * 1100 / 30, 50 * 1000 / 20]
    assert read_train_log(path).words_per_second == pytest.approx(sum(rates[:2]) / 2)
    # resumed after 250 updates: of the third epoch fairseq tells the seconds of the rest only
    path.write_text(whole + size + epoch(300, 1000, 7) + epoch(350, 1000, 20))
    assert read_train_log(path).words_per_second == pytest.approx(rates[2])
    # an epoch in which the machine slept
    path.write_text(whole + size + epoch(300, 1000, 7) + epoch(350, 1000, 20) + epoch(450, 1000, 2000))
    assert read_train_log(path).words_per_second == pytest.approx((rates[0] + rates[2]) / 2)
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
        ("bleu 0.31", "bleu 0,31", "train.log:2: bleu must be a number, but is '0,31'"),
        ("wall 150", "wall x", "train.log:7: wall must be a number, but is 'x'"),
        (NUMBER, "num_up", "train.log:6: a validation must have a loss and num_updates: damaged, or cut off"),
        (NUMBER, "num_updates 22026-11-22 03:00:00 | INFO | fairseq", "train.log:6: a validation must have"),
        (NUMBER, "num_updates " + "9" * 5000, "train.log:6: a validation must have"),
        (NUMBER, "num_updates \u0662\u0664\u0668", "train.log:6: a validation must have"),
    ],
    ids=["loss", "bleu", "wall", "cut", "cut and gone on", "5,000 digits", "other digits"],
)
def test_a_damaged_entry_of_a_log_is_named(tmp_path: Path, old: str, new: str, message: str):
    assert old in BLEU_LOG
    (tmp_path / "train.log").write_text(BLEU_LOG.replace(old, new))
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


def timed(updates: int, wall: int, *, inner: bool = False) -> str:
    if inner:
        return f"epoch 001:   {updates} / 124 loss=9, num_updates={updates}, lr=1, gnorm=1, train_wall=9, wall={wall}\n"
    return f"epoch 001 | loss 9 | num_updates {updates} | lr 1 | train_wall 9 | wall {wall}\n"


def valid(updates: int) -> str:
    return f"epoch 001 | valid on 'valid' subset | loss 9 | num_updates {updates}\n"


SIZE = LOG.splitlines(keepends=True)[0]


def course(first: int, *updates: int, best: str = " | best_loss 9") -> str:
    """Return the validations of a process, and the lines between them; the first one may not know of a best loss."""
    texts = [timed(each - 10, each, inner=True) + valid(each).replace("\n", f"{best}\n") for each in updates]
    return SIZE + timed(first - 10, first, inner=True) + valid(first).replace("\n", f"{best}\n") + "".join(texts)


def test_what_a_resume_from_an_earlier_checkpoint_gave_up_does_not_count(tmp_path: Path):
    path = tmp_path / "train.log"
    path.write_text(course(100, 200, 300, 400) + course(200))
    log = read_train_log(path)
    assert ([each.updates for each in log.validations], log.updates) == ([100, 200], 200)
    # before its first validation: at 200 at most it was begun
    path.write_text(course(100, 200, 300, 400) + SIZE + timed(250, 40, inner=True))
    assert [each.updates for each in read_train_log(path).validations] == [100, 200]


def test_a_training_that_was_begun_anew_in_the_same_log_is_the_only_one(tmp_path: Path):
    path, speed = tmp_path / "train.log", epoch(100, 900, 50)
    earlier = course(50, 100, 150, 200, best="") + epoch(200, 900, 5) + epoch(250, 900, 5)
    anew = SIZE + valid(100) + speed + valid(200).replace("\n", " | best_loss 9\n")
    path.write_text(earlier + anew)
    log = read_train_log(path)
    assert [each.updates for each in log.validations] == [100, 200]
    assert (log.words_per_second, log.seconds, log.clock.seconds_at(100)) == (pytest.approx(100 * 900 / 50), 9, 9)


def clock_of(path: Path, text: str) -> tuple[WallClock, float]:
    path.write_text(text)
    log = read_train_log(path)
    return log.clock, log.seconds


def test_the_time_of_an_update_is_interpolated_between_those_that_are_logged(tmp_path: Path):
    text = SIZE + timed(100, 50, inner=True) * 2 + timed(200, 90, inner=True) + valid(200) + timed(200, 100)
    clock, seconds = clock_of(tmp_path / "train.log", text)
    times = {50: 25, 100: 50, 150: 70, 200: 90}  # before the validation, which takes ten seconds
    assert {updates: clock.seconds_at(updates) for updates in times} == pytest.approx(times)
    assert math.isnan(clock.seconds_at(201)) and seconds == 100


def test_time_goes_on_where_a_training_was_resumed(tmp_path: Path):
    first = SIZE + timed(100, 50, inner=True) + valid(120) + timed(120, 64) + timed(200, 104, inner=True)
    # killed after 200 updates and more, begun again at 120: 80 updates and their 40 seconds were for nothing
    second = SIZE + timed(200, 20, inner=True) + valid(240) + timed(240, 30)
    clock, seconds = clock_of(tmp_path / "train.log", first + second)
    times = {100: 50, 120: 64, 160: 74, 200: 84, 240: 94}
    assert {updates: clock.seconds_at(updates) for updates in times} == pytest.approx(times)
    assert seconds == 94
    third = SIZE + timed(300, 70, inner=True)
    clock, seconds = clock_of(tmp_path / "train.log", first + second + third)
    assert (clock.seconds_at(240), clock.seconds_at(300), seconds) == (94, 164, 164)


def test_time_goes_on_by_the_pace_of_updates_where_wall_stands_after_a_resume_within_an_epoch(tmp_path: Path):
    first = SIZE + timed(100, 50, inner=True) + valid(120) + timed(120, 64) + timed(200, 104, inner=True)

    def resumed(updates: int, seconds: int, steps: int) -> str:
        line = timed(updates, 0, inner=True)
        return line.replace("loss=9,", f"loss=9, ppl=512, wps={30 * steps / seconds}, ups=1, wpb=30, bsz=2,")

    second = SIZE + resumed(200, 20, 80) + valid(240) + resumed(300, 40, 100) + timed(310, 0)
    clock, seconds = clock_of(tmp_path / "train.log", first + second)
    times = {120: 64, 160: 74, 200: 84, 250: 104, 300: 124}
    assert {updates: clock.seconds_at(updates) for updates in times} == pytest.approx(times)
    assert seconds == pytest.approx(124)
    clock, seconds = clock_of(tmp_path / "train.log", first + second + SIZE + resumed(250, 5, 10) + valid(250))
    assert seconds == pytest.approx(100 + 5) and clock.seconds_at(250) == pytest.approx(seconds)


def test_a_training_that_begins_anew_has_no_time_of_the_one_before(tmp_path: Path):
    text = SIZE + timed(100, 50, inner=True) + valid(120) + timed(120, 64)
    clock, seconds = clock_of(tmp_path / "train.log", text + SIZE + timed(100, 30, inner=True) + valid(120))
    assert (clock.seconds_at(100), seconds) == (30, 30) and math.isnan(clock.seconds_at(120))


def test_a_log_says_whether_its_training_came_to_its_end(tmp_path: Path):
    path = tmp_path / "train.log"
    begun = LOG.removesuffix("done training in 149.5 seconds\n")
    for text, is_finished in ((begun, False), (LOG, True), (LOG + begun, False), (LOG + LOG, True)):
        path.write_text(text)
        assert read_train_log(path).is_finished == is_finished
