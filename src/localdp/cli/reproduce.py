"""`localdp reproduce`: run every experiment of the paper."""

from __future__ import annotations

from pathlib import Path
from textwrap import fill
from typing import Annotated

import typer

from localdp.cli.options import DATASETS, Column, among, numeric

PAPER = ("retail", "kosarak")


def command(
    dataset: Annotated[
        list[str] | None, among(DATASETS, "retail, kosarak (a surrogate) or kosarak-100k; may be given several times.")
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            help="Your own data instead, plain or gzipped: transactions, one on each line (numbers separated by "
            "spaces, or a .csv file of names), a table of frequencies, or with --column one item in each row."
        ),
    ] = None,
    column: Column = None,
    trials: Annotated[str | None, numeric("The number of trials of each experiment (24; 3 if quick).")] = None,
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
    from localdp.cli.output import progress, read_answers
    from localdp.errors import InvalidInputError
    from localdp.reading import one_of, whole_number

    count = whole_number(trials, "--trials")
    names = dataset or []
    if names and data is not None:
        raise InvalidInputError("give either --dataset or --data, not both")
    if column is not None and data is None:
        raise InvalidInputError("--column names a column of your own data: give the file with --data, too")
    if data is not None:
        chosen = [datasets.read(data) if column is None else read_answers(data, column, None)]
    else:
        chosen = [datasets.load(one_of(name, "--dataset", DATASETS)) for name in names or PAPER]
    from localdp.experiments import reproduce
    from localdp.experiments.claims import claims

    options = [part for name in names for part in ("--dataset", name)]
    options += ["--data", data.name] if data is not None else []
    options += ["--column", column] if column is not None else []
    options += ["--trials", str(count)] if count is not None else []
    options += ["--quick"] if quick else []
    with progress("trials") as update:
        results = reproduce(chosen, out, count, quick, shlex.join(["localdp", "reproduce", *options]), progress=update)
    for source in chosen:
        typer.echo(f"{source.label}: {source.n:,} users, {source.d:,} items")
        for claim in claims(results, source):
            if claim.paper:
                typer.echo(_beside("", f"{claim.topic}, the paper: {claim.paper}"))
                for found in claim.findings:
                    typer.echo(_beside(f"{found.verdict}:", f"{found.fit or 'here'}: {found.here}"))
    typer.echo(f"\nWritten to {out}: open {out / 'index.html'}")


def _beside(verdict: str, sentence: str) -> str:
    """A verdict with a sentence beside it, in lines that fit the terminal."""
    from localdp.cli.output import WIDTH

    return fill(sentence, WIDTH, initial_indent=f"  {verdict:<15} ", subsequent_indent=" " * 18)
