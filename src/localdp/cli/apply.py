"""`localdp apply`: give a collector the surveys that a file describes."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from localdp.cli.remote import HERE, Token, Url, check_installed, collector_at


def command(
    file: Annotated[Path, typer.Argument(help="The file of surveys, in TOML.")],
    url: Url = HERE,
    token: Token = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would change, and change nothing.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before changing something.")] = False,
) -> None:
    """Give a collector the surveys of a file: show what would change, ask, and do it.

    Run twice, it changes nothing the second time. It creates, corrects, begins,
    closes and opens again; it deletes nothing, and leaves alone what the file
    does not name. The token has the scope admin. The extra collector must be
    installed.

    Example: localdp apply surveys.toml --url https://stats.example --dry-run
    """
    check_installed()
    from localdp.errors import InvalidInputError
    from localdp.surveys import changes, read
    from localdp.surveys.changes import strangers
    from localdp.table import printable

    wanted, collector = read(file), collector_at(url, token)
    there = collector.ask("GET", "/v1/studies")["studies"]
    found = changes(wanted, there)
    for change in found:
        typer.echo(printable(f"{change.survey}: {change.sentence}", 2_000))
    for name in strangers(wanted, there):
        typer.echo(f"{name}: not in the file, and left as it is")
    if not found:
        typer.echo(f"nothing to change: {len(wanted.surveys)} surveys are as the file says")
        return
    if dry_run:
        return
    if not yes:
        if not sys.stdin.isatty():
            raise InvalidInputError("nobody can be asked here whether to make these changes: give --yes or --dry-run")
        typer.confirm(f"Make these {len(found)} changes at {collector.url}?", abort=True)
    for change in found:
        change.make(collector)
    typer.echo("1 change made" if len(found) == 1 else f"{len(found)} changes made")
