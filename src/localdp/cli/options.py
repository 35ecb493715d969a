"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

PlanFile = Annotated[Path, typer.Option("--plan", "-p", help="The plan file that `localdp plan` wrote.")]
Column = Annotated[
    str | None, typer.Option("--column", "-c", help="The column with the items, if the file has several columns.")
]
Force = Annotated[bool, typer.Option("--force", help="Replace the output file if it exists.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
Plot = Annotated[Path | None, typer.Option("--plot", help="Also draw a picture: .png, .svg or .pdf.")]
TableFile = Annotated[
    Path | None, typer.Option("--out", "-o", help="Write all rows to a file: .csv, .parquet, .arrow or .json.")
]
AggregateFile = Annotated[Path, typer.Argument(help="The aggregate file that `localdp aggregate` wrote.")]
PriorName = Annotated[
    str,
    typer.Option(
        "--prior",
        help="The prior: auto, smooth, monotone, npmle, power-law, gaussian, laplace or poisson.",
    ),
]
