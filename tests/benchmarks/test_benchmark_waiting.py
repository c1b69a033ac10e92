"""The benchmark of waiting threads on a small model, as its user starts it."""

import json
from pathlib import Path

import pytest

from benchmarks.waiting.rates import rates_table
from tests.support import ROOT, forked


def test_each_work_has_a_row_with_the_speed_of_each_setting(tmp_path: Path) -> None:
    options = ["--company", "1", "--settings", "none", "GOMP_SPINCOUNT=10", "--nice", "19", "--repetitions", "1"]
    small = ["--max-tokens", "256", "--updates", "1", "--sentences", "4", "--threads", "1"]
    places = ["--work", tmp_path / "work", "--output", tmp_path / "rates.json"]
    done = forked.run(f"{ROOT}/scripts/benchmark_waiting.py", *options, *small, *places)
    assert done.returncode == 0, done.stderr[-3000:]
    rows = json.loads((tmp_path / "rates.json").read_text())["rows"]
    works = ("train", "generate", "ctranslate2")
    assert [(row["work"], row["company"]) for row in rows] == [(work, 1) for work in works]
    for row in rows:
        assert f"| {row['work']} | {row['company']} | " in done.stdout
        assert set(row["rates"]) == {"none", "GOMP_SPINCOUNT=10"}
        assert all(len(rates) == 1 and min(rates) > 0 for rates in row["rates"].values())


def test_settings_are_compared_with_the_first_one_turn_by_turn() -> None:
    row = {"work": "train", "company": 2, "rates": {"none": [1000.0, 2000.0], "A=1": [1500.0, 2000.0]}}
    header, _, line = rates_table([row], ["none", "A=1"]).splitlines()
    assert header == "| work | company | none, tokens/s | A=1 |"
    assert line == "| train | 2 | 1,500 (1,000 to 2,000) | 1.25x (1.00 to 1.50) |"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(["swim"], "WORK must be one of train, generate, ctranslate2, but is swim"), (["--settings", "x"], "NAME=VALUE")],
)
def test_a_bad_option_is_named(arguments: list[str], message: str, tmp_path: Path) -> None:
    done = forked.run(f"{ROOT}/scripts/benchmark_waiting.py", *arguments, "--work", tmp_path)
    assert done.returncode == 1 and message in done.stderr and "Traceback" not in done.stderr
