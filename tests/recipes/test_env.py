"""scripts/lib/env.sh: the choice of a Python, and the environment with its stamp."""

import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from tests.support import ROOT
from tests.support.shell import Shell

SCRIPTS = [ROOT / "scripts" / "test.sh", ROOT / ".ci" / "run"]


@pytest.mark.parametrize(
    ("installed", "variable", "version", "found"),
    [
        (["python3.10", "python3.12"], None, "", "python3.12"),
        (["python3.9", "python3.14"], None, "", None),
        (["python3.12", "python3.10"], None, "3.10", "python3.10"),
        (["python3.12"], None, "3.10", None),
        (["python3.12", "python3.10"], "python3.10", "", "python3.10"),
        (["python3.12", "python3.9"], "python3.9", "", None),
        (["python3.12", "python3.10"], "python3.12", "3.10", "python3.10"),
        ([], None, "", None),
    ],
)
def test_find_python_takes_the_first_that_fits(
    shell: Shell, installed: list[str], variable: str | None, version: str, found: str | None
) -> None:
    for name in installed:
        shell.stub(name)
    result = shell.run(f"find_python {version}", **({"PYTHON": variable} if variable else {}))
    assert result.stdout == (f"{shell.bin / found}\n" if found else "")
    assert result.returncode == (0 if found else 1)
    if found is None:
        assert "venv and headers (Python.h)" in result.stderr


def test_find_python_prefers_python3_and_looks_into_pyenv_last(shell: Shell) -> None:
    pyenv = shell.folder / ".pyenv" / "versions" / "3.10.13" / "bin"
    pyenv.mkdir(parents=True)
    shutil.copy(shell.stub("python3"), pyenv / "python3")
    assert shell.run("find_python", STUB_VERSION="3.11").stdout == f"{shell.bin / 'python3'}\n"
    assert shell.run("find_python 3.12", STUB_VERSION="3.11").returncode == 1
    shell.bin.joinpath("python3").unlink()
    assert shell.run("find_python 3.10", STUB_VERSION="3.10").stdout == f"{pyenv / 'python3'}\n"


def test_a_python_without_headers_does_not_fit(shell: Shell) -> None:
    shell.stub("python3.11")
    (shell.folder / "include" / "Python.h").unlink()
    assert shell.run("find_python").returncode == 1


def test_this_python_fits_its_own_version_only(shell: Shell) -> None:
    version = ".".join(map(str, sys.version_info[:2]))
    wanted = {"''": True, version: True, "3.9": False, "3.14": False}
    include = Path(sysconfig.get_path("include"), "Python.h").exists()
    for name, fits in wanted.items():
        assert (shell.run(f"python_fits '{sys.executable}' {name}").returncode == 0) == (fits and include)


def test_the_stamp_depends_on_the_pins_the_folder_and_the_index(shell: Shell) -> None:
    command = f"env_stamp '{sys.executable}'"
    stamps = [shell.run(command).stdout, shell.run(command).stdout, shell.run(command, TORCH_INDEX_URL="x").stdout]
    for name in ("pyproject.toml", "constraints.txt"):
        (shell.project / name).write_text("changed")
        stamps.append(shell.run(command).stdout)
    shell.project = shell.project.rename(shell.folder / "moved")
    stamps.append(shell.run(command).stdout)
    assert stamps[0] == stamps[1] and len(set(stamps)) == 5
    assert all(re.fullmatch("[0-9a-f]{64}\n", stamp) for stamp in stamps)


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_help_is_the_header_of_the_script(path: Path) -> None:
    result = subprocess.run(["bash", path, "--help"], capture_output=True, text=True, check=True)
    header = path.read_text().split("\nset -euo")[0].splitlines()[1:]
    assert result.stdout.splitlines() == [line.removeprefix("#").removeprefix(" ") for line in header]
    assert result.stdout and not result.stderr


def test_an_unknown_argument_of_the_test_script_is_an_error() -> None:
    result = subprocess.run(["bash", SCRIPTS[0], "--fast"], capture_output=True, text=True)
    assert result.returncode == 1
    assert result.stderr.startswith("test.sh: error: an argument must be --quick, --fairseq-0.12.2, --help or --")


@pytest.mark.parametrize(("option", "levels", "harness"), [("--quick", " -m unit", 0), ("", "", 1)])
def test_quick_runs_the_linters_and_the_first_level(shell: Shell, option: str, levels: str, harness: int) -> None:
    shutil.copy(SCRIPTS[0], shell.project / "scripts")
    shell.stub("python3")
    shell.stub("nproc").write_text("#!/bin/sh\necho 2\n")
    shell.run(f"source scripts/test.sh {option}")
    calls = shell.calls("-m")
    assert [call.partition(" ")[2] for call in calls if " -m pytest" in call] == [
        f"-m pytest --numprocesses 3 --dist loadfile --no-loadscope-reorder{levels}"
    ]
    assert sum(" -m ruff" in call or " -m mypy" in call for call in calls) == 3
    assert sum(" -m tests.faults --quick" in call for call in calls) == harness


def test_the_tests_with_fairseq_0_12_2_are_skipped_with_status_3_without_a_python_3_10(shell: Shell) -> None:
    shutil.copy(SCRIPTS[0], shell.project / "scripts")
    shell.stub("python3.12")
    result = shell.run("source scripts/test.sh --fairseq-0.12.2")
    assert result.returncode == 3
    assert "skip the tests with fairseq 0.12.2: it imports only on Python 3.10" in result.stderr


def test_a_complete_environment_is_used_without_installing(shell: Shell) -> None:
    shell.stub("python3")
    first = shell.run("setup_env; echo $VIRTUAL_ENV; command -v python")
    environment = shell.project / ".venv"
    assert first.stdout.splitlines() == [str(environment), f"{environment}/bin/python"], first.stderr
    assert any("fairseq-fixed" in call and "--no-build-isolation" in call for call in shell.calls("pip"))
    assert shell.run("setup_env").returncode == 0
    assert shell.calls(" -m ") == []


def test_fairseq_is_installed_with_isolation_on_python_3_10_only(shell: Shell) -> None:
    shell.stub("python3.10")
    assert shell.run("setup_env", STUB_VERSION="3.10").returncode == 0
    assert "python -m pip install --quiet fairseq" in shell.calls("pip")


def test_as_many_extensions_are_compiled_at_once_as_there_are_cores_unless_the_user_says_otherwise(
    shell: Shell,
) -> None:
    shell.stub("python3")
    shell.stub("nproc").write_text("#!/bin/sh\necho 6\n")
    pip = 'pip_install() { [[ $* != *fairseq-fixed* ]] || cat -- "$DIST_EXTRA_CONFIG"; }'
    assert shell.run(f"{pip}; setup_env").stdout == "[build_ext]\nparallel = 6\n"
    (shell.project / "own.cfg").write_text("the user's\n")
    shutil.rmtree(shell.project / ".venv")
    own = {"DIST_EXTRA_CONFIG": str(shell.project / "own.cfg")}
    assert shell.run(f"{pip}; setup_env", **own).stdout == "the user's\n"


@pytest.mark.parametrize("changed", ["pyproject.toml", "constraints.txt", "version", "index", "folder"])
def test_an_environment_is_completed_when_what_it_depends_on_changes(shell: Shell, changed: str) -> None:
    shell.stub("python3")
    assert shell.run("setup_env").returncode == 0
    shell.calls("")
    variables = {}
    if changed == "version":
        variables["STUB_VERSION"] = "3.12"
    elif changed == "index":
        variables["TORCH_INDEX_URL"] = "https://example.org/cpu"
    elif changed == "folder":
        shell.project = shell.project.rename(shell.folder / "moved")
    else:
        (shell.project / changed).write_text("changed")
    assert shell.run("setup_env", **variables).returncode == 0
    assert shell.calls("pip install")
    assert shell.run("setup_env", **variables).returncode == 0
    assert shell.calls("pip install") == []


def test_extras_are_added_once_and_stay(shell: Shell) -> None:
    shell.stub("python3")
    table = {"plot": True, "dev,plot": True, "dev": False, "data": True, "other": True, "plot,other": False}
    for extras, installs in table.items():
        assert shell.run(f"setup_env '' '{extras}'").returncode == 0, extras
        calls = shell.calls("--editable")
        assert bool(calls) == installs, extras
        assert all(call.endswith(f"--editable .[{extras}]") for call in calls)


def test_what_prepares_text_is_installed_unless_other_extras_are_named(shell: Shell) -> None:
    shell.stub("python3")
    assert shell.run("setup_env '' ''").returncode == 0
    assert shell.calls("--editable")[0].endswith("--editable .[data]")
    assert shell.run("setup_env").returncode == 0
    assert not shell.calls("--editable")


@pytest.mark.parametrize("where", ["venv", "wheel", " torch", "fairseq-fixed", "--editable"])
def test_an_interrupted_installation_is_not_trusted_and_is_completed(shell: Shell, where: str) -> None:
    shell.stub("python3")
    assert shell.run("setup_env '' plot").returncode == 0
    (shell.project / "constraints.txt").write_text("new")
    if where == "venv":
        (shell.project / ".venv" / "bin" / "python").unlink()
    else:
        failed = shell.run("setup_env '' plot; echo after", STUB_FAILS_AT=where)
        assert failed.returncode == 1 and "after" not in failed.stdout
        assert not (shell.project / ".venv" / "stamp").exists()
    shell.calls("")
    assert shell.run("setup_env '' plot").returncode == 0
    assert shell.calls("--editable .[plot]")
    assert (shell.project / ".venv" / "stamp").exists()


def test_a_half_written_package_is_removed_before_installing_again(shell: Shell) -> None:
    shell.stub("python3")
    assert shell.run("setup_env").returncode == 0
    site = shell.project / ".venv" / "site"
    for name, complete in (("whole", True), ("half", False)):
        (site / f"{name}-1.dist-info").mkdir()
        if complete:
            (site / f"{name}-1.dist-info" / "INSTALLER").touch()
    (site / "~ld").mkdir()
    (shell.project / ".venv" / "stamp").unlink()
    assert shell.run("setup_env").returncode == 0
    assert [path.name for path in site.iterdir()] == ["whole-1.dist-info"]


def test_a_folder_that_was_not_made_here_is_left_alone(shell: Shell) -> None:
    shell.stub("python3")
    mine = shell.folder / "mine"
    mine.mkdir()
    (mine / "thesis").touch()
    result = shell.run("setup_env", FAIRSEQ_ROPE_ENV=str(mine))
    assert result.returncode == 1
    assert f"FAIRSEQ_ROPE_ENV must be a new folder or one made here, but is {mine}" in result.stderr
    assert [path.name for path in mine.iterdir()] == ["thesis"]


def test_no_compiler_is_an_error_before_anything_is_made(shell: Shell) -> None:
    shell.stub("python3")
    (shell.bin / "g++").unlink()
    result = shell.run("setup_env")
    assert result.returncode == 1
    assert "fairseq needs a C++ compiler (c++, g++ or clang++), but none is on the PATH" in result.stderr
    assert not (shell.project / ".venv").exists()


def test_the_chosen_index_serves_torch_alone(shell: Shell) -> None:
    shell.stub("python3")
    url = "https://example.org/cpu"
    assert shell.run("setup_env", TORCH_INDEX_URL=url).returncode == 0
    assert shell.calls(f"--index-url {url}") == [f"python -m pip install --quiet --no-deps --index-url {url} torch"]


def test_none_keeps_the_current_python(shell: Shell) -> None:
    shell.stub("python")
    result = shell.run("setup_env; command -v python", FAIRSEQ_ROPE_ENV="none")
    assert result.stdout.splitlines()[-1] == str(shell.bin / "python")
    assert shell.calls("pip") == []


@pytest.mark.parametrize(("flags", "status"), [("", 0), ("-S", 1)], ids=["installed", "missing"])
def test_none_asks_for_a_python_with_the_packages(shell: Shell, flags: str, status: int) -> None:
    python = shell.bin / "python"
    python.write_text(f'#!{shutil.which("bash")}\nexec {shlex.quote(sys.executable)} {flags} "$@"\n')
    python.chmod(0o755)
    result = shell.run("setup_env", FAIRSEQ_ROPE_ENV="none")
    message = "error: FAIRSEQ_ROPE_ENV=none needs a `python` with fairseq_rope installed"
    assert result.returncode == status and (message in result.stderr) == bool(status), result.stderr
