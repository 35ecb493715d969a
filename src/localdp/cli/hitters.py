"""`localdp hitters`: the items that many people hold, or the top k."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from localdp.cli.options import AggregateFile, Force, Json, Plot, PriorName, TableFile


class Rule(StrEnum):
    """Which items to name."""

    mean = "mean"
    f1 = "f1"
    fdr = "fdr"


def command(
    aggregate: AggregateFile,
    threshold: Annotated[
        str, typer.Option("--threshold", "-t", help="Users, a share such as 0.5%, or significance.")
    ] = "significance",
    rule: Annotated[Rule, typer.Option(help="mean (the paper), f1 (most right), fdr (few wrong).")] = Rule.f1,
    fdr: Annotated[float | None, typer.Option(help="The share that may be wrong under rule fdr (0.1).")] = None,
    top: Annotated[int | None, typer.Option(help="Instead: so many of the most frequent items.", min=1)] = None,
    prior: PriorName = "auto",
    out: TableFile = None,
    json: Json = False,
    plot: Plot = None,
    force: Force = False,
) -> None:
    """Name the heavy hitters, each with its interval and the probability that it is one.

    Example: localdp hitters counts.agg --threshold 0.5% --rule fdr
    """
    from localdp.cli.output import check_outputs, save_plot, show, write
    from localdp.plan import Aggregate

    check_outputs(force, out, plot)
    calibrated = Aggregate.load(aggregate).estimate().calibrate(prior)
    chosen = None if fdr is not None and rule is Rule.f1 else str(rule)
    hits = calibrated.top(top) if top is not None else calibrated.heavy_hitters(_number(threshold), chosen, fdr=fdr)
    if out is not None:
        write(hits.table, out)
    if plot is not None:
        from localdp.plots import plot_hitters

        save_plot(plot_hitters(hits), plot)
    show(hits.table, json, calibrated.notes)


def _number(threshold: str) -> float | str:
    try:
        return float(threshold.replace(",", ""))
    except ValueError:
        return threshold
