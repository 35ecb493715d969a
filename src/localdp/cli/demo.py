"""`localdp demo`: show what the software does, on real data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def command(
    out: Annotated[Path, typer.Option("--out", "-o", help="The folder for the web page and the picture.")] = Path(
        "localdp-demo"
    ),
) -> None:
    """Show what the software does, on 908,576 real sales of a supermarket, in under half a minute.

    Example: localdp demo
    """
    from localdp.experiments.demo import run

    run(out)
