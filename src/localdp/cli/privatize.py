"""`localdp privatize`: make a private report of every value in a column."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from localdp.cli.options import Column, Force, Header, PlanFile
from localdp.cli.values import completion

if TYPE_CHECKING:
    from localdp.plan import Plan, Reports
    from localdp.types import Progress

UNKNOWN = ("fail", "drop")
NEARLY_ALL = 0.9
"""If more than this share of the values is dropped, the exit code is `HARDLY_OF_USE`."""
HARDLY_OF_USE = 3


def command(
    values: Annotated[
        Path,
        typer.Argument(
            help="A .csv, .parquet or .arrow file with one value for each user, or - for CSV on standard input. For "
            "plans with sets also a .dat file, with the items of one user on each line."
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
    separator: Annotated[
        str, typer.Option(help="For plans with sets: what stands between the items of one cell.")
    ] = ";",
    force: Force = False,
) -> None:
    """Make a private report of every value, with secure randomness.

    Each run spends epsilon: somebody with two reports about the same thing has
    lost twice as much. So run it once for each person, and keep the reports.

    Example: localdp privatize sales.csv --plan plan.json -o reports.parquet
    """
    from localdp import files
    from localdp.cli.output import check_inputs, check_kind, is_standard, note, progress, read_plan, say, shown
    from localdp.cli.values import one_of
    from localdp.errors import EmptyError, InvalidInputError, UnknownItemError

    drop = one_of(unknown, "--unknown", UNKNOWN) == "drop"
    files.format_of(out).check_installed()
    transactions = values.suffix.lower() == files.TRANSACTIONS
    check_kind(values, files.TRANSACTIONS)
    check_inputs(values)
    shared = read_plan(plan)
    if transactions and not shared.mechanism.holds_sets:
        raise InvalidInputError(f"{values} holds sets of items, and in this plan every user holds one item")
    if transactions and (column is not None or header is not None):
        raise InvalidInputError(
            "a .dat file has the items of one user on each line, and no columns: leave out --column"
        )
    if not is_standard(out) and out.resolve() == values.resolve():
        raise InvalidInputError("the reports cannot replace the file with the values: choose another output file")
    made = dropped = 0
    with progress("values") as update, files.reports_writer(out, shared, replace=force) as write:
        if shared.mechanism.holds_sets:
            pieces = _reports_of_sets(values, column, header, separator, shared, drop, update)
        else:
            pieces = _reports_of_values(values, column, header, shared, drop, update)
        try:
            for reports, left_out in pieces:
                dropped += left_out
                if reports is not None:
                    made += len(reports)
                    write(reports)
        except UnknownItemError as error:
            rest = (
                "items with --unknown drop"
                if shared.mechanism.holds_sets
                else "rows with --unknown drop, which tells who they are"
            )
            raise UnknownItemError(
                f"{error}: make the plan with a catch-all (localdp plan --other), or leave out such {rest}"
            ) from None
        if not made:
            raise EmptyError(
                f"no value in {values} is an item of the plan: check the plan and the column"
                if dropped
                else f"there are no values in {values}"
            )
    say(f"{shown(out)}: {made:,} reports, epsilon {shared.mechanism.epsilon:.6g}", out)
    if dropped and shared.mechanism.holds_sets:
        few = "1 item was" if dropped == 1 else f"{dropped:,} items were"
        note(f"{few} left out of the sets, because the plan does not list {'it' if dropped == 1 else 'them'}.")
    elif dropped:
        _say_dropped(dropped, made + dropped)


def _reports_of_values(
    values: Path, column: str | None, header: bool | None, plan: Plan, drop: bool, update: Progress
) -> Iterator[tuple[Reports | None, int]]:
    """The reports of users with one value each, in pieces, and how many values were left out of each piece."""
    from localdp import files

    step = files.piece_rows(plan)
    for indices in files.indices(values, column, plan.domain, header=header, known_only=not drop, progress=update):
        known = indices[indices != files.UNKNOWN]
        yield None, indices.size - known.size
        for start in range(0, known.size, step):
            yield plan.privatize_indices(known[start : start + step]), 0


def _reports_of_sets(
    values: Path,
    column: str | None,
    header: bool | None,
    separator: str,
    plan: Plan,
    drop: bool,
    update: Progress,
) -> Iterator[tuple[Reports | None, int]]:
    """The reports of users with a set of items each, in pieces, and how many items were left out of each piece."""
    from localdp import files

    transactions = values.suffix.lower() == files.TRANSACTIONS
    listed = None if transactions else files.format_of(values).with_header(header)
    for sets, dropped in files.sets(
        values, column, plan.domain, listed, separator=separator, known_only=not drop, progress=update
    ):
        yield plan.privatize_sets(sets), dropped


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
