"""The tables of docs/results.md whose data is kept in docs/runs are what `results` prints of it."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from fairseq_rope.experiments.results import results_text
from fairseq_rope.experiments.stages import stages_text
from tests.support import ROOT

SECTIONS = (ROOT / "docs" / "results.md").read_text(encoding="utf-8").split("\n## ")
COMMAND = re.compile(r"^`fairseq-rope results (docs/runs/\S+)( --stages)? --models ([^`]+)`:$", re.M)
KEPT = [
    (match[1], stages_text if match[2] else results_text, match[3].split(), section)
    for section in SECTIONS
    for match in COMMAND.finditer(section)
]


def rows(text: str) -> set[tuple[str, ...]]:
    lines = (line.strip("|").split("|") for line in text.splitlines() if line.startswith("|") and "---" not in line)
    return {tuple(cell.strip() for cell in cells) for cells in lines}


@pytest.mark.parametrize(("folder", "text", "models", "section"), KEPT, ids=[folder for folder, *_ in KEPT])
def test_tables_are_those_of_the_data_that_is_kept(
    folder: str, text: Callable[[Path, list[str]], str], models: list[str], section: str
):
    shown = rows(section)
    assert len(shown) > 4 and shown <= rows(text(ROOT / folder, models))


def test_all_that_is_kept_is_shown_and_names_no_folder():
    folders = {folder for folder, *_ in KEPT}
    assert folders == {f"docs/runs/{path.name}" for path in (ROOT / "docs" / "runs").iterdir()}
    for path in (ROOT / "docs" / "runs").rglob("*"):
        if path.is_file():
            assert not re.search(r"(?<![\w.:/])/\w[^/\s]*/\w", path.read_text(encoding="utf-8")), path
