"""Statistics and tables of the benchmark."""

from typing import Any

import pytest

from benchmarks.model import profile, report
from benchmarks.model.compare import Measured
from benchmarks.report import spread
from fairseq_rope_data.errors import UserError

SETTING = {"kind": "train", "size": "tiny", "dtype": "fp32", "max_tokens": 4096}


def measured(*seconds: float, tokens: int = 100, peak: int = 2**30, **others: object) -> Measured:
    counts = {"tokens": [tokens] * len(seconds), "sentences": [10] * len(seconds), "steps": [4] * len(seconds)}
    return {"options": [], "peak": peak, "seconds": list(seconds), **counts, **others}


def stock(*seconds: float, **others: Any) -> dict[str, Measured]:
    return {"stock": measured(*seconds, **others)}


def test_a_spread_is_the_median_and_both_ends():
    assert spread([3.0, 1.0, 10.0]) == {"median": 3.0, "least": 1.0, "greatest": 10.0, "all": [3.0, 1.0, 10.0]}
    assert spread([1.0, 2.0])["median"] == 1.5


def test_speed_is_the_ratio_of_each_repetition_and_not_of_the_medians():
    row = report.compared(SETTING, stock(1.0, 2.0, 8.0), measured(1.0, 1.0, 2.0, peak=2**29))
    assert row["speed"] == {"median": 2.0, "least": 1.0, "greatest": 4.0, "all": [1.0, 2.0, 4.0]}
    assert row["memory"] == 0.5
    assert row["models"]["stock"]["tokens_per_second"]["all"] == [100.0, 50.0, 12.5]
    assert row["models"]["rope"]["sentences_per_second"]["median"] == 10.0
    assert row["models"]["rope"]["seconds_per_step"]["greatest"] == 0.5


def test_models_that_saw_other_tokens_are_not_compared():
    with pytest.raises(UserError, match=r"must see the same batches, but their tokens are: stock \[100\], rope \[99\]"):
        report.compared(SETTING, stock(1.0), measured(1.0, tokens=99))


def test_trained_models_may_translate_into_other_tokens():
    row = report.compared({**SETTING, "lengths": "trained"}, stock(1.0), measured(1.0, tokens=110))
    assert row["speed"]["median"] == pytest.approx(1.1)
    assert report.notes(row) == ["translations as long as the models want: 100 tokens of stock, 110 of rope"]


def test_a_model_without_memory_is_a_row_that_says_so():
    row = report.compared(SETTING, {"stock": {"options": [], "error": "out of memory"}}, measured(2.0))
    assert "speed" not in row and "memory" not in row and not report.failed(row)
    line = report.tables([row]).splitlines()[-1]
    assert line == "| tiny | fp32 | 4,096 | out of memory | 50 | - / 1,024 |"


def test_another_failure_is_told_apart():
    assert report.failed(report.rotation(SETTING, {"error": "ended with status 1"}))


def test_the_rotations_share_is_what_a_step_takes_longer_with_it():
    row = report.rotation({**SETTING, "kind": "rotation"}, measured(2.0, 4.0, seconds_without=[1.9, 4.0]))
    assert row["share"]["all"] == pytest.approx([5.0, 0.0])
    assert "2.5 % (0.0 % to 5.0 %)" in report.tables([row])


def test_the_table_has_medians_spread_memory_and_utilization():
    row = report.compared(SETTING, stock(1.0, 2.0, 4.0, utilization=[0.1, 0.2, 0.3]), measured(1.0, 1.0, 1.0))
    head, _, line = report.tables([row]).splitlines()
    assert head.startswith("| size | type | tokens a batch | stock, tokens/s | rope, tokens/s | speed |")
    assert line == ("| tiny | fp32 | 4,096 | 50 | 100 | 2.00x (1.00x to 4.00x) | 1,024 / 1,024 = 1.00x | 20 % / - |")


def test_the_share_of_padding_is_that_of_all_steps():
    row = report.compared(SETTING, stock(1.0, 1.0), measured(1.0, 1.0, padded=[100, 300], padding=[20, 20]))
    head, _, line = report.tables([row]).splitlines()
    assert (head.split(" | ")[-1], line.split(" | ")[-1]) == ("padding |", "10 % |")
    row["models"]["rope"].pop("padding")  # a figure that is always 0 is left out
    assert report.tables([row]).endswith(" 0 % |")


def test_the_parts_of_a_step_are_shares_of_its_time():
    shares = dict.fromkeys(profile.PARTS, 0.0)
    parts = [{**shares, "products": 0.5}, {**shares, "products": 1.5, "host": 0.5}]
    models = {"stock": {"options": [], "error": "out of memory"}}, measured(1.0, 2.0, parts=parts)
    head, _, line = report.tables([report.compared({**SETTING, "kind": profile.KIND}, *models)]).splitlines()
    cells = dict(zip(head.split(" | "), line.split(" | "), strict=True))
    assert cells["products, stock / rope"] == "- / 62 %" and cells["host, stock / rope |"] == "- / 12 % |"


def test_steps_without_an_update_are_noted():
    row = report.compared(SETTING, stock(1.0, 1.0, skipped=[1, 2]), measured(1.0, 1.0))
    assert report.notes(row) == ["3 steps of stock overflowed in fp16 and left the weights alone"]
