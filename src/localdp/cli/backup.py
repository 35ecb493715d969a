"""`localdp backup`: a copy of a collector's database, while it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from localdp.cli.options import Database, Force
from localdp.cli.remote import check_installed


def command(
    out: Annotated[Path, typer.Argument(help="The file to write.")],
    db: Database = "localdp.db",
    force: Force = False,
) -> None:
    """Copy the database of a collector, which may go on meanwhile.

    Everything that was acknowledged before is in the copy, and the copy is
    checked. It holds all raw reports, and no tokens, only hashes of them.

    Example: localdp backup collector-monday.db --db collector.db
    """
    check_installed()
    from localdp.collector.storage.backups import backup

    uploads = backup(db, out, replace=force)
    print(f"{out}: {uploads:,} uploads")
