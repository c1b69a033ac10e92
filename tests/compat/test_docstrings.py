"""Each quirk is described: what users would meet, in which versions, and when its file can go."""

import ast
import re
from pathlib import Path

import pytest

from tests.support import ROOT

HELPERS = {"__init__", "everything", "wrapping", "plain_data", "checkpoint_names"}
QUIRKS = [path for path in sorted((ROOT / "fairseq_rope/compat").glob("*.py")) if path.stem not in HELPERS]


@pytest.mark.parametrize("path", QUIRKS, ids=lambda path: path.stem)
def test_a_quirk_has_its_symptom_its_versions_and_its_end(path: Path) -> None:
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    assert re.search(r"^Symptoms?\b.*: ", text, re.MULTILINE)
    assert re.search(r"fairseq (0\.12\.2|main)|All versions of torch", text)
    assert re.search(r"[Cc]an go\s+(when|with)", text)
