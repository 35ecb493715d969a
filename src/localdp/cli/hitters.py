"""`localdp hitters`: the items that many people hold, or the top k."""

from __future__ import annotations

import re
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
        str | None,
        typer.Option(
            "--threshold",
            "-t",
            help="More than so many users, a share such as 0.5%, or beyond noise: significance, the default.",
        ),
    ] = None,
    rule: Annotated[
        Rule | None,
        typer.Option(
            help="mean: above the threshold (the paper); f1: the best expected F-score (the default); fdr: few wrong."
        ),
    ] = None,
    fdr: Annotated[
        float | None, typer.Option(help="The share of wrong items to allow, 0.1 unless given; chooses rule fdr.")
    ] = None,
    top: Annotated[
        int | None, typer.Option(help="Instead of a threshold: so many of the most frequent items.", min=1)
    ] = None,
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
    from localdp.errors import InvalidInputError
    from localdp.plan import Aggregate

    if top is not None and any(option is not None for option in (threshold, rule, fdr)):
        raise InvalidInputError("--top names the most frequent items: it takes no threshold, rule or fdr")
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
    plain = threshold.replace(",", "") if re.fullmatch(r"\d{1,3}(,\d{3})+(\.\d+)?", threshold) else threshold
    try:
        return float(plain)
    except ValueError:
        return threshold
