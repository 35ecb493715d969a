"""How long it takes to start: importing the package, and asking the command for help."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from localdp.bench.timing import interleaved, seconds


def startup(rounds: int) -> dict[str, float]:
    """Seconds of each way to start, by the line that a user would type; `localdp` only where it is installed."""
    commands = {
        f"python -c 'import {name}'": [sys.executable, "-c", f"import {name}"] for name in ("localdp", "localdp.client")
    }
    command = Path(sys.executable).parent / "localdp"
    if command.exists():
        commands["localdp --help"] = [str(command), "--help"]
    sides = {
        name: lambda line=line: {"seconds": seconds(lambda: subprocess.run(line, check=True, capture_output=True))}  # noqa: S603
        for name, line in commands.items()
    }
    return {name: timings["seconds"] for name, timings in interleaved(sides, rounds).items()}
