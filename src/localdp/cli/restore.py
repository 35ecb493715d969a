"""`localdp restore`: put a copy in the place of a collector's database."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from localdp.cli.options import Database, Force
from localdp.cli.remote import check_installed


def command(
    copy: Annotated[Path, typer.Argument(help="The file that `localdp backup` wrote.")],
    db: Database = "localdp.db",
    force: Force = False,
) -> None:
    """Put a copy in the place of the database of a collector that is stopped.

    The copy is checked first, and tables of an older version are brought up to
    date when the collector starts. What came after the copy was made is gone.

    Example: localdp restore collector-monday.db --db collector.db --force
    """
    check_installed()
    from localdp.collector.storage.backups import restore

    uploads = restore(copy, db, replace=force)
    print(f"{db}: {uploads:,} uploads")
