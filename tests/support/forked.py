"""Run many commands without waiting for torch and fairseq each time: one process imports them, each command is a fork.

    with ForkServer() as server:
        done = server.call("fairseq_rope.tools.translate", ["data-bin", "--path", "model.pt"], stdin=b"a line\\n")

A command is a process of its own, with its own arguments, environment, standard streams, folder and end; its code is
`__main__`'s, as with `python -m`. What it starts with its own interpreter, or as processes of multiprocessing, is a
fork, too. Only what happens while libraries are imported is not tested by it: the quickstart, the fault harness's kills
and installations start a new Python.
"""

import contextlib
import functools
import os
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tests.support import ROOT, fork_protocol

# bytes of memory of its own that a command may ask for: damaged sizes must not take the machine with them
MEMORY = 6 << 30
# what takes long to start, of all that `python` is called with
FORKED = (
    r"^-($|\ |m\ (benchmarks|fairseq_rope)\.|m\ fairseq_rope_data(\ |\.(check_corpus|tokenize)\ )"
    r"|(B\ -)?c\ from\ multiprocessing\.spawn)"
)
PROGRAMS = ("python", "fairseq-train", "fairseq-preprocess", "fairseq-generate", "fairseq-validate", "fairseq-rope")


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
    """The process that has imported torch and fairseq, and the plugin if asked."""

    def __init__(self, *, plugin: bool = False) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="forked-")
        self._socket = os.path.join(self._folder.name, "socket")
        self._lock, self._is_ready = threading.Lock(), False
        self._write_programs(Path(fork_protocol.programs(self._socket)))
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.fork_server", self._socket, *(["--plugin"] if plugin else [])],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=ROOT,
            env=_environment(PYTHONPATH=os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])),
        )

    def __enter__(self) -> "ForkServer":
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()
        self._folder.cleanup()

    def call(
        self,
        module: str,
        argv: Sequence[str | Path],
        *,
        stdin: bytes = b"",
        cwd: Path = ROOT,
        timeout: float = 120,
        **settings: str,
    ) -> Done:
        """Run `python -m MODULE`, or `python FILE.py`, and wait; it is killed after `timeout` seconds.

        `settings` are environment variables.
        """
        words = [*(["-m"] if not module.endswith(".py") else []), module, *map(str, argv)]
        request = {"program": "python", "argv": words, "cwd": str(cwd), "environment": _environment(**settings)}
        with contextlib.ExitStack() as stack:
            streams = [stack.enter_context(tempfile.TemporaryFile()) for _ in range(3)]
            streams[0].write(stdin)
            streams[0].seek(0)
            connection = stack.enter_context(self._connected())
            files = {number: stream.fileno() for number, stream in enumerate(streams)}
            fork_protocol.send(connection, {**request, "memory": MEMORY}, files)
            connection.settimeout(timeout)
            try:
                status, timed_out = fork_protocol.receive_status(connection), False
            except TimeoutError:
                connection.settimeout(None)
                connection.sendall(bytes([signal.SIGKILL]))
                status, timed_out = fork_protocol.receive_status(connection), True
            for stream in streams:
                stream.seek(0)
            _, stdout, stderr = (stream.read() for stream in streams)
        return Done(status, stdout, stderr, timed_out)

    def programs(self) -> Path:
        """Return a folder for the PATH in which `python` and the commands of fairseq are forks of this server."""
        with self._connected():
            return Path(fork_protocol.programs(self._socket))

    def _write_programs(self, folder: Path) -> None:
        folder.mkdir()
        for name in PROGRAMS:
            client = shlex.join([sys.executable, "-SE", str(fork_protocol.__file__), self._socket, name])
            # what starts at once needs no fork
            other = f'[[ "$*" =~ {FORKED} ]] || exec {shlex.quote(sys.executable)} "$@"\n'
            (folder / name).write_text(f'#!/bin/bash\n{other if name == "python" else ""}exec {client} "$@"\n')
            (folder / name).chmod(0o755)

    def _connected(self) -> socket.socket:
        """Return a connection, once the server listens."""
        with self._lock:
            if not self._is_ready:
                assert self._process.stdout is not None
                if self._process.stdout.readline() != b"ready\n":
                    raise RuntimeError(f"the server of forks ended with status {self._process.wait()}")
                self._is_ready = True
        return fork_protocol.connect(self._socket)


def _environment(**settings: str) -> dict[str, str]:
    # how many threads there are was settled when the server started
    return {**os.environ, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": "", **settings}


@functools.cache
def shared_server() -> ForkServer:
    """Return this process's own server, without the plugin: it ends with the process."""
    return ForkServer()


def run(module: str, *options: object, text: str = "") -> "subprocess.CompletedProcess[str]":
    """Run `python -m MODULE` as `subprocess.run` does, with text, by this process's own server."""
    done = shared_server().call(module, [str(option) for option in options], stdin=text.encode(), timeout=600)
    assert not done.timed_out, done.text[-3000:]
    return subprocess.CompletedProcess([module, *options], done.status, done.stdout.decode(), done.text)
