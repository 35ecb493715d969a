"""`localdp bench`: measure the speed on this machine, beside other libraries and the limits of the machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from localdp.cli.options import Force


def command(
    quick: Annotated[bool, typer.Option("--quick", help="Measure less, in about a minute.")] = False,
    peers: Annotated[
        Path | None, typer.Option(help="The folder to install the other libraries in, once (~/.cache/localdp/peers).")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write the page to this Markdown file instead of printing it.")
    ] = None,
    force: Force = False,
) -> None:
    """Measure the speed of localdp, two other libraries and the machine, in about ten minutes.

    Example: localdp bench --quick
    """
    import time

    from localdp.bench import bench
    from localdp.formats.atomic_write import atomic_write, check_writable

    if out is not None:
        check_writable(out, replace=force)
    folder = Path.home() / ".cache" / "localdp" / "peers" if peers is None else peers
    page = bench(folder.absolute(), quick, lambda what: typer.echo(f"{time.strftime('%H:%M:%S')} {what}", err=True))
    if out is None:
        typer.echo(page)
        return
    with atomic_write(out) as unfinished:
        unfinished.write_text(page, "utf-8")
    typer.echo(f"wrote {out}")
