"""Run the real command `localdp`, as a user would."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

COMMAND = Path(sys.executable).parent / "localdp"


def localdp(*arguments, cwd, environment=None):
    """The finished process, with what it printed."""
    return subprocess.run(  # noqa: S603
        [COMMAND, *map(str, arguments)],
        cwd=cwd,
        env={**os.environ, **(environment or {})},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
