"""Run many commands without waiting for torch and fairseq each time: one process imports them, each command is a fork.

    with ForkServer() as server:
        done = server.call("fairseq_rope.tools.translate", ["data-bin", "--path", "model.pt"], stdin=b"a line\\n")

A command is a process of its own, with its own arguments, environment, standard streams, folder and end; its code is
`__main__`'s, as with `python -m`. Only what happens while libraries are imported is not tested by it; what recipes and
tests of installations start is a new Python.
"""

import functools
import json
import os
import resource
import runpy
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from tests.support import ROOT

# bytes of memory of its own that a command may ask for: damaged sizes must not take the machine with them
MEMORY = 6 << 30


class Done(NamedTuple):
    """How a command ended: its exit status, or the negative number of the signal that ended it; and what it printed."""

    status: int
    stdout: bytes
    stderr: bytes
    timed_out: bool

    @property
    def text(self) -> str:
        """What it said on stderr."""
        return self.stderr.decode(errors="replace")


class ForkServer:
    """The process that has imported torch and fairseq, and the plugin if asked; one command at a time."""

    def __init__(self, *, plugin: bool = False) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="forked-")
        self._lock = threading.Lock()
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
        environment["PYTHONPATH"] = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.forked", *(["--plugin"] if plugin else [])],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=ROOT,
            env=environment,
            text=True,
        )

    def __enter__(self) -> "ForkServer":
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()
        self._folder.cleanup()

    def call(
        self, module: str, argv: Sequence[str | Path], *, stdin: bytes = b"", cwd: Path = ROOT, timeout: float = 120
    ) -> Done:
        """Run `python -m MODULE`, or `python FILE.py`, and wait; it is killed after `timeout` seconds."""
        files = {name: os.path.join(self._folder.name, name) for name in ("stdin", "stdout", "stderr")}
        # how many threads there are was settled when the server started
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
        request = {"module": module, "argv": [str(word) for word in argv], "cwd": str(cwd), "timeout": timeout}
        with self._lock:
            Path(files["stdin"]).write_bytes(stdin)
            assert self._process.stdin is not None and self._process.stdout is not None
            print(json.dumps({**request, **files, "environment": environment}), file=self._process.stdin, flush=True)
            answer = self._process.stdout.readline()
            if not answer:
                raise RuntimeError(f"the server of forks ended with status {self._process.wait()}")
            printed = [Path(files[name]).read_bytes() for name in ("stdout", "stderr")]
        return Done(json.loads(answer)["status"], *printed, timed_out=json.loads(answer)["timed_out"])


@functools.cache
def shared_server() -> ForkServer:
    """Return this process's own server, without the plugin: it ends with the process."""
    return ForkServer()


def serve(*, plugin: bool) -> None:
    """Import what takes long, then fork for each request until stdin ends."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    _import_fairseq()
    if plugin:
        _import_plugin()
    for line in sys.stdin:
        request = json.loads(line)
        child = os.fork()
        if not child:
            _become(request)
        print(json.dumps(_wait(child, request["timeout"])), file=answers, flush=True)


def _import_fairseq() -> None:
    import sacrebleu  # noqa: F401


def _import_plugin() -> None:
    import fairseq.utils

    # fairseq remembers the folders of plugins by path, and takes a module that somebody else imported for a stranger
    fairseq.utils.import_user_module(Namespace(user_dir=str(ROOT / "fairseq_rope")))
    import fairseq_rope.inference.translator
    import fairseq_rope.scoring.report

    try:
        import ctranslate2  # noqa: F401

        import fairseq_rope.export.ctranslate2.writer  # noqa: F401
    except ImportError:  # it is optional
        pass


def _wait(child: int, timeout: float) -> dict[str, Any]:
    end = time.monotonic() + timeout
    while True:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            return {"status": os.waitstatus_to_exitcode(status), "timed_out": False}
        if time.monotonic() > end:
            os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return {"status": -signal.SIGKILL, "timed_out": True}
        time.sleep(0.005)


def _become(request: dict[str, Any]) -> NoReturn:
    """Be the command: never returns."""
    status = 1
    try:
        os.setsid()
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        for number, name in enumerate(("stdin", "stdout", "stderr")):
            os.dup2(
                os.open(request[name], os.O_RDONLY if not number else os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number
            )
        # the buffers of the old streams are the server's
        sys.stdin, sys.stdout, sys.stderr = (open(number, "w" if number else "r") for number in range(3))  # noqa: SIM115
        os.chdir(request["cwd"])
        os.environ.clear()
        os.environ.update(request["environment"])
        status = _run(request["module"], request["argv"])
    finally:
        os._exit(status)


def _run(module: str, argv: list[str]) -> int:
    """Run the command's code and give its exit status, as Python would."""
    sys.argv = [module, *argv]
    status = 0
    try:
        if module.endswith(".py"):
            sys.path.insert(0, str(Path(module).parent))
            runpy.run_path(module, run_name="__main__")
        else:
            runpy.run_module(module, run_name="__main__", alter_sys=True)
    except SystemExit as end:
        if end.code is not None and not isinstance(end.code, int):
            print(end.code, file=sys.stderr)
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
        status = 1
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    return status & 0xFF


if __name__ == "__main__":
    serve(plugin="--plugin" in sys.argv)
