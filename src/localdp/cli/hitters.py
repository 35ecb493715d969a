"""`localdp hitters`: the items that more than a threshold of people hold, or the top k."""

from __future__ import annotations

from typing import Annotated

import typer

from localdp.cli.options import (
    PRIORS,
    RULES,
    AggregateFile,
    Force,
    Json,
    Plot,
    PriorName,
    ReportsPerPerson,
    TableFile,
    Top,
    among,
)


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
        str | None,
        among(RULES, "mean: frequency above the threshold (the default); f1: best F-score; fdr: few false ones."),
    ] = None,
    fdr: Annotated[
        str | None,
        typer.Option(
            metavar="SHARE", help="The share of false items to allow under rule fdr (0.1); implies --rule fdr."
        ),
    ] = None,
    top: Top = None,
    prior: PriorName = "auto",
    reports_per_person: ReportsPerPerson = "1",
    out: TableFile = None,
    json: Json = False,
    plot: Plot = None,
    force: Force = False,
) -> None:
    """List the heavy hitters, each with an interval and the probability that it is one.

    With --top instead of a threshold, the probability is that of belonging to
    the true top. Rules f1 and fdr go by probabilities, so they may list an item
    whose frequency is below the threshold, or leave out one that is above it.

    Example: localdp hitters counts.agg --threshold 0.5% --rule fdr
    """
    from localdp.cli.output import check_outputs, give, save_plot
    from localdp.errors import InvalidInputError
    from localdp.plan import Aggregate
    from localdp.reading import one_of, reports_range, share, whole_number
    from localdp.reading import threshold as read_threshold

    if top is not None and any(option is not None for option in (threshold, rule, fdr)):
        raise InvalidInputError(
            "--top lists the most frequent items and takes no threshold, rule or fdr: leave out one or the other"
        )
    rows = whole_number(top, "--top")
    level = None if fdr is None else share(fdr, "--fdr")
    limit = read_threshold(threshold, "--threshold")
    one_of(prior, "--prior", PRIORS)
    if rule is not None:
        one_of(rule, "--rule", RULES)
    repeats = reports_range(reports_per_person, "--reports-per-person")
    check_outputs(force, out, plot)
    calibrated = Aggregate.load(aggregate).estimate(reports_per_person=repeats).calibrate(prior)
    if rows is not None:
        hits = calibrated.top(min(rows, calibrated.domain.size))
    else:
        hits = calibrated.heavy_hitters(limit, rule, fdr=level)
    if plot is not None:
        from localdp.plots import plot_hitters

        save_plot(plot_hitters(hits), plot)
    give(hits.table(), json, (*hits.notes, *calibrated.notes), out)
