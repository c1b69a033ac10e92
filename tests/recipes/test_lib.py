"""scripts/lib/base.sh: steps that are skipped, complete or absent, and where a script stops."""

import re
import shutil
from pathlib import Path

import pytest

from tests.support.shell import Shell


@pytest.mark.parametrize(
    ("before", "part", "command", "status", "after"),
    [
        (None, None, "echo new", 0, "new\n"),
        ("", None, "echo new", 0, "new\n"),
        (None, "half of an interrupted", "echo new", 0, "new\n"),
        ("old\n", None, "echo new", 0, "old\n"),
        ("old\n", None, "false", 0, "old\n"),
        (None, None, "bash -c 'echo half; exit 7'", 7, None),
        (None, None, "fails_inside", 1, None),
        (None, None, "true", 1, None),
    ],
)
def test_a_step_is_skipped_or_complete_or_absent(
    shell: Shell, before: str | None, part: str | None, command: str, status: int, after: str | None
) -> None:
    out = shell.project / "work dir" / "out.txt"
    out.parent.mkdir()
    (shell.bin / "bash").symlink_to(shutil.which("bash") or "bash")
    for path, text in ((out, before), (Path(f"{out}.part"), part)):
        if text is not None:
            path.write_text(text)
    result = shell.run(f"fails_inside() {{ echo half; false; echo more; }}; step '{out}' {command}; echo after")
    assert result.returncode == status, result.stderr
    assert (out.read_text() if out.exists() else None) == after
    assert ("after" in result.stdout) == (status == 0)


def test_a_step_makes_the_folder_of_its_output_and_logs_its_command(shell: Shell) -> None:
    result = shell.run("step deep/er/out echo one two")
    assert (shell.project / "deep/er/out").read_text() == "one two\n"
    assert re.search(r"^\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\] make deep/er/out: echo one two$", result.stderr, re.M)


def test_a_step_that_prints_nothing_says_so(shell: Shell) -> None:
    result = shell.run("step out true")
    assert "error: out: the command printed nothing: true" in result.stderr


def test_a_script_that_stops_says_where(shell: Shell) -> None:
    result = shell.run("f() { false; }; f")
    assert result.returncode == 1
    assert "stopped at" in result.stderr and result.stderr.rstrip().endswith(": false")
