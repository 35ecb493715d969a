"""Run the real command `localdp`, as a user would."""

from __future__ import annotations

import atexit
import json
import os
import socket
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

COMMAND = Path(sys.executable).parent / "localdp"
SERVER = Path(__file__).with_name("command_server.py")
SETTINGS = ("PYTHON", "LOCALDP")  # read when Python or the package starts, so they need a Python that starts with them


def localdp(*arguments, cwd, environment=None, given="", fresh=False):
    """The finished process, with what it printed. `given` is what it reads from standard input.

    If there is nothing to read, the command runs in a fork of a process that has imported everything, which saves most
    of the work. `fresh` starts Python anew instead.
    """
    variables = environment or {}
    fresh = fresh or bool(given) or any(name.startswith(SETTINGS) for name in variables) or not hasattr(os, "fork")
    start = _started if fresh else _forked
    line = [str(COMMAND), *map(str, arguments)]
    code, *streams = start(line, cwd, {**os.environ, **variables}, given.encode() if isinstance(given, str) else given)
    shown = (stream.decode().replace("\r\n", "\n") for stream in streams)
    return subprocess.CompletedProcess(line, code, *shown)


def _started(line, cwd, environment, given):
    done = subprocess.run(  # noqa: S603
        line, cwd=cwd, env=environment, capture_output=True, input=given, check=False, timeout=300
    )
    return done.returncode, done.stdout, done.stderr


def _forked(line, cwd, environment, _given):
    request = {"arguments": line, "cwd": str(cwd), "environment": environment}
    with Path(os.devnull).open("rb") as given, tempfile.TemporaryFile() as shown, tempfile.TemporaryFile() as said:
        server = _server()
        message = json.dumps(request).encode() + b"\n"
        sent = socket.send_fds(server, [message], [file.fileno() for file in (given, shown, said)])
        server.sendall(message[sent:])
        code = json.loads(server.recv(100))
        for file in (shown, said):
            file.seek(0)
        return code, shown.read(), said.read()


@cache
def _server():
    ours, theirs = socket.socketpair()
    with theirs:
        process = subprocess.Popen(  # noqa: S603
            [sys.executable, "-P", SERVER, str(theirs.fileno())],
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},  # a process that is forked has no threads
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            pass_fds=[theirs.fileno()],
            start_new_session=True,
        )
    ours.settimeout(300)
    atexit.register(process.wait)
    atexit.register(ours.close)  # runs first, and ends the process
    return ours
