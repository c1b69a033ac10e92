"""The script for a machine with a GPU: its steps, with a Python that only records them, and the check that it makes."""

import logging
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from torch import Tensor

from fairseq_rope.modules.positions.rotary import RotaryEmbedding
from fairseq_rope_data.errors import UserError
from tests.gpu import check_against_reference
from tests.support import ROOT

SCRIPT = ROOT / "scripts" / "benchmark_gpu.sh"
# Answers as a Python of $STUB_KIND would, that lacks $STUB_LACKS and in which the benchmark $STUB_FAILS fails.
STUB = """#!/usr/bin/env bash
call=" $* "
[[ $call != *"${STUB_LACKS:-nothing}"* ]] || exit 1
case $call in
  *version_info*) echo "${STUB_KIND:-3.12 x86_64}" ;;
  *" -m pip install "*) mkdir -p "$(sed 's/.*--target \\([^ ]*\\).*/\\1/' <<<"$call")" ;;
  *check_against_reference*) echo checked && echo "$PYTHONPATH" >>"$RECORD.path" ;;
  *benchmark.py*) echo "table $2" && echo "${@:2}" >>"$RECORD" && [[ $call != *"${STUB_FAILS:-nothing}"* ]] ;;
esac
"""


class Machine:
    """A folder with a stub of Python, wheels, and the results of a run of the script."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.made = folder, folder / "made"
        self.wheels, self.out = folder / "wheels", folder / "out"
        self.python, self.record = folder / "python3", folder / "record"
        self.python.write_text(STUB)
        self.python.chmod(0o755)
        self.wheels.mkdir()
        (self.wheels / "made-for").write_text("3.12 x86_64\n")
        (self.wheels / "some.whl").touch()

    def run(self, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        names = {"PYTHON": self.python, "WHEELS": self.wheels, "WORK": self.made, "OUT": self.out}
        environment = {"PATH": "/usr/bin:/bin", "RECORD": str(self.record), **{k: str(v) for k, v in names.items()}}
        return subprocess.run(
            ["bash", SCRIPT, *arguments], env={**environment, **variables}, capture_output=True, text=True, timeout=60
        )


@pytest.fixture(autouse=True)
def logs() -> Iterator[None]:
    yield
    # the check switches them off
    logging.disable(logging.NOTSET)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_help_is_the_header_of_the_script() -> None:
    result = subprocess.run(["bash", SCRIPT, "--help"], capture_output=True, text=True, check=True)
    header = SCRIPT.read_text().split("\nset -euo")[0].splitlines()[1:]
    assert result.stdout.splitlines() == [line.removeprefix("#").removeprefix(" ") for line in header]


def test_every_benchmark_runs_after_the_check_and_their_tables_stand_in_one_file(machine: Machine) -> None:
    result = machine.run("--smoke")
    assert result.returncode == 0, result.stderr
    assert (machine.out / "check.txt").read_text() == "checked\n"
    calls = machine.record.read_text().splitlines()
    for call, kind in zip(calls, ("train", "profile", "generate"), strict=True):
        assert call.startswith(f"{kind} --sizes tiny ")
        # of ten, less a minute and a half for what has begun
        assert " --minutes 8." in call
        assert call.endswith(f" --work {machine.made / 'data'} --output {machine.out}/{kind}.json")
    assert (
        (machine.out / "table.md").read_text() == result.stdout == "table train\n\ntable profile\n\ntable generate\n\n"
    )


def test_a_benchmark_that_fails_is_named_at_the_end_and_the_others_run(machine: Machine) -> None:
    result = machine.run("--smoke", STUB_FAILS="train --sizes")
    assert result.returncode == 1
    assert result.stderr.splitlines()[-1] == "benchmark_gpu.sh: error: failed: train"
    assert len(machine.record.read_text().splitlines()) == 3


def test_a_check_that_fails_ends_the_run(machine: Machine) -> None:
    result = machine.run("--smoke", STUB_LACKS="check_against_reference")
    assert result.returncode == 1 and not machine.record.exists()


def test_the_repository_is_found_without_being_installed(machine: Machine) -> None:
    assert machine.run("--smoke").returncode == 0
    path = (machine.folder / "record.path").read_text().splitlines()[0].split(":")
    assert path == [f"{machine.made}/site", *(str(ROOT / folder) for folder in ("", "data-prep", "scripts"))]


def test_packages_are_installed_once(machine: Machine) -> None:
    assert "install from" in machine.run("--smoke").stderr
    assert "install from" not in machine.run("--smoke").stderr


def test_wheels_are_complete_only_when_all_of_them_are_built(machine: Machine) -> None:
    new = machine.folder / "new"
    assert machine.run("--wheels", str(new), STUB_LACKS="fairseq-fixed").returncode == 1
    assert not (new / "made-for").exists()
    assert machine.run("--wheels", str(new)).returncode == 0
    assert (new / "made-for").read_text() == "3.12 x86_64\n"
    assert f"have {new}" in machine.run("--wheels", str(new)).stderr


@pytest.mark.parametrize(
    ("arguments", "variables", "error"),
    [
        (["--fast"], {}, "the argument must be --smoke, --wheels or --help, but is --fast"),
        (["--wheels"], {}, "--wheels takes one folder"),
        ([], {"STUB_LACKS": "is_available"}, "there is no GPU that the PyTorch of {python} can use; --smoke runs"),
        (["--smoke"], {"STUB_LACKS": "import torch"}, "PYTHON must have PyTorch, but {python} has not"),
        (["--smoke"], {"STUB_LACKS": "-m pip"}, "PYTHON must have pip, but {python} has not"),
        (["--smoke"], {"STUB_KIND": "3.9 x86_64"}, "PYTHON must be a Python 3.11 to 3.13, but {python} is 3.9 x86_64"),
        (["--smoke"], {"PYTHON": "/none"}, "PYTHON must be a Python 3.11 to 3.13, but /none does not run"),
        (["--smoke"], {"WHEELS": "/none"}, "WHEELS must be a folder made by benchmark_gpu.sh --wheels, but /none"),
        (
            ["--smoke"],
            {"STUB_KIND": "3.13 x86_64"},
            "WHEELS must be for the Python of this machine, 3.13 x86_64, but {wheels}",
        ),
        (["--smoke"], {"STUB_LACKS": "import fairseq_cli"}, "fairseq does not start with what is in {wheels}"),
    ],
    ids=["argument", "folder", "gpu", "torch", "pip", "old", "python", "wheels", "other", "import"],
)
def test_what_is_missing_is_an_error_of_one_line(
    machine: Machine, arguments: list[str], variables: dict[str, str], error: str
) -> None:
    result = machine.run(*arguments, **variables)
    assert result.returncode == 1
    expected = error.format(python=machine.python, wheels=machine.wheels)
    assert f"benchmark_gpu.sh: error: {expected}" in result.stderr
    assert not machine.record.exists()


def test_the_model_passes_the_check_in_every_number_type(capsys: pytest.CaptureFixture[str]) -> None:
    check_against_reference.main()
    assert len(capsys.readouterr().out.splitlines()) == 1 + 2 * 3 * 3


@pytest.mark.parametrize("broken", ["angles", "cache"])
def test_the_check_sees_what_goes_wrong_in_low_precision_and_with_a_cache(
    monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    right = RotaryEmbedding.rotate_, RotaryEmbedding.table

    def at_zero(rotary: RotaryEmbedding, qk: Tensor, *, offset: int = 0, **options: object) -> None:
        right[0](rotary, qk, **options)

    def in_bfloat16(rotary: RotaryEmbedding, length: int, device: torch.device) -> Tensor:
        phasors = right[1](rotary, length, device)
        angles = torch.outer(torch.arange(length, device=device).bfloat16(), rotary.theta.to(device).bfloat16()).float()
        return torch.polar(torch.ones_like(angles), angles).to(phasors)

    if broken == "cache":
        monkeypatch.setattr(RotaryEmbedding, "rotate_", at_zero)
    else:
        monkeypatch.setattr(RotaryEmbedding, "table", in_bfloat16)
    found = {"angles": "torch.bfloat16, rotation", "cache": "torch.float32, logits step by step"}
    with pytest.raises(UserError, match=f"not the float64 reference: .*{found[broken]}"):
        check_against_reference.main()
