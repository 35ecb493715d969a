"""`localdp discover`: the most frequent values of a column, though nobody has listed them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from localdp.cli.options import EVERY_USER, Column, Force, Header, Json, TableFile, budget_of, numeric


def command(
    values: Annotated[
        Path,
        typer.Argument(
            help="A .csv, .parquet or .arrow file with one value for each user, or - for CSV on standard input."
        ),
    ],
    epsilon: Annotated[str, EVERY_USER],
    top: Annotated[str, numeric("How many values to find, at most 1,000.")] = "20",
    column: Column = None,
    header: Header = None,
    bits: Annotated[
        str | None, numeric("The values are whole numbers below 2^bits, such as 48 or 64, not text.")
    ] = None,
    most_bytes: Annotated[
        str | None, numeric("The longest text to find whole, in bytes of UTF-8, such as 64 for addresses.")
    ] = None,
    alphabet: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="All characters that the texts have, such as 0123456789abcdef."),
    ] = None,
    examples: Annotated[
        Path | None,
        typer.Option(help="A file with one public text a line, like those that are looked for. They shape the code."),
    ] = None,
    known: Annotated[
        Path | None,
        typer.Option(help="A file with one public value a line, such as a dictionary; they need fewer users."),
    ] = None,
    rounds: Annotated[str | None, numeric("The number of rounds; chosen by the expected error without.")] = None,
    out: TableFile = None,
    json: Json = False,
    force: Force = False,
) -> None:
    """Find the most frequent values that nobody listed, such as words or keys.

    Every row is one user. Each is drawn into one group, and makes one private
    report in the round of that group, with secure randomness.

    Example: localdp discover searches.csv --epsilon 2 --top 20
    """
    from localdp import files
    from localdp.cli.output import check_inputs, check_outputs, progress, show, write
    from localdp.discovery import discover
    from localdp.reading import whole_number

    budget = budget_of(epsilon)
    options: dict[str, Any] = {
        "top": whole_number(top, "--top"),
        "bits": whole_number(bits, "--bits"),
        "most_bytes": whole_number(most_bytes, "--most-bytes"),
        "rounds": whole_number(rounds, "--rounds"),
        "alphabet": alphabet,
    }
    files.format_of(values)
    check_inputs(*(path for path in (values, examples, known) if path is not None))
    if examples is not None:
        options["examples"] = _lines(examples)
    if known is not None:
        options["known"] = _lines(known) if bits is None else _numbers(list(_lines(known)))
    check_outputs(force, out)
    with progress("values") as update:
        read = files.column_values(values, column, header=header, progress=update)
    listed = _texts(read) if bits is None else _numbers(read)
    with progress("rounds") as update:
        found = discover(listed, epsilon=budget, progress=update, **options)
    if out is not None:
        write(found.table().with_notes(found.notes), out)
    show(found.table(), json, found.notes, out)


def _lines(path: Path) -> list[str]:
    """The lines of a text file, without empty ones."""
    from localdp.errors import DataFileError

    try:
        return [line for line in path.read_text("utf-8").splitlines() if line]
    except (OSError, UnicodeDecodeError) as error:
        raise DataFileError(f"{path} cannot be read as text in UTF-8: {error}") from None


def _texts(read: list[object]) -> list[str | None]:
    """The values as text; empty cells are missing values, and take part without being found."""
    return [None if value is None or value == "" else str(value) for value in read]


def _numbers(read: list[object]) -> list[int | None]:
    """The values as whole numbers; empty cells are missing values."""
    from localdp.errors import DataFileError

    try:
        return [None if value is None or value == "" else int(str(value)) for value in read]
    except ValueError:
        raise DataFileError("with --bits, every value is a whole number, and one of them is not") from None
