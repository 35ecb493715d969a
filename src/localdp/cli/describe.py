"""`localdp describe`: what follows from a file of surveys."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from localdp.cli.options import Force, among
from localdp.cli.remote import check_installed

FORMS = ("notice", "page", "types")


def command(
    file: Annotated[Path, typer.Argument(help="The file of surveys, in TOML.")],
    form: Annotated[str, among(FORMS, "What to write: notice, page or types.", "--as")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The file to write; - is standard output.")] = Path("-"),
    force: Force = False,
) -> None:
    """Write what follows from a file of surveys.

    notice is a privacy notice in Markdown, page a page in HTML of what is
    asked, and types are types in TypeScript of what people may answer.

    Example: localdp describe surveys.toml --as types -o surveys.ts
    """
    check_installed()
    from localdp.cli.output import is_standard
    from localdp.formats.atomic_write import atomic_write, check_writable
    from localdp.reading import one_of
    from localdp.surveys import pages, read

    write = {"notice": pages.notice, "page": pages.page, "types": pages.types}[one_of(form, "--as", FORMS)]
    if is_standard(out):
        print(write(read(file)), end="")
        return
    check_writable(out, replace=force)
    text = write(read(file))
    with atomic_write(out, replace=force) as unfinished:
        unfinished.write_text(text, "utf-8")
    print(f"{out}: {form}")
