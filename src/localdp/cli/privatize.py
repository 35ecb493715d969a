"""`localdp privatize`: make a private report of every value in a column."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from localdp.cli import questionnaires
from localdp.cli.options import Column, Force, Header, PlanFile, among

if TYPE_CHECKING:
    from localdp.held import Held
    from localdp.plan import Plan, Reports

UNKNOWN = ("fail", "drop")
HARDLY_OF_USE = 3
"""The exit code if nearly all values were dropped."""


def command(
    values: Annotated[
        Path,
        typer.Argument(
            help="A .csv, .parquet or .arrow file with one value for each user, or - for CSV on standard input. For "
            "plans with sets also a .dat file, with the items of one user on each line. For questionnaires, a file "
            "with a column for each question."
        ),
    ],
    plan: PlanFile,
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            "-o",
            help="The file of reports to write: .arrow, .parquet or .csv, or - for standard output; .ldp for "
            "questionnaires.",
        ),
    ],
    column: Column = None,
    header: Header = None,
    unknown: Annotated[
        str, among(UNKNOWN, "Values that are not in the plan: fail, or drop and count them (which tells who they are).")
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
    from localdp.cli.output import check_inputs, check_no_columns, is_standard, note, progress, read_plan, say, shown
    from localdp.errors import EmptyError, InvalidInputError, UnknownItemError
    from localdp.reading import one_of

    survey = questionnaires.form_in(plan)
    if survey is not None:
        if column is not None or unknown != "fail" or separator != ";":
            raise InvalidInputError(
                "a questionnaire reads the columns that are named like its questions, and has a cell for no answer: "
                "leave out --column, --unknown and --separator"
            )
        questionnaires.privatize(values, survey, out, header, force)
        return
    drop = one_of(unknown, "--unknown", UNKNOWN) == "drop"
    files.format_of(out).check_installed()
    check_no_columns(values, column, header)
    check_inputs(values)
    shared = read_plan(plan)
    if not is_standard(out) and out.resolve() == values.resolve():
        raise InvalidInputError("the reports cannot replace the file with the values: choose another output file")
    made = people = items = elsewhere = 0
    with progress("values") as update, files.reports_writer(out, shared, replace=force) as write:
        pieces = files.answers(
            values,
            column,
            shared.question,
            header=header,
            separator=separator,
            known_only=not drop,
            progress=update,
        )
        try:
            for piece in pieces:
                people, items = people + piece.people_left_out, items + piece.items_left_out
                elsewhere += _in_catch_all(piece.held, shared)
                for reports in _reports(piece.held, shared):
                    made += len(reports)
                    write(reports)
        except UnknownItemError as error:
            raise UnknownItemError(
                f"{error}: correct the file, make the plan with a catch-all (localdp plan --other), or leave out such "
                "values with --unknown drop, which tells who has them"
            ) from None
        if not made:
            raise EmptyError(
                f"no value in {values} is an item of the plan: check the plan and the column"
                if people
                else f"there are no values in {values}"
            )
    say(f"{shown(out)}: {made:,} reports, epsilon {shared.mechanism.epsilon:.6g}", out)
    if items:
        few = "1 item was" if items == 1 else f"{items:,} items were"
        note(f"{few} left out of the sets, because the plan does not list {'it' if items == 1 else 'them'}.")
    if questionnaires.too_many(elsewhere, made):
        note(
            f"WARNING: nearly all values count as {shared.domain.other!r:.40}, because the plan does not list them. "
            "This is probably the wrong column or the wrong plan."
        )
    if people:
        _say_dropped(people, made + people)


def _in_catch_all(held: Held, plan: Plan) -> int:
    """How many of these users hold the catch-all of the plan."""
    if plan.domain.other is None or plan.question.layout == "sets":
        return 0
    return int((held.items == plan.domain.other_index).sum())


def _reports(held: Held, plan: Plan) -> Iterator[Reports]:
    """The reports of these users, in pieces that fit into memory."""
    import numpy as np

    from localdp import files

    step = files.piece_rows(plan)
    for start in range(0, held.users, step):
        part = held if held.users <= step else held.take(np.arange(start, min(start + step, held.users)))
        yield plan.privatize_held(part)


def _say_dropped(dropped: int, total: int) -> None:
    """Say that values were dropped and what that tells; end the command with a code if nearly all were."""
    from localdp.cli.output import note

    one = dropped == 1
    note(
        f"{dropped:,} of {total:,} values {'was' if one else 'were'} dropped, because the plan does not list "
        f"{'it' if one else 'them'}. Whoever sees that a user sent no report knows that their value is not in the "
        "plan, whatever epsilon is. A plan with a catch-all (localdp plan --other) hides that too."
    )
    if dropped > questionnaires.NEARLY_ALL * total:
        note("WARNING: nearly all values were dropped. This is probably the wrong column or the wrong plan.")
        raise typer.Exit(HARDLY_OF_USE)
