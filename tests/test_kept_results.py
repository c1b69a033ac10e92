"""The tables of docs/results.md whose data is kept in docs/runs are what `results` prints of it."""

import re

import pytest

from fairseq_rope.experiments.results import results_text
from tests.support import ROOT

SECTIONS = (ROOT / "docs" / "results.md").read_text(encoding="utf-8").split("\n## ")
COMMAND = re.compile(r"^`fairseq-rope results (docs/runs/\S+) --models ([^`]+)`:$", re.M)
KEPT = [(match[1], match[2].split(), section) for section in SECTIONS for match in COMMAND.finditer(section)]


def rows(text: str) -> set[tuple[str, ...]]:
    lines = (line.strip("|").split("|") for line in text.splitlines() if line.startswith("|") and "---" not in line)
    return {tuple(cell.strip() for cell in cells) for cells in lines}


@pytest.mark.parametrize(("folder", "models", "section"), KEPT, ids=[folder for folder, _, _ in KEPT])
def test_tables_are_those_of_the_data_that_is_kept(folder: str, models: list[str], section: str):
    shown = rows(section)
    assert len(shown) > 4 and shown <= rows(results_text(ROOT / folder, models))


def test_all_that_is_kept_is_shown_and_names_no_folder():
    folders = {folder for folder, _, _ in KEPT}
    assert folders == {f"docs/runs/{path.name}" for path in (ROOT / "docs" / "runs").iterdir()}
    for path in (ROOT / "docs" / "runs").rglob("*"):
        if path.is_file():
            assert not re.search(r"(?<![\w.:/])/\w[^/\s]*/\w", path.read_text(encoding="utf-8")), path
