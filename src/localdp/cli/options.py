"""Options that several commands share, an epsilon as people type it, and the names that shells complete."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from localdp.errors import InvalidInputError
from localdp.reading import number

MECHANISMS = ("auto", "grr", "sue", "oue", "ss", "olh", "blh", "llh", "slh", "hr", "dbit", "cms", "hcms")
PRIORS = ("auto", "smooth", "bulk", "monotone", "npmle", "power-law", "gaussian", "laplace", "poisson")
METHODS = ("mean-variance", "mle")
RULES = ("mean", "f1", "fdr")
DATASETS = ("retail", "kosarak", "kosarak-100k")


def budget_of(epsilon: str) -> float:
    """An epsilon; whether it is small enough is checked where it is used."""
    try:
        return number(epsilon, "--epsilon", "a number above 0 and at most 16, such as 1")
    except InvalidInputError as error:
        raise InvalidInputError(f"{error}; `localdp advise` helps to choose one") from None


def numeric(text: str, *names: str) -> Any:
    """An option that takes a number. It comes as text, so that what is wrong with it is said as everywhere."""
    return typer.Option(*names, metavar="NUMBER", help=text)


def among(choices: Sequence[str], text: str, *names: str) -> Any:
    """An option that takes one of these words, which shells complete."""
    return typer.Option(*names, help=text, autocompletion=completion(choices))


def completion(choices: Sequence[str]) -> Callable[[str], list[str]]:
    """A function that gives a shell the words that begin with what was typed."""

    def complete(incomplete: str) -> list[str]:
        return [choice for choice in choices if choice.startswith(incomplete)]

    return complete


PlanFile = Annotated[Path, typer.Option("--plan", "-p", help="The plan file that `localdp plan` wrote.")]
Column = Annotated[
    str | None, typer.Option("--column", "-c", help="The column with the items, if the file has several columns.")
]
EVERY_USER = typer.Option("--epsilon", "-e", help="The privacy budget of every user.")
ONE_REPORT = typer.Option(
    "--epsilon", "-e", metavar="NUMBER", help="The privacy budget of one report, above 0 and at most 16."
)
Database = Annotated[str, typer.Option(help="The database: a file of SQLite.", envvar="LOCALDP_DB")]
Header = Annotated[
    bool | None,
    typer.Option(
        "--header/--no-header",
        help="Whether a CSV file begins with the names of its columns. Without them, the columns are 1, 2 and so on.",
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Replace the output file if it exists.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
Plot = Annotated[Path | None, typer.Option("--plot", help="Also draw a picture: .png, .svg or .pdf.")]
TableFile = Annotated[
    Path | None,
    typer.Option(
        "--out",
        "-o",
        help="Write all rows to a file: .csv, .parquet, .arrow or .json; - writes CSV to standard output instead of "
        "the table.",
    ),
]
AggregateFile = Annotated[Path, typer.Argument(help="The aggregate file that `localdp aggregate` wrote.")]
Top = Annotated[str | None, numeric("Show this number of the most frequent items, or all if there are fewer.")]
ReportsPerPerson = Annotated[
    str,
    numeric(
        "How many reports each person sent, if the same people reported on several days, such as 7; or a range "
        "such as 1-7, if it is not known.",
        "--reports-per-person",
    ),
]
PriorName = Annotated[str, among(PRIORS, f"The prior: {', '.join(PRIORS[:-1])} or {PRIORS[-1]}.", "--prior")]
