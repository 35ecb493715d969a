"""`localdp demo`: what the software does, on real data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def command(
    out: Annotated[Path, typer.Option("--out", "-o", help="The folder for the picture and the report.")] = Path(
        "localdp-demo"
    ),
) -> None:
    """See what the software does, on 908,576 real sales of a supermarket, in under half a minute.

    Example: localdp demo
    """
    from localdp.experiments.demo import run

    run(out)
