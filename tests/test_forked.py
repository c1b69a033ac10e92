"""Commands that are forks of the tests' own server end, read, write and are killed as processes of their own."""

import contextlib
import fcntl
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.support import ROOT
from tests.support.environment import forking_environment
from tests.support.forked import shared_server

LOADED = "import os, sys; os.write(1, b'ready\\n' * ('fairseq' in sys.modules))"


def shell(folder: Path, script: str, **options) -> subprocess.CompletedProcess:
    return subprocess.run(
        ["bash", "-c", script], cwd=folder, env=forking_environment(folder), capture_output=True, text=True, **options
    )


def test_a_script_on_stdin_finds_libraries_imported_and_has_its_own_arguments_and_folder(tmp_path: Path):
    script = f"{LOADED}; print(sys.argv, os.getcwd(), os.environ['WORK'] == os.getcwd())"
    done = shell(tmp_path, 'python - "a word" ü', input=script)
    assert (done.stdout, done.returncode) == (f"ready\n['-', 'a word', 'ü'] {tmp_path} True\n", 0)


@pytest.mark.parametrize(
    ("end", "status", "says"),
    [
        ("sys.exit(3)", 3, ""),
        ("sys.exit('a text')", 1, "a text"),
        ("raise ValueError(5)", 1, "ValueError: 5"),
        ("os.kill(os.getpid(), 9)", 137, "Killed"),
        ("import atexit; atexit.register(print, 'the end', file=sys.stderr)", 0, "the end"),
    ],
)
def test_statuses_are_those_of_python(tmp_path: Path, end: str, status: int, says: str):
    done = shell(tmp_path, "python -; exit $?", input=f"import os, sys\n{end}")
    assert done.returncode == status and says in done.stderr


def test_commands_of_fairseq_and_of_the_package_are_found(tmp_path: Path):
    done = shell(tmp_path, "fairseq-train --help && python -m fairseq_rope.tools.average --help && fairseq-rope --help")
    assert done.returncode == 0 and "--save-dir" in done.stdout and "--num-epoch-checkpoints" in done.stdout
    assert shell(tmp_path, "python -V; python -c 'import sys; print(len(sys.modules) < 300)'").stdout.endswith("True\n")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_command_ends_with_what_started_it_and_holds_its_files_until_then(tmp_path: Path, number: int):
    lock = tmp_path / "lock"
    script = "exec 9>lock; flock 9; python - <<<'print(1, flush=True); import time; time.sleep(600)' | tee out; echo $?"
    env = forking_environment(tmp_path)
    process = subprocess.Popen(
        ["bash", "-c", script], cwd=tmp_path, env=env, stdout=subprocess.PIPE, start_new_session=True
    )
    assert process.stdout is not None and process.stdout.readline() == b"1\n"
    with lock.open() as file:
        with pytest.raises(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.killpg(process.pid, number)
        process.wait()
        for _ in range(100):
            with contextlib.suppress(BlockingIOError):
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            time.sleep(0.1)
    pytest.fail("the command holds its lock ten seconds after the end of what started it")


def test_a_command_that_takes_too_long_is_killed():
    done = shared_server().call("timeit", ["-n", "1", "-r", "1", "import time; time.sleep(60)"], timeout=0.5)
    assert (done.status, done.timed_out) == (-signal.SIGKILL, True)
    assert shared_server().call("timeit", ["-n", "1", "pass"]).stdout.startswith(b"1 loop")


def test_modules_of_pythonpath_are_found(tmp_path: Path):
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "own_module.py").write_text("print('found')")
    assert shell(tmp_path, "PYTHONPATH=lib python -", input="import own_module").stdout == "found\n"


def test_a_folder_and_stdin_are_given(tmp_path: Path):
    (tmp_path / "own.py").write_text("import sys; print(sys.stdin.read(), sys.path[0], file=sys.stderr)")
    done = shared_server().call("own", [], stdin="größer".encode(), cwd=tmp_path)
    assert (done.stdout, done.text) == (b"", f"größer {tmp_path}\n")
    done = shared_server().call(str(tmp_path / "own.py"), [], cwd=ROOT)
    assert done.text == f" {tmp_path}\n"
