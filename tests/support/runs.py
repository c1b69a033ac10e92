"""Folders of runs as recipes leave them, the tools that read them, and the tables these print."""

import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests.support.train_logs import LOG


def add_run(work: Path, name: str, *, bleu4: float | None = None, loss: str = "8.25", buckets: bool = False) -> Path:
    """Make the folder of a run; with its score of the set `test` if `bleu4` is given."""
    folder = work / name
    folder.mkdir()
    (folder / "train.log").write_text(LOG.replace("loss 8.25", f"loss {loss}"))
    if bleu4 is not None:
        score = {"name": "BLEU4", "value": bleu4, "text": f"BLEU4 = {bleu4:.2f}", "signature": "tok:as-is"}
        report = {"scores": [score], "settings": {"lowercase": True}}
        if buckets:
            report["buckets"] = [{"words": "11-20", "sentences": 7, "score": {**score, "name": "BLEU"}}]
        (folder / "score-test.json").write_text(json.dumps(report))
    return folder


def cells(line: str) -> list[str]:
    """Return the cells of a line of a table."""
    return [cell.strip() for cell in line.strip("|").split("|")]


def run_tool(tool: ModuleType, monkeypatch: pytest.MonkeyPatch, *options: object) -> None:
    """Run a tool in this process as its command line does."""
    monkeypatch.setattr(sys, "argv", [tool.__name__, *map(str, options)])
    tool.main()
