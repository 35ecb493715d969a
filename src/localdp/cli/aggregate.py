"""`localdp aggregate`: add up the reports of any number of files."""

from __future__ import annotations

from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Annotated

import typer

from localdp.cli.options import Force, PlanFile

if TYPE_CHECKING:
    from localdp.plan import Aggregate, Plan

_NAMED = 6  # files that are named one by one in what is printed


def command(
    reports: Annotated[
        list[Path],
        typer.Argument(
            help="Files with reports (.arrow, .parquet, .csv, or - for CSV on standard input) or saved aggregates "
            "(.agg), which are all added up."
        ),
    ],
    plan: PlanFile,
    out: Annotated[Path, typer.Option("--out", "-o", help="The aggregate file to write, such as counts.agg.")],
    repeated: Annotated[
        bool,
        typer.Option(
            "--repeated",
            help="Count files with the same reports again. Only if they come from other people, as very small files "
            "may.",
        ),
    ] = False,
    force: Force = False,
) -> None:
    """Add up reports and saved aggregates that were made under one plan.

    All files that are named are added up; with a saved aggregate among them, the
    reports of the others are added to it. Reports that were counted before are
    refused, because the same people would count twice.

    Example: localdp aggregate mon.parquet tue.parquet -p plan.json -o week.agg
    """
    from localdp.cli.output import WIDTH, check_inputs, check_kind, read_plan
    from localdp.errors import EmptyError, InvalidInputError
    from localdp.formats.atomic_write import check_writable
    from localdp.plan import Aggregate

    if out.suffix.lower() != ".agg":
        raise InvalidInputError(f"an aggregate is written to a .agg file, not to {out}")
    for path in reports:
        if str(path) != "-":
            path.stat()
        check_kind(path, ".agg")
    check_inputs(*reports)
    shared = read_plan(plan)
    check_writable(out, replace=force)
    total, counted = Aggregate(shared), dict[str, Path]()
    parts: list[tuple[Path, int]] = []
    for path in reports:
        part, sources = _read(path, shared)
        for source in sources:
            if source in counted and not repeated:
                raise InvalidInputError(_same_reports(path, counted[source]))
            counted.setdefault(source, path)
        total = total.merge(part, repeated=True)  # what is repeated was refused above
        parts.append((path, part.n))
    if total.n == 0:
        raise EmptyError("there are no reports in these files, so there is nothing to add up")
    total.save(out)
    typer.echo(f"{out}: {total.n:,} reports over {shared.domain.size:,} items")
    if len(parts) > 1:
        typer.echo(fill(_added(parts, out), WIDTH))


def _read(path: Path, plan: Plan) -> tuple[Aggregate, frozenset[str]]:
    """The counts of one file, and what identifies the reports in it."""
    import hashlib
    from concurrent.futures import ThreadPoolExecutor

    from localdp import files
    from localdp.cli.output import progress
    from localdp.errors import PlanMismatchError
    from localdp.plan import Aggregate
    from localdp.plan.identity import Identity

    if path.suffix.lower() == ".agg":
        saved = Aggregate.load(path)
        if saved.plan != plan:
            made, asked = (each.fingerprint[:12] for each in (saved.plan, plan))
            raise PlanMismatchError(f"{path} holds reports made under plan {made}..., but --plan is plan {asked}...")
        if not saved.sources:  # it was not made by this command, so its content has to identify it
            saved.sources = frozenset([hashlib.sha256(path.read_bytes()).hexdigest()])
        return saved, saved.sources
    part, identity = Aggregate(plan), Identity(plan)
    with progress(path.name) as update, ThreadPoolExecutor(1) as pool:
        for piece in files.read_reports(path, plan, progress=update):
            identified = pool.submit(identity.add, piece)  # while the reports are counted
            part.add(piece)
            identified.result()
    if part.n:
        part.sources = frozenset([str(identity)])
    return part, part.sources


def _same_reports(path: Path, first: Path) -> str:
    where = f"{first} holds them" if path != first else "the same file was given twice"
    return (
        f"the reports in {path} are counted already ({where}), and the same people would be counted twice: name each "
        "file once. If they are other people's reports that happen to be the same, say --repeated"
    )


def _added(parts: list[tuple[Path, int]], out: Path) -> str:
    """What was added up, as a sentence."""
    listed = [f"{n:,} of {path}" for path, n in parts[:_NAMED]]
    rest = len(parts) - len(listed)
    if rest:
        listed.append(f"{sum(n for _, n in parts[_NAMED:]):,} of {rest} more file{'' if rest == 1 else 's'}")
    sentence = f"Added up the reports of {len(parts):,} files: {', '.join(listed[:-1])} and {listed[-1]}."
    saved = [str(path) for path, _ in parts if path.suffix.lower() == ".agg"]
    if len(saved) == 1 and Path(saved[0]).resolve() != out.resolve():
        sentence += f" The reports of {saved[0]} are part of the sum; {saved[0]} itself is left as it was."
    return sentence
