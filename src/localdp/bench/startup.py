"""How long the first answer takes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from localdp.bench.timing import interleaved, seconds


def startup(times: int) -> dict[str, float]:
    """Seconds of importing the package and, where it is installed, of asking the command for help."""
    commands = {"python -c 'import localdp'": [sys.executable, "-c", "import localdp"]}
    command = Path(sys.executable).parent / "localdp"
    if command.exists():
        commands["localdp --help"] = [str(command), "--help"]
    sides = {
        name: lambda line=line: {"seconds": seconds(lambda: subprocess.run(line, check=True, capture_output=True))}  # noqa: S603
        for name, line in commands.items()
    }
    return {name: steps["seconds"] for name, steps in interleaved(sides, times).items()}
