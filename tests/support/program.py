"""Run a program of fairseq_rope_data by its command line, in this process: a new Python takes time."""

import io
import runpy
import sys
from typing import NamedTuple

import pytest


class Done(NamedTuple):
    """What a user sees of a program that has ended; `error` is its last line on stderr."""

    status: int
    stdout: bytes
    stderr: str

    @property
    def error(self) -> str:
        lines = self.stderr.splitlines()
        return lines[-1] if lines else ""


def run_program(monkeypatch: pytest.MonkeyPatch, name: str, *arguments: object, stdin: bytes = b"") -> Done:
    """Run `python -m fairseq_rope_data.NAME ARGUMENTS <stdin`."""
    output, errors = io.TextIOWrapper(io.BytesIO()), io.StringIO()
    status = 0
    with monkeypatch.context() as patch:
        for module in (name, f"{name}.__main__"):  # or runpy warns of it
            patch.delitem(sys.modules, f"fairseq_rope_data.{module}", raising=False)
        patch.setattr(sys, "argv", [name, *map(str, arguments)])
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        patch.setattr(sys, "stdout", output)
        patch.setattr(sys, "stderr", errors)
        try:
            runpy.run_module(f"fairseq_rope_data.{name}", run_name="__main__", alter_sys=True)
        except SystemExit as end:
            # the interpreter would print a text and return 1
            status = end.code if isinstance(end.code, int) else 1
            print(end.code if isinstance(end.code, str) else "", file=errors, end="")
    output.flush()
    return Done(status, output.buffer.getvalue(), errors.getvalue())
