"""Run the real command `localdp`, as a user would."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

COMMAND = Path(sys.executable).parent / "localdp"


def localdp(*arguments, cwd, environment=None, given=""):
    """The finished process, with what it printed. `given` is what it reads from standard input."""
    done = subprocess.run(  # noqa: S603
        [COMMAND, *map(str, arguments)],
        cwd=cwd,
        env={**os.environ, **(environment or {})},
        capture_output=True,
        input=given.encode() if isinstance(given, str) else given,
        check=False,
        timeout=300,
    )
    shown = (stream.decode().replace("\r\n", "\n") for stream in (done.stdout, done.stderr))
    return subprocess.CompletedProcess(done.args, done.returncode, *shown)
