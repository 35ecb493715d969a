"""`localdp aggregate`: reports added up, from as many files as there are."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from localdp.cli.options import Force, PlanFile


def command(
    reports: Annotated[
        list[Path], typer.Argument(help="Files of reports (.parquet, .csv) or saved aggregates (.agg).")
    ],
    plan: PlanFile,
    out: Annotated[Path, typer.Option("--out", "-o", help="The aggregate to write, such as counts.agg.")],
    force: Force = False,
) -> None:
    """Add up reports, and merge aggregates, of one plan.

    Example: localdp aggregate monday.parquet tuesday.parquet --plan plan.json -o week.agg
    """
    import errno

    from localdp import tabular
    from localdp.cli.output import progress, read_plan
    from localdp.plan import Aggregate

    shared = read_plan(plan)
    if out.exists() and not force:
        raise FileExistsError(errno.EEXIST, "the file exists already", str(out))
    total = Aggregate(shared)
    for path in reports:
        if path.suffix == ".agg":
            total.merge(Aggregate.load(path))
            continue
        with progress(path.name) as update:
            for piece in tabular.read_reports(path, shared, update):
                total.add(piece)
    total.save(out)
    typer.echo(f"{out}: {total.n:,} reports over {shared.domain.size:,} items")
