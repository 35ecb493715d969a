"""`localdp reproduce`: every experiment of the paper with one command."""

from __future__ import annotations

import shlex
from pathlib import Path

import typer

from localdp import datasets
from localdp.cli.output import progress
from localdp.errors import InvalidInputError
from localdp.experiments import reproduce
from localdp.experiments.claims import claims

PAPER = ("retail", "kosarak")


def run(names: list[str], data: Path | None, trials: int | None, out: Path, quick: bool) -> None:
    """Run the experiments, and say where the report is and what of the paper holds."""
    if names and data is not None:
        raise InvalidInputError("give --dataset or --data, not both")
    chosen = [datasets.read(data)] if data is not None else [datasets.load(name) for name in names or PAPER]
    options = [part for name in names for part in ("--dataset", name)]
    options += ["--data", data.name] if data is not None else []
    options += ["--trials", str(trials)] if trials is not None else []
    options += ["--quick"] if quick else []
    command = shlex.join(["localdp", "reproduce", *options])
    with progress("trials") as update:
        results = reproduce(chosen, out, trials, quick, command, update)
    for source in chosen:
        typer.echo(f"{source.label}: {source.n:,} users, {source.d:,} items")
        for claim in claims(results, source):
            if claim.holds:
                typer.echo(f"  {claim.holds + ':':<15} {claim.paper}")
                typer.echo(f"  {'':<15} {claim.here}")
    typer.echo(f"\nWritten to {out}: open {out / 'index.html'}")
