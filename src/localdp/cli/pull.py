"""`localdp pull`: the estimates of all studies of a collector in one file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from localdp.cli.options import Force
from localdp.cli.remote import HERE, Token, Url, collector_at


def command(
    out: Annotated[
        Path, typer.Option("--out", "-o", help="The file to write: .csv, .parquet, .arrow or .json; - for CSV.")
    ],
    study: Annotated[list[str] | None, typer.Option(help="A study, by its id; all by default.")] = None,
    url: Url = HERE,
    token: Token = "",
    force: Force = False,
) -> None:
    """Fetch the latest estimates of all studies, as readers may see them.

    A row for each item, with the study, the interval, the number of reports and
    notes. Trials are left out. The token has the scope read.

    Example: localdp pull --url https://stats.example -o estimates.parquet
    """
    import numpy as np

    from localdp.cli.output import check_outputs, note, say, shown, write
    from localdp.errors import InvalidInputError
    from localdp.table import Table

    check_outputs(force, out)
    collector = collector_at(url, token)
    from localdp.collector.fields import FLAT_COLUMNS

    wanted = set(study or ())
    listed = [collector.ask("GET", f"/v1/studies/{one}") for one in sorted(wanted)] if wanted else None
    there = collector.ask("GET", "/v1/studies")["studies"] if listed is None else listed
    rows: list[tuple[Any, ...]] = []
    for one in there:
        if one["trial_of"] is not None and not wanted:
            continue
        try:
            result = collector.ask("GET", f"/v1/studies/{one['id']}/result")
        except InvalidInputError as error:  # too few reports, or not done
            note(f"{one['title'] or one['survey'] or one['id']}: {error}")
            continue
        rows += _rows(one, result)
    names = ("study", "survey", "title", "question", "part", "item", *FLAT_COLUMNS, "reports", "notes")
    columns: dict[str, Any] = {name: [row[place] for row in rows] for place, name in enumerate(names)}
    for name in FLAT_COLUMNS:  # so that files have numbers where there are some
        columns[name] = np.array([np.nan if one is None else one for one in columns[name]], float)
    columns["reports"] = np.array(columns["reports"], np.int64)
    write(Table(columns, "the latest estimates"), out)
    studies = len({row[0] for row in rows})
    say(f"{shown(out)}: {len(rows):,} rows of {studies} {'study' if studies == 1 else 'studies'}", out)


def _rows(study: dict[str, Any], result: dict[str, Any]) -> list[tuple[Any, ...]]:
    """The rows of a study, as the view `latest_estimates` has them."""
    import numpy as np

    from localdp.collector.answers.results import flat_rows
    from localdp.table import Table

    def column(name: str, values: list[Any]) -> Any:
        numbers = name != "item" and all(value is None or isinstance(value, int | float) for value in values)
        return np.array(values, float) if numbers else values

    tables = {
        name: Table({key: column(key, values) for key, values in one["columns"].items()})
        for name, one in result["tables"].items()
    }
    about = (study["id"], study["survey"], study["title"], study["question"])
    return [(*about, *row, result["n"], "\n".join(result["notes"])) for row in flat_rows(tables)]
