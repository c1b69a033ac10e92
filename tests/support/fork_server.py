"""The server of `forked`: it imports what takes seconds, then each command is a fork of it.

    python -m tests.support.fork_server SOCKET [--plugin]

It listens at SOCKET, says `ready`, and ends with its stdin. A command is sent with `fork_protocol`: its fork has the
client's open files, folder and environment and runs as `python` or a console script would. What the client sends then
are signals for it; where the client is gone, the command is killed.
"""

import atexit
import contextlib
import functools
import gc
import importlib.metadata
import multiprocessing.spawn
import os
import resource
import runpy
import select
import signal
import socket
import sys
import threading
import traceback
import warnings
import weakref
from argparse import Namespace
from pathlib import Path
from typing import Any, NoReturn

from tests.support import ROOT
from tests.support.fork_protocol import programs, receive, status_message


def serve(path: str, *, plugin: bool) -> None:
    """Import, then fork for each connection until stdin ends."""
    scripts = {each.name: each for each in importlib.metadata.entry_points(group="console_scripts")}
    _load_libraries()
    if plugin:
        _import_plugin()
    # of those that a command starts
    sys.executable = os.path.join(programs(path), "python")
    multiprocessing.spawn.set_executable(sys.executable)
    commands: dict[int, tuple[int, socket.socket]] = {}  # of those at work: pidfd -> process and client
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(path)
        listener.listen(64)
        gc.freeze()  # a collection would copy all that forks share
        print("ready", flush=True)
        while True:
            clients = {client: child for child, client in commands.values()}
            ready = select.select([listener, sys.stdin, *commands, *clients], [], [])[0]
            if sys.stdin in ready:
                break
            for ended in [each for each in ready if each in commands]:
                _tell_status(*commands.pop(ended))
                os.close(ended)
            for client in [each for each in ready if each in clients]:
                _pass_signals(client, clients[client])
            if listener in ready:
                _begin(listener, commands, scripts)
    for child, _ in commands.values():
        _signal(child, signal.SIGKILL)


def _load_libraries() -> None:
    """Load all that takes long, and nothing of fairseq_cli, which opens its log as it is imported."""
    import fairseq.sequence_generator  # noqa: F401
    import sacrebleu  # noqa: F401
    import sacremoses  # noqa: F401
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    # the model that check_corpus asks
    LanguageIdentifier.from_model_file = functools.cache(LanguageIdentifier.from_model_file)
    LanguageIdentifier.from_model_file(MODEL_FILE)
    # what was imported here is not a command's to tidy up
    for finalizer in weakref.finalize._registry:
        finalizer.atexit = False


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


def _begin(listener: socket.socket, commands: dict[int, tuple[int, socket.socket]], scripts: dict[str, Any]) -> None:
    """Fork the command of the next client."""
    client, _ = listener.accept()
    try:
        request, files = receive(client)
    except ConnectionError:
        client.close()
        return
    child = os.fork()
    if not child:
        for each in (listener, client, *(other for _, other in commands.values())):
            each.close()
        _run(request, files, scripts)
    for file in files.values():
        os.close(file)
    commands[os.pidfd_open(child)] = child, client


def _tell_status(child: int, client: socket.socket) -> None:
    """Send the status of a command that has ended."""
    _, status = os.waitpid(child, 0)
    with contextlib.suppress(OSError), client:  # the client may be gone
        client.sendall(status_message(os.waitstatus_to_exitcode(status)))


def _pass_signals(client: socket.socket, child: int) -> None:
    """Give a command the signals that its client sends, or kill it where that is gone."""
    if client.fileno() < 0:  # the command has ended
        return
    for number in client.recv(64) or bytes([signal.SIGKILL]):
        _signal(child, number)


def _signal(child: int, number: int) -> None:
    try:
        os.killpg(child, number)
    except ProcessLookupError:  # it is no group yet
        os.kill(child, number)


def _run(request: dict[str, Any], files: dict[int, int], scripts: dict[str, Any]) -> NoReturn:
    """Be the command, to its end."""
    os.setsid()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if request["memory"]:
        resource.setrlimit(resource.RLIMIT_DATA, (request["memory"],) * 2)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for number, file in files.items():
        os.dup2(file, number)  # as they are received they are above all numbers that a client has
        os.close(file)
    # the buffers of the old streams are the server's
    sys.stdin, sys.stdout = open(0), open(1, "w")  # noqa: SIM115
    sys.stderr = open(2, "w", buffering=1, errors="backslashreplace")  # noqa: SIM115
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.path[:0] = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    if filters := os.environ.get("PYTHONWARNINGS"):
        warnings._processoptions(filters.split(","))
    status = 0
    try:
        _as_python(request["program"], request["argv"], scripts)
    except SystemExit as end:
        if end.code is not None and not isinstance(end.code, int):
            print(end.code, file=sys.stderr)
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
        status = 1
    # as Python ends, but for the objects of torch and fairseq, which it takes a second to destroy
    threading._shutdown()
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            status = status or 120
    os._exit(status & 0xFF)


def _as_python(program: str, argv: list[str], scripts: dict[str, Any]) -> None:
    """Run what `PROGRAM ARGV...` names, as Python would."""
    if program in scripts:
        sys.argv = [program, *argv]
        sys.exit(scripts[program].load()())
    elif argv[0] == "-m":
        sys.argv = argv[1:]
        sys.path.insert(0, os.getcwd())
        runpy.run_module(argv[1], run_name="__main__", alter_sys=True)
    elif "-c" in argv[:2]:  # -B before it, as multiprocessing hands its own flags on
        code, sys.argv = argv[argv.index("-c") + 1], argv[argv.index("-c") :]
        sys.argv.remove(code)
        exec(compile(code, "<string>", "exec"), {"__name__": "__main__"})
    elif argv[0] == "-":
        sys.argv = argv
        sys.path.insert(0, "")
        exec(compile(sys.stdin.read(), "<stdin>", "exec"), {"__name__": "__main__"})
    else:
        sys.argv = argv
        sys.path.insert(0, str(Path(argv[0]).parent))
        runpy.run_path(argv[0], run_name="__main__")


if __name__ == "__main__":
    serve(sys.argv[1], plugin="--plugin" in sys.argv)
