"""`localdp aggregate`: add up the reports of any number of files."""

from __future__ import annotations

from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Annotated

import typer

from localdp.cli import questionnaires
from localdp.cli.options import Force, PlanFile, among
from localdp.engines import ENGINES
from localdp.reading import one_of

if TYPE_CHECKING:
    from localdp.engines.base import CountedFiles
    from localdp.plan import Aggregate, Plan

BAD = ("fail", "skip")
_NAMED = 6  # files that are named one by one in what is printed


def command(
    reports: Annotated[
        list[Path],
        typer.Argument(
            help="Files with reports (.arrow, .parquet, .csv, .ldp of questionnaires, or - for CSV on standard "
            "input) or saved aggregates (.agg), which are all added up."
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
    engine: Annotated[
        str, among(ENGINES, "Where to count: local (the processors of this machine), dask or spark.")
    ] = "local",
    cluster: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="The cluster of the engine, such as tcp://10.0.0.1:8786 (dask) or spark://10.0.0.1:7077 (spark). Its "
            "workers must see the files under the same paths. Without it, the engine runs on this machine.",
        ),
    ] = None,
    bad: Annotated[
        str, among(BAD, "Rows that are not reports of the plan: fail, or skip and count them (Parquet and Arrow only).")
    ] = "fail",
    force: Force = False,
) -> None:
    """Add up reports and saved aggregates that were made under one plan.

    All files that are named are added up; with a saved aggregate among them, the
    reports of the others are added to it. Reports that were counted before are
    refused, because the same people would count twice.

    Example: localdp aggregate mon.parquet tue.parquet -p plan.json -o week.agg
    """
    from localdp.cli.output import WIDTH, check_inputs, check_kind, is_standard, note, read_plan
    from localdp.errors import EmptyError, InvalidInputError
    from localdp.formats.atomic_write import check_writable
    from localdp.plan import Aggregate

    one_of(engine, "--engine", ENGINES), one_of(bad, "--bad", BAD)
    if engine == "local" and cluster is not None:
        raise InvalidInputError("--cluster is for --engine dask and --engine spark: the local engine is this machine")
    if engine != "local" and any(map(is_standard, reports)):
        raise InvalidInputError(
            "workers of a cluster cannot read standard input (-): name files, or leave out --engine"
        )
    if out.suffix.lower() != ".agg":
        raise InvalidInputError(f"an aggregate is written to a .agg file, not to {out}")
    survey = questionnaires.form_in(plan)
    if survey is not None:
        if engine != "local" or bad != "fail":
            raise InvalidInputError("questionnaires are counted on this machine: leave out --engine and --bad")
        questionnaires.aggregate(reports, survey, out, repeated, force)
        return
    for path in reports:
        if str(path) != "-":
            path.stat()
        if path.suffix.lower() == questionnaires.REPORTS:
            raise InvalidInputError(f"{path} has reports of a questionnaire, but {plan} is the plan of one question")
        check_kind(path, ".agg")
    check_inputs(*reports)
    shared = read_plan(plan)
    check_writable(out, replace=force)
    total, counted = Aggregate(shared), dict[str, Path]()
    parts: list[tuple[Path, int]] = []
    saved = {path: _load(path, shared) for path in reports if path.suffix.lower() == ".agg"}
    others = [path for path in reports if path not in saved]
    found = _count(others, shared, engine, cluster, bad)
    of_files = iter(found.files)
    for path in reports:
        if path in saved:
            n, sources = saved[path].n, saved[path].sources
            total.merge(saved[path], repeated=True)  # what is repeated is refused below
        else:
            file = next(of_files)
            n, sources = file.n, frozenset([file.identity] if file.n else [])
        for source in sources:
            if source in counted and not repeated:
                raise InvalidInputError(_same_reports(path, counted[source]))
            counted.setdefault(source, path)
        parts.append((path, n))
    total.merge(found.aggregate, repeated=True)
    if total.n == 0:
        raise EmptyError("there are no reports in these files, so there is nothing to add up")
    total.save(out)
    typer.echo(f"{out}: {total.n:,} reports over {shared.domain.size:,} items")
    if total.skipped:
        note(f"Skipped rows that are not reports of this plan: {total.skipped:,}.")
    if len(parts) > 1:
        typer.echo(fill(_added(parts, out), WIDTH))


def _count(paths: list[Path], plan: Plan, engine: str, cluster: str | None, bad: str) -> CountedFiles:
    """The counts of all files of reports."""
    from localdp.cli.output import progress
    from localdp.engines import connect
    from localdp.engines.local import LocalEngine

    if engine == "local":
        return LocalEngine(watch=progress).count_files(paths, plan, bad=bad)
    with connect(engine, cluster) as cluster_engine:
        return cluster_engine.count_files(paths, plan, bad=bad)


def _load(path: Path, plan: Plan) -> Aggregate:
    """A saved aggregate, which must be of this plan."""
    import hashlib

    from localdp.errors import PlanMismatchError
    from localdp.plan import Aggregate

    saved = Aggregate.load(path)
    if saved.plan != plan:
        made, asked = (each.fingerprint[:12] for each in (saved.plan, plan))
        raise PlanMismatchError(f"{path} holds reports made under plan {made}..., but --plan is plan {asked}...")
    if not saved.sources:  # it was not made by this command, so its content has to identify it
        saved.sources = frozenset([hashlib.sha256(path.read_bytes()).hexdigest()])
    return saved


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
