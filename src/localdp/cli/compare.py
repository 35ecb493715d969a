"""`localdp compare`: what changed between two surveys."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from localdp.cli.options import Force, Json, ReportsPerPerson, TableFile


def command(
    before: Annotated[Path, typer.Argument(help="The aggregate file of the first survey.")],
    after: Annotated[Path, typer.Argument(help="The aggregate file of the second survey, of other people.")],
    fdr: Annotated[
        str | None,
        typer.Option(metavar="SHARE", help="List only items that changed, at most this share of them by mistake."),
    ] = None,
    reports_per_person: ReportsPerPerson = "1",
    out: TableFile = None,
    json: Json = False,
    force: Force = False,
) -> None:
    """Show which shares changed between two surveys, the largest changes first.

    The shares are those of the populations that the people of each survey came
    from. Intervals hold for the items at the top as well, and the p-value says
    whether anything changed at all. Both surveys need the same items; their
    plans may differ.

    Example: localdp compare last-week.agg this-week.agg --fdr 0.1
    """
    from localdp.changes import difference
    from localdp.cli.output import check_outputs, give
    from localdp.errors import InvalidInputError
    from localdp.plan import Aggregate
    from localdp.reading import reports_range, share

    level = None if fdr is None else share(fdr, "--fdr")
    repeats = reports_range(reports_per_person, "--reports-per-person")
    check_outputs(force, out)
    surveys = [Aggregate.load(path) for path in (before, after)]
    if before.samefile(after):
        raise InvalidInputError("both sides are one file: the same reports show no difference")
    sides = surveys if repeats == (1, 1) else [one.estimate(reports_per_person=repeats) for one in surveys]
    change = difference(*sides)
    listed = change if level is None else change.changed(fdr=level)
    give(listed.table(), json, tuple(dict.fromkeys((*listed.notes, *change.notes))), out)
