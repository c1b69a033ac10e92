"""The tables of docs/results*.md whose data is kept in docs/runs are what `results` prints of it."""

import re

import pytest

from fairseq_rope.experiments.results import results_text
from fairseq_rope.experiments.stages import stages_text
from tests.support import ROOT

PAGES = [path.read_text(encoding="utf-8") for path in sorted((ROOT / "docs").glob("results*.md"))]
SECTIONS = [section for page in PAGES for section in page.split("\n## ")]
COMMAND = re.compile(r"^`fairseq-rope results ((?:docs/runs/\S+ )+)(--stages )?--models ([^`]+)`:$", re.M)
KEPT = {section.partition("\n")[0]: section for section in SECTIONS if COMMAND.search(section)}


def rows(text: str) -> set[tuple[str, ...]]:
    lines = (line.strip("|").split("|") for line in text.splitlines() if line.startswith("|") and "---" not in line)
    return {tuple(cell.strip() for cell in cells) for cells in lines}


def printed(folders: str, stages: str | None, models: str) -> set[tuple[str, ...]]:
    paths = [ROOT / folder for folder in folders.split()]
    return rows(stages_text(paths[0], models.split()) if stages else results_text(paths, models.split()))


@pytest.mark.parametrize("title", KEPT)
def test_tables_are_those_of_the_data_that_is_kept(title: str):
    shown = rows(KEPT[title])
    assert len(shown) > 4 and shown <= set().union(*(printed(*each) for each in COMMAND.findall(KEPT[title])))


def test_all_that_is_kept_is_shown_and_names_no_folder():
    folders = {folder for section in KEPT.values() for each in COMMAND.findall(section) for folder in each[0].split()}
    assert folders == {f"docs/runs/{path.name}" for path in (ROOT / "docs" / "runs").iterdir()}
    for path in (ROOT / "docs" / "runs").rglob("*"):
        if path.is_file():
            assert not re.search(r"(?<![\w.:/])/\w[^/\s]*/\w", path.read_text(encoding="utf-8")), path
