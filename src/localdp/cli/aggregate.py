"""`localdp aggregate`: add up the reports of any number of files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from localdp.cli.options import Force, PlanFile


def command(
    reports: Annotated[
        list[Path], typer.Argument(help="Files with reports (.arrow, .parquet, .csv) or saved aggregates (.agg).")
    ],
    plan: PlanFile,
    out: Annotated[Path, typer.Option("--out", "-o", help="The aggregate file to write, such as counts.agg.")],
    force: Force = False,
) -> None:
    """Add up reports and saved aggregates that were made under one plan.

    Example: localdp aggregate mon.parquet tue.parquet -p plan.json -o week.agg
    """
    from localdp import files
    from localdp.cli.output import check_inputs, check_kind, progress, read_plan
    from localdp.errors import EmptyError, InvalidInputError, PlanMismatchError
    from localdp.formats.atomic_write import check_writable
    from localdp.plan import Aggregate

    check_inputs(*reports)
    for path in reports:
        check_kind(path, ".agg")
    shared = read_plan(plan)
    if out.suffix.lower() != ".agg":
        raise InvalidInputError(f"an aggregate is written to a .agg file, not to {out}")
    check_writable(out, replace=force)
    if len({(path.stat().st_dev, path.stat().st_ino) for path in reports}) < len(reports):
        raise InvalidInputError(
            "the same file was given twice, and its reports would be counted twice: name each file once"
        )
    total = Aggregate(shared)
    for path in reports:
        if path.suffix.lower() == ".agg":
            saved = Aggregate.load(path)
            if saved.plan != shared:
                made, asked = (each.fingerprint[:12] for each in (saved.plan, shared))
                raise PlanMismatchError(
                    f"{path} holds reports made under plan {made}..., but --plan is plan {asked}..."
                )
            total.merge(saved)
            continue
        with progress(path.name) as update:
            for piece in files.read_reports(path, shared, progress=update):
                total.add(piece)
    if total.n == 0:
        raise EmptyError("there are no reports in these files, so there is nothing to add up")
    total.save(out)
    typer.echo(f"{out}: {total.n:,} reports over {shared.domain.size:,} items")
