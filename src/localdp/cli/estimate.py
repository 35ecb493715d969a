"""`localdp estimate`: raw and calibrated frequencies, with intervals."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from localdp.cli import questionnaires
from localdp.cli.options import (
    METHODS,
    PRIORS,
    AggregateFile,
    Force,
    Json,
    Plot,
    PriorName,
    ReportsPerPerson,
    TableFile,
    Top,
    among,
    numeric,
)

if TYPE_CHECKING:
    from localdp.structures import Structure


def command(
    aggregate: AggregateFile,
    prior: PriorName = "auto",
    method: Annotated[
        str | None, among(METHODS, "How to fit one of the paper's priors, such as power-law: mean-variance or mle.")
    ] = None,
    ordered: Annotated[
        bool, typer.Option("--ordered", help="The items are in an order: ages, prices, ratings.")
    ] = False,
    crossed: Annotated[
        str | None,
        typer.Option(metavar="ROWSxCOLUMNS", help="The items are the cells of a table, row after row: 5x8, or 5x8x3."),
    ] = None,
    like: Annotated[
        Path | None,
        typer.Option(help="An earlier aggregate file, of other people and the same items, to begin from."),
    ] = None,
    table_of: Annotated[
        str | None,
        typer.Option(
            "--table", metavar="QUESTIONS", help="Of a questionnaire: one question, or two that were crossed: diet,age."
        ),
    ] = None,
    reports_per_person: ReportsPerPerson = "1",
    level: Annotated[
        str, numeric("The probability with which an interval of the table holds the true frequency.")
    ] = "0.9",
    summary: Annotated[
        bool,
        typer.Option("--summary", help="Of a scale: the mean, the median and percentiles instead of the cells."),
    ] = False,
    top: Top = "20",
    out: TableFile = None,
    json: Json = False,
    plot: Plot = None,
    force: Force = False,
) -> None:
    """Estimate how many people hold each item: raw, zeroed, norm-sub and calibrated side by side.

    Example: localdp estimate counts.agg -o estimates.csv --plot estimates.png
    """
    import numpy as np

    from localdp.cli.output import check_outputs, give, save_plot, show, write
    from localdp.errors import InvalidInputError
    from localdp.plan import Aggregate
    from localdp.reading import number, one_of, reports_range, whole_number
    from localdp.table import Table
    from localdp.validation import checked_level

    rows = whole_number(top, "--top") or 0
    probability = checked_level(
        number(level, "--level", "a probability between 0 and 1, such as 0.95"), "the level of intervals (--level)"
    )
    one_of(prior, "--prior", PRIORS)
    if method is not None:
        one_of(method, "--method", METHODS)
    repeats = reports_range(reports_per_person, "--reports-per-person")
    check_outputs(force, out, plot)
    of_survey = questionnaires.tables_in(aggregate, table_of)
    if of_survey is not None:
        defaults = prior == "auto" and reports_per_person == "1" and level == "0.9"
        if not defaults or method or ordered or crossed or like or plot or summary:
            raise InvalidInputError(
                "the tables of a questionnaire are estimated together, with intervals of 90%: of the options that say "
                "how, give --table alone"
            )
        give(of_survey[0], json, of_survey[1], out)
        return
    structure = _structure(ordered, crossed, like)
    estimate = Aggregate.load(aggregate).estimate(reports_per_person=repeats)
    calibrated = estimate.calibrate(prior, method, structure=structure)
    figures = calibrated.summary(probability)
    if summary and not figures:
        raise InvalidInputError("--summary is for plans with --scale: only numbers have a mean and a median")
    columns = {
        side: np.array([getattr(found, side) for found in figures.values()]) for side in ("value", "low", "high")
    }
    title = f"of {calibrated.n:,} people, intervals of {100 * probability:g}%"
    places = max((found.places for found in figures.values()), default=0)
    summed_up = Table({"figure": list(figures), **columns}, title, dict.fromkeys(columns, f",.{places}f"))
    table = summed_up if summary else calibrated.beside(estimate, probability)
    if out is not None:
        write(table, out)
    if plot is not None:
        from localdp.plots import plot_estimates, plot_scale

        draw = plot_scale if calibrated.in_order else plot_estimates
        save_plot(draw(calibrated), plot)  # type: ignore[arg-type]
    show(table if calibrated.in_order else table.largest("calibrated", rows), json, calibrated.notes, out)
    if figures and not summary and not json and out is None:
        show(summed_up, json)


def _structure(ordered: bool, crossed: str | None, like: Path | None) -> Structure | None:
    """The structure that --ordered, --crossed and --like describe; None if none was given."""
    import re

    from localdp.errors import InvalidInputError
    from localdp.plan import Aggregate
    from localdp.structures import Crossed, Like, Ordered

    if ordered + (crossed is not None) + (like is not None) > 1:
        raise InvalidInputError("give one of --ordered, --crossed and --like: items have one structure")
    if ordered:
        return Ordered()
    if crossed is not None:
        if not re.fullmatch(r"[0-9]{1,7}(x[0-9]{1,7}){1,2}", crossed):
            raise InvalidInputError(f"--crossed is the size of a table, such as 5x8 or 5x8x3, not {crossed!r:.40}")
        return Crossed(tuple(int(size) for size in crossed.split("x")))
    if like is not None:
        return Like(Aggregate.load(like).estimate())
    return None
