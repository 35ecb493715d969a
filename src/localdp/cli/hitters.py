"""`localdp hitters`: the items that more than a threshold of people hold, or the top k."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Annotated

import typer

from localdp.cli.options import AggregateFile, Force, Json, Plot, PriorName, TableFile


class Rule(StrEnum):
    """How heavy hitters are chosen."""

    mean = "mean"
    f1 = "f1"
    fdr = "fdr"


def command(
    aggregate: AggregateFile,
    threshold: Annotated[
        str | None,
        typer.Option(
            "--threshold",
            "-t",
            help="A number of users, a share such as 0.5%, or significance (the default): above the noise.",
        ),
    ] = None,
    rule: Annotated[
        Rule | None,
        typer.Option(
            help="mean: frequency above the threshold (the paper); f1: best F-score (the default); fdr: few false ones."
        ),
    ] = None,
    fdr: Annotated[
        float | None, typer.Option(help="The share of false items to allow under rule fdr (0.1); implies --rule fdr.")
    ] = None,
    top: Annotated[
        int | None, typer.Option(help="Instead of a threshold: show this number of the most frequent items.", min=1)
    ] = None,
    prior: PriorName = "auto",
    out: TableFile = None,
    json: Json = False,
    plot: Plot = None,
    force: Force = False,
) -> None:
    """List the heavy hitters, each with an interval and the probability that it is one.

    Example: localdp hitters counts.agg --threshold 0.5% --rule fdr
    """
    from localdp.cli.output import check_outputs, save_plot, show, write
    from localdp.errors import InvalidInputError
    from localdp.plan import Aggregate

    if top is not None and any(option is not None for option in (threshold, rule, fdr)):
        raise InvalidInputError(
            "--top lists the most frequent items and takes no threshold, rule or fdr: leave out one or the other"
        )
    check_outputs(force, out, plot)
    calibrated = Aggregate.load(aggregate).estimate().calibrate(prior)
    if top is not None:
        hits = calibrated.top(top)
    else:
        chosen = rule or (Rule.f1 if fdr is None else Rule.fdr)
        hits = calibrated.heavy_hitters(_number(threshold or "significance"), str(chosen), fdr=fdr)
    if out is not None:
        write(hits.table(), out)
    if plot is not None:
        from localdp.plots import plot_hitters

        save_plot(plot_hitters(hits), plot)
    show(hits.table(), json, calibrated.notes)


def _number(threshold: str) -> float | str:
    """A number such as 500 or 1,000 as a float; anything else, such as 0.5%, stays text."""
    plain = threshold.replace(",", "") if re.fullmatch(r"\d{1,3}(,\d{3})+(\.\d+)?", threshold) else threshold
    try:
        return float(plain)
    except ValueError:
        return threshold
