"""`localdp privatize`: make a private report of every value in a column."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from localdp.cli.options import Column, Force, Header, PlanFile
from localdp.cli.values import completion

UNKNOWN = ("fail", "drop")
NEARLY_ALL = 0.9
"""If more than this share of the values is dropped, the exit code is `HARDLY_OF_USE`."""
HARDLY_OF_USE = 3


def command(
    values: Annotated[
        Path,
        typer.Argument(
            help="A .csv, .parquet or .arrow file with one value for each user, or - for CSV on standard input."
        ),
    ],
    plan: PlanFile,
    out: Annotated[
        Path,
        typer.Option(
            "--out", "-o", help="The file of reports to write: .arrow, .parquet or .csv, or - for standard output."
        ),
    ],
    column: Column = None,
    header: Header = None,
    unknown: Annotated[
        str,
        typer.Option(
            help="Values that are not in the plan: fail, or drop and count them (which tells who they are).",
            autocompletion=completion(UNKNOWN),
        ),
    ] = "fail",
    force: Force = False,
) -> None:
    """Make a private report of every value, with secure randomness.

    Each run spends epsilon: somebody with two reports about the same thing has
    lost twice as much. So run it once for each person, and keep the reports.

    Example: localdp privatize sales.csv --plan plan.json -o reports.parquet
    """
    from localdp import files
    from localdp.cli.output import check_inputs, is_standard, progress, read_plan, say, shown
    from localdp.cli.values import one_of
    from localdp.errors import EmptyError, InvalidInputError, UnknownItemError

    drop = one_of(unknown, "--unknown", UNKNOWN) == "drop"
    files.format_of(values), files.format_of(out).check_installed()
    check_inputs(values)
    shared = read_plan(plan)
    if not is_standard(out) and out.resolve() == values.resolve():
        raise InvalidInputError("the reports cannot replace the file with the values: choose another output file")
    made = dropped = 0
    step = files.piece_rows(shared)
    with progress("values") as update, files.reports_writer(out, shared, replace=force) as write:
        read = files.indices(values, column, shared.domain, header=header, known_only=not drop, progress=update)
        try:
            for indices in read:
                known = indices[indices != files.UNKNOWN]
                dropped += indices.size - known.size
                made += known.size
                for start in range(0, known.size, step):
                    write(shared.privatize_indices(known[start : start + step]))
        except UnknownItemError as error:
            raise UnknownItemError(
                f"{error}: make the plan with a catch-all (localdp plan --other), or leave out such rows with "
                "--unknown drop, which tells who they are"
            ) from None
        if not made:
            raise EmptyError(
                f"no value in {values} is an item of the plan: check the plan and the column"
                if dropped
                else f"there are no values in {values}"
            )
    say(f"{shown(out)}: {made:,} reports, epsilon {shared.mechanism.epsilon:.6g}", out)
    if dropped:
        _say_dropped(dropped, made + dropped)


def _say_dropped(dropped: int, total: int) -> None:
    """Say that values were dropped and what that tells; end the command with a code if nearly all were."""
    from localdp.cli.output import note

    one = dropped == 1
    note(
        f"{dropped:,} of {total:,} values {'was' if one else 'were'} dropped, because the plan does not list "
        f"{'it' if one else 'them'}. Whoever sees that a user sent no report knows that their value is not in the "
        "plan, whatever epsilon is. A plan with a catch-all (localdp plan --other) hides that too."
    )
    if dropped > NEARLY_ALL * total:
        note("WARNING: nearly all values were dropped. This is probably the wrong column or the wrong plan.")
        raise typer.Exit(HARDLY_OF_USE)
