"""Run commands of `localdp` in forks of one process that has imported everything: most of a short command is imports.

Each command still has a process of its own, so that nothing it does is seen by the next one. The process that is forked
has run nothing but imports; it ends when the socket is closed, also if the tests end early.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import json
import os
import pkgutil
import socket
import sys
import traceback

PACKAGES = (
    "matplotlib.backends.backend_agg",
    "matplotlib.figure",
    "pyarrow.feather",
    "pyarrow.parquet",
    "rich.console",
)
NOT_BEFORE_IT_PAYS = "localdp.kernels.compiled"  # a command decides whether to load Numba


def import_everything():
    import localdp

    for module in pkgutil.walk_packages(localdp.__path__, "localdp."):
        if not module.name.startswith(NOT_BEFORE_IT_PAYS) and not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    for name in PACKAGES:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)


def run(request, streams):
    """Become the command, with its folder, environment, arguments and standard streams, and end with its exit code.

    What was imported is not cleared away one object after another, as Python does at its end: that takes longer than
    most commands.
    """
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.argv = request["arguments"]
    from localdp.cli import main

    try:
        main()
        code = 0
    except SystemExit as end:
        code = end.code or 0
    except BaseException:
        traceback.print_exc()
        code = 1
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(code)


def serve(requests):
    """Fork for each request, and answer with the exit code of the fork."""
    while True:
        message, streams, _, _ = socket.recv_fds(requests, 1 << 16, 3)
        while message and not message.endswith(b"\n"):
            message += requests.recv(1 << 16)
        if not message:
            return
        process = os.fork()
        if process == 0:
            requests.close()
            run(json.loads(message), streams)
        for stream in streams:
            os.close(stream)
        status = os.waitpid(process, 0)[1]
        requests.send(json.dumps(os.waitstatus_to_exitcode(status)).encode())


if __name__ == "__main__":
    import_everything()
    gc.freeze()  # so that forks share the memory of what was imported
    with socket.socket(fileno=int(sys.argv[1])) as connection:
        serve(connection)
