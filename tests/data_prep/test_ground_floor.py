"""Data preparation stands below the model: it loads no torch, and imports nothing from above."""

import ast
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fairseq_rope_data import errors
from tests.support import ROOT
from tests.support.program import run_program

FLOOR = ROOT / "data-prep" / "fairseq_rope_data"
PROGRAMS = sorted(path.stem for path in FLOOR.glob("[!_]*.py") if "__main__" in path.read_text(encoding="utf-8"))
PROGRAMS.append("grammar")
ASK = """
import runpy, sys
for name in sys.argv[1:]:
    sys.argv = [name, "--help"]
    sys.modules.pop(f"fairseq_rope_data.{name}", None)  # imported by another, of which runpy would warn
    try:
        runpy.run_module(f"fairseq_rope_data.{name}", run_name="__main__", alter_sys=True)
    except SystemExit as end:
        assert end.code == 0, name
    above = {"torch", "fairseq", "fairseq_rope"} & sys.modules.keys()
    assert not above, f"{name} loads {above}"
"""


def test_no_program_loads_torch_or_fairseq() -> None:
    done = subprocess.run([sys.executable, "-c", ASK, *PROGRAMS], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("usage: ") == len(PROGRAMS) > 15


def imports(path: Path) -> Iterator[str]:
    """The modules and names that a file imports, from the top."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_nothing_is_imported_from_above() -> None:
    for path in FLOOR.rglob("*.py"):
        above = {name for name in imports(path) if name.split(".")[0] in ("torch", "fairseq", "fairseq_rope")}
        assert not above, path


def test_the_grammar_is_one_room_with_one_door() -> None:
    for folder in ("fairseq_rope", "data-prep", "scripts", "tests"):
        for path in (ROOT / folder).rglob("*.py"):
            if path.parent.name != "grammar" and not path.name.startswith("test_grammar"):
                assert not any(f"{name}.".startswith("fairseq_rope_data.grammar.") for name in imports(path)), path


@pytest.mark.parametrize("name", PROGRAMS)
def test_usage_and_errors_begin_with_the_programs_name(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    names = []

    def run(given: str, main: Callable[[], None]) -> None:
        names.append(given)
        main()

    monkeypatch.setattr(errors, "run", run)
    done = run_program(monkeypatch, name, "--no-such-option")
    assert (done.status, names) == (2, [name])
    assert done.stderr.startswith(f"usage: {name} ") and f"\n{name}: error: " in done.stderr
