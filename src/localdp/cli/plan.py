"""`localdp plan`: write the plan, which says which items there are and how reports are protected."""

from __future__ import annotations

from pathlib import Path
from textwrap import fill
from typing import Annotated

import typer

from localdp.cli.options import Column, Force


def command(
    items: Annotated[
        Path | None,
        typer.Argument(
            help="A .csv, .parquet or .arrow file with the items, or a .txt file with one item on each line."
        ),
    ] = None,
    size: Annotated[
        int | None, typer.Option(help="Instead of a file: the number of items, which are then 0, 1, 2 and so on.")
    ] = None,
    epsilon: Annotated[
        float, typer.Option("--epsilon", "-e", help="The privacy budget of one report, in (0, 16].")
    ] = 1.0,
    mechanism: Annotated[
        str, typer.Option("--mechanism", "-m", help="auto, grr, sue, oue, ss, olh, blh, llh or hr.")
    ] = "auto",
    other: Annotated[
        str | None, typer.Option(help="A catch-all item, which stands for every value that is not listed.")
    ] = None,
    column: Column = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="The plan file to write.")] = Path("plan.json"),
    force: Force = False,
) -> None:
    """Write a plan: the items that people may hold, the mechanism and the privacy budget.

    The plan is public, and so are its items: take them from a catalogue, not from
    people's data. With --other, a value that is not listed counts as that item;
    without it, nobody whose value is missing can answer.

    Example: localdp plan items.csv --other "something else" -o plan.json
    """
    from localdp.cli.output import WIDTH
    from localdp.errors import InvalidInputError
    from localdp.formats.atomic_write import atomic_write
    from localdp.plan import Plan

    if (items is None) == (size is None):
        raise InvalidInputError("a plan needs either a file with the items or --size: give exactly one of them")
    if size is not None and column is not None:
        raise InvalidInputError(
            "--column names a column of the file with the items, and with --size there is no file: leave out --column"
        )
    if size is not None:
        plan = Plan(size, mechanism, epsilon, other=_number(other))
    else:
        plan = Plan(_items(items, column), mechanism, epsilon, other=other)  # type: ignore[arg-type]
    with atomic_write(out, replace=force) as unfinished:
        unfinished.write_text(plan.to_json() + "\n", "utf-8")
    made = plan.mechanism
    typer.echo(f"{out}: {plan.domain.size:,} items, {made.name}, epsilon {made.epsilon:.6g}")
    typer.echo(fill(f"{plan.why}.", WIDTH))
    typer.echo(f"fingerprint {plan.fingerprint}")


def _number(other: str | None) -> int | None:
    from localdp.errors import InvalidInputError

    if other is None:
        return None
    if not other.isdecimal():
        raise InvalidInputError(f"with --size the items are numbers, so --other must be one of them, not {other!r:.40}")
    return int(other)


def _items(path: Path, column: str | None) -> list[str]:
    from localdp import files
    from localdp.cli.output import check_inputs, check_kind
    from localdp.errors import DataFileError

    check_inputs(path)
    check_kind(path, ".txt")
    if path.suffix.lower() != ".txt":
        return files.distinct(path, column)  # type: ignore[return-value]
    try:
        lines = path.read_text("utf-8-sig").split("\n")
    except UnicodeDecodeError:
        raise DataFileError(f"{path} is not a text file in UTF-8: save it as UTF-8 and try again") from None
    return list(dict.fromkeys(line.strip() for line in lines if line.strip()))
