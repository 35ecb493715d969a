"""`localdp privatize`: make a private report of every value in a column."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from textwrap import fill
from typing import Annotated

import typer

from localdp.cli.options import Column, Force, PlanFile


class Unknown(StrEnum):
    """What to do with values that are not items of the plan."""

    fail = "fail"
    drop = "drop"


def command(
    values: Annotated[Path, typer.Argument(help="A .csv, .parquet or .arrow file with one value for each user.")],
    plan: PlanFile,
    out: Annotated[Path, typer.Option("--out", "-o", help="The file of reports to write: .arrow, .parquet or .csv.")],
    column: Column = None,
    unknown: Annotated[
        Unknown,
        typer.Option(help="Values that are not in the plan: fail, or drop and count them (which tells who they are)."),
    ] = Unknown.fail,
    force: Force = False,
) -> None:
    """Make a private report of every value, with secure randomness.

    Example: localdp privatize sales.csv --plan plan.json -o reports.parquet
    """
    from localdp import files
    from localdp.cli.output import WIDTH, check_inputs, progress, read_plan
    from localdp.errors import EmptyError, InvalidInputError, UnknownItemError

    check_inputs(values)
    shared = read_plan(plan)
    if out.resolve() == values.resolve():
        raise InvalidInputError("the reports cannot replace the file with the values: choose another output file")
    made = dropped = 0
    step = files.piece_rows(shared)
    with progress("values") as update, files.reports_writer(out, shared, replace=force) as write:
        for indices in files.indices(values, column, shared.domain, progress=update):
            strange = indices == files.UNKNOWN
            if strange.any() and unknown is Unknown.fail:
                row = made + int(strange.argmax()) + 1
                raise UnknownItemError(
                    f"row {row} of {values} is not an item of the plan: make the plan with a catch-all (localdp plan "
                    "--other), or leave out such rows with --unknown drop, which tells who they are"
                )
            known = indices[~strange]
            dropped += int(strange.sum())
            made += known.size
            for start in range(0, known.size, step):
                write(shared.privatize_indices(known[start : start + step]))
        if not made:
            raise EmptyError(f"no value in {values} is an item of the plan: check the plan and the column")
    typer.echo(f"{out}: {made:,} reports, epsilon {shared.mechanism.epsilon:.6g}")
    if dropped:
        one = dropped == 1
        sentence = (
            f"{dropped:,} value{' was' if one else 's were'} dropped, because the plan does not list "
            f"{'it' if one else 'them'}. Whoever sees that a user sent no report knows that their value is not in the "
            "plan, whatever epsilon is. A plan with a catch-all (localdp plan --other) hides that too."
        )
        typer.echo(fill(sentence, WIDTH))
