"""`localdp bench`: how fast it is here, beside other libraries and the machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from localdp.cli.options import Force


def command(
    quick: Annotated[bool, typer.Option("--quick", help="About a minute: fewer cases and repetitions.")] = False,
    peers: Annotated[
        Path | None, typer.Option(help="Where the other libraries are installed, once (~/.cache/localdp/peers).")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Write the page, in Markdown, to a file.")] = None,
    force: Force = False,
) -> None:
    """Measure localdp, two other libraries and the machine in one run, in about ten minutes.

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
