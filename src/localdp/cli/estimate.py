"""`localdp estimate`: raw and calibrated frequencies, with intervals."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

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
)
from localdp.cli.values import completion


def command(
    aggregate: AggregateFile,
    prior: PriorName = "auto",
    method: Annotated[
        str | None,
        typer.Option(
            help="How to fit one of the paper's priors, such as power-law: mean-variance or mle.",
            autocompletion=completion(METHODS),
        ),
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
    reports_per_person: ReportsPerPerson = "1",
    level: Annotated[
        str,
        typer.Option(
            metavar="NUMBER", help="The probability with which an interval of the table holds the true frequency."
        ),
    ] = "0.9",
    top: Top = "20",
    out: TableFile = None,
    json: Json = False,
    plot: Plot = None,
    force: Force = False,
) -> None:
    """Estimate how many people hold each item: raw, zeroed, norm-sub and calibrated side by side.

    Example: localdp estimate counts.agg -o estimates.csv --plot estimates.png
    """
    from localdp.cli.output import check_outputs, save_plot, show, write
    from localdp.cli.structures import chosen_structure
    from localdp.cli.values import number, one_of, reports_range, whole_number
    from localdp.estimate.comparison import beside
    from localdp.plan import Aggregate
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
    structure = chosen_structure(ordered, crossed, like)
    estimate = Aggregate.load(aggregate).estimate(reports_per_person=repeats)
    calibrated = estimate.calibrate(prior, method, structure=structure)
    table = beside(estimate, calibrated, probability)
    if out is not None:
        write(table, out)
    if plot is not None:
        from localdp.plots import plot_estimates

        save_plot(plot_estimates(calibrated), plot)
    show(table.largest("calibrated", rows), json, calibrated.notes, out)
