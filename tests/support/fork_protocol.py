"""How a command reaches the server of forks: its words and open files, then signals, then its status back.

Run as a script it is the client, a program that is found in the place of `python` or a console script:

    python -SE fork_protocol.py SOCKET PROGRAM ARGUMENT...

Without `site` and torch it starts in some 30 ms; it ends as the command ends.
"""

import fcntl
import json
import os
import signal
import socket
import struct
import sys

_SIZE = struct.Struct("!II")  # of the request in bytes, and how many files come with it
_STATUS = struct.Struct("!h")
_ABOVE = 512  # received files get numbers from here on


def programs(path):
    """Return the folder of the programs whose server listens at a path."""
    return os.path.join(os.path.dirname(path), "bin")


def connect(path):
    """Return a connection to the server that listens at a path."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.connect(path)
    return connection


def send(connection, request, files):
    """Send a request, a dict for JSON, and open files, number in the command -> number here."""
    text = json.dumps({**request, "files": [*files]}).encode()
    socket.send_fds(connection, [_SIZE.pack(len(text), len(files))], [*files.values()])
    connection.sendall(text)


def receive(connection):
    """Return the request, and its files, number in the command -> number here.

    Raises:
        ConnectionError: the client ended.
    """
    head, files, _, _ = socket.recv_fds(connection, _SIZE.size, 250)
    if len(head) < _SIZE.size:
        raise ConnectionError("the client ended")
    size, _ = _SIZE.unpack(head)
    text = b""
    while len(text) < size:
        if not (part := connection.recv(size - len(text))):
            raise ConnectionError("the client ended")
        text += part
    request = json.loads(text)
    moved = [fcntl.fcntl(file, fcntl.F_DUPFD_CLOEXEC, _ABOVE) for file in files]
    for file in files:
        os.close(file)
    return request, dict(zip(request["files"], moved, strict=True))


def status_message(status):
    """Return the bytes that say how a command ended: its status, or the negative number of a signal."""
    return _STATUS.pack(status)


def receive_status(connection):
    """Wait for the end of the command and return its status.

    Raises:
        ConnectionError: the server ended.
    """
    message = connection.recv(_STATUS.size)
    if len(message) < _STATUS.size:
        raise ConnectionError("the server of forks ended")
    return _STATUS.unpack(message)[0]


def main():
    """Be the command: send it with all open files, pass signals on, end as it ends."""
    path, program, *argv = sys.argv[1:]
    connection = connect(path)
    files = {}
    for name in os.listdir("/proc/self/fd"):
        number = int(name)
        if number != connection.fileno() and os.path.exists(f"/proc/self/fd/{number}"):
            files[number] = number
    request = {"program": program, "argv": argv, "cwd": os.getcwd(), "environment": dict(os.environ), "memory": 0}
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda received, _: connection.sendall(bytes([received])))
    send(connection, request, files)
    status = receive_status(connection)
    if status < 0:
        if -status != signal.SIGKILL:
            signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    os._exit(status)


if __name__ == "__main__":
    main()
