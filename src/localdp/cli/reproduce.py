"""`localdp reproduce`: run every experiment of the paper."""

from __future__ import annotations

from pathlib import Path
from textwrap import fill
from typing import Annotated

import typer

PAPER = ("retail", "kosarak")


def command(
    dataset: Annotated[
        list[str] | None,
        typer.Option(help="retail, kosarak (a surrogate) or kosarak-100k; may be given several times."),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(help="Your own data instead: a FIMI file or a table of frequencies, plain or gzipped."),
    ] = None,
    trials: Annotated[
        int | None, typer.Option(help="The number of trials of each experiment (24; 3 if quick).", min=1)
    ] = None,
    out: Annotated[
        Path, typer.Option("--out", "-o", help="The folder to write; it must not hold anything else.")
    ] = Path("localdp-reproduction"),
    quick: Annotated[bool, typer.Option("--quick", help="Fewer trials and epsilons, in about a minute.")] = False,
) -> None:
    """Run every experiment of the Calibrate paper and write figures, tables and a web page.

    Example: localdp reproduce --quick --dataset retail
    """
    import shlex

    from localdp import datasets
    from localdp.cli.output import progress
    from localdp.errors import InvalidInputError

    names = dataset or []
    if names and data is not None:
        raise InvalidInputError("give either --dataset or --data, not both")
    chosen = [datasets.read(data)] if data is not None else [datasets.load(name) for name in names or PAPER]
    from localdp.experiments import reproduce
    from localdp.experiments.claims import claims

    options = [part for name in names for part in ("--dataset", name)]
    options += ["--data", data.name] if data is not None else []
    options += ["--trials", str(trials)] if trials is not None else []
    options += ["--quick"] if quick else []
    with progress("trials") as update:
        results = reproduce(chosen, out, trials, quick, shlex.join(["localdp", "reproduce", *options]), progress=update)
    for source in chosen:
        typer.echo(f"{source.label}: {source.n:,} users, {source.d:,} items")
        for claim in claims(results, source):
            if claim.paper:
                typer.echo(_beside("", f"the paper: {claim.paper}"))
                for found in claim.findings:
                    typer.echo(_beside(f"{found.verdict}:", f"{found.fit or 'here'}: {found.here}"))
    typer.echo(f"\nWritten to {out}: open {out / 'index.html'}")


def _beside(verdict: str, sentence: str) -> str:
    """A verdict with a sentence beside it, in lines that fit the terminal."""
    from localdp.cli.output import WIDTH

    return fill(sentence, WIDTH, initial_indent=f"  {verdict:<15} ", subsequent_indent=" " * 18)
