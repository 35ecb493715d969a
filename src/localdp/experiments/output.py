"""Everything that a run of the evaluation writes into its folder.

For each section, figures (PNG and SVG) and a table (CSV); the values of all trials in `results.json`; and the whole as
a web page, `index.html`, and as Markdown, `report.md`.
"""

from __future__ import annotations

import html
import json
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

from localdp.datasets import Dataset
from localdp.experiments import webpage
from localdp.experiments.claims import claims
from localdp.experiments.claims.pairs import LEVEL
from localdp.experiments.claims.readings import readings
from localdp.experiments.figures import FIGURES
from localdp.experiments.results import ENOUGH_TRIALS, Results, to_csv
from localdp.experiments.sections import SECTIONS
from localdp.experiments.tables import Found, ReportTable, claim_tables, hitter_table

_Drawn = dict[tuple[str, str], bytes]  # PNG, by the label of the data set and the name of the figure

TITLE = "Calibrate, reproduced"
FORMAT = "localdp-reproduction/2"
_FORMATS = ("localdp-reproduction/1", FORMAT)  # folders of either may be replaced


def write(results: Results, datasets: list[Dataset], trials: int, command: str, folder: Path) -> None:
    """Write everything into the folder, which exists. `trials` and `command` are shown on the pages."""
    found = {data.label: list(claims(results, data)) for data in datasets}
    drawn: _Drawn = {}
    for data in datasets:
        for section in SECTIONS:
            figure = FIGURES[section.figure](results, data)
            path = folder / f"{section.figure}-{_slug(data.label)}"
            drawn[data.label, section.figure] = webpage.as_png(figure)
            path.with_suffix(".png").write_bytes(drawn[data.label, section.figure])
            figure.savefig(path.with_suffix(".svg"), metadata={"Date": None})
    for section in SECTIONS:
        if section.wanted is not None:
            (folder / f"{section.figure}.csv").write_text(to_csv(results.select(section.wanted)), "utf-8")
    document = {
        "format": FORMAT,
        "command": command,
        "trials": trials,
        "data": [{"name": data.label, "n": data.n, "d": data.d, "note": data.note} for data in datasets],
        "claims": {label: [asdict(claim) for claim in several] for label, several in found.items()},
    }
    (folder / "results.json").write_text(_json(document, results), "utf-8")
    (folder / "index.html").write_text(_page(results, found, drawn, datasets, trials, command), "utf-8")
    (folder / "report.md").write_text(markdown(results, found, datasets, trials, command), "utf-8")


def _json(document: dict[str, object], results: Results) -> str:
    """The document with all measurements, each on one line: easy to read, and to compare between two runs."""
    head = json.dumps(document, indent=1, ensure_ascii=False).removesuffix("\n}")
    lines = ",\n".join(f"  {json.dumps(each, ensure_ascii=False)}" for each in results.to_json())
    return f'{head},\n "means": [\n{lines}\n ]\n}}\n'


def rewrite(folder: Path, datasets: list[Dataset]) -> None:
    """Write a folder again from its `results.json`, without running any trial: for when sentences or styles change.

    `datasets` are the data sets of that run, in the same order.
    """
    document = json.loads((folder / "results.json").read_text("utf-8"))
    write(Results.from_json(document["means"]), datasets, document["trials"], document["command"], folder)


def is_ours(folder: Path) -> bool:
    """Whether `write` may replace the folder: it is empty, or everything in it was written by `write`."""
    names = {path.name for path in folder.iterdir()}
    if not names:
        return True
    try:
        document = json.loads((folder / "results.json").read_text("utf-8"))
        labels = [source["name"] for source in document["data"]]
        ours = document["format"] in _FORMATS
    except (OSError, ValueError, KeyError, TypeError):
        return False
    figures = {f"{s.figure}-{_slug(label)}.{kind}" for s in SECTIONS for label in labels for kind in ("png", "svg")}
    tables = {f"{section.figure}.csv" for section in SECTIONS}
    return ours and names <= figures | tables | {"results.json", "index.html", "report.md"}


def _page(results: Results, found: Found, drawn: _Drawn, datasets: list[Dataset], trials: int, command: str) -> str:
    sections = [
        {
            "title": section.title,
            "paper": section.paper,
            "parts": [
                (
                    webpage.picture(drawn[data.label, section.figure], f"{section.title}, {data.label}"),
                    hitter_table(results, data, section.figure),
                )
                for data in datasets
            ],
        }
        for section in SECTIONS
    ]
    return webpage.render(
        "reproduction.html.jinja",
        title=TITLE,
        introduction=list(_introduction(datasets, trials, command)),
        readings=list(readings(results, datasets)),
        verdicts=VERDICTS,
        tables=list(claim_tables(found)),
        sections=sections,
    )


VERDICTS = (
    "Methods are compared on the same seeded trials: in one trial all of them see the same noise, so we take the "
    "difference in every trial, and its mean. A number after ± is a standard error. A comparison is a tie if the "
    f"{LEVEL:.0%} interval of the difference (Student's) contains 0: the trials cannot tell which one is better. A "
    "claim that something is better everywhere holds if it is clearly better everywhere; it holds in part if it is "
    "clearly better somewhere, with ties or losses elsewhere; with ties alone it is a tie. Our gain agrees with the "
    "paper's if that lies in our interval, or if ours is within 10% of it. A run with fewer trials than the full one "
    f"({ENOUGH_TRIALS}) finds more ties, so wherever a tie would decide, its verdict is “too few trials”."
)


def _introduction(datasets: list[Dataset], trials: int, command: str) -> Iterable[str]:
    yield (
        "The evaluation of J. Jia and N. Z. Gong, Calibrate: Frequency Estimation and Heavy Hitter Identification with "
        "Local Differential Privacy via Incorporating Prior Knowledge, INFOCOM 2019, run again."
    )
    yield (
        "In short: every user of a data set holds one item and sends a private, noisy report about it. OUE is the "
        "mechanism that makes the reports, and raw is what it estimates. Zero sets raw estimates below the "
        "significance threshold, which noise alone hardly ever passes, to zero. Calibrate replaces each raw estimate "
        "by the mean of what is known about the true frequency, given how frequencies are distributed over the items "
        "(the prior). The paper's prior is a power law."
    )
    without_backticks = command.replace("`", "'")  # they would end the code too early
    number = "one seeded trial" if trials == 1 else f"mean of {trials} seeded trials"
    yield (
        f"Written by `{without_backticks}`: {number}; our own experiments use fewer (a third for noise that is not "
        "Gaussian, few items and time; an eighth for tests of the family and opt-in). A trial simulates "
        "an aggregate with the distribution that running every user would give (for olh: with an ideal hash). Error "
        "bars are standard errors. Unless stated otherwise, the mechanism is OUE. (mv) stands for the power law "
        "fitted by mean-variance, (mle) for the power law fitted by maximum likelihood, and `auto` is what "
        "`calibrate()` does by default."
    )
    yield from (f"{data.label}: {data.note}" for data in datasets)


def markdown(results: Results, found: Found, datasets: list[Dataset], trials: int, command: str) -> str:
    """The page as Markdown; the figures are files beside it."""
    lines = ["# Reproducing the paper", ""]
    for text in _introduction(datasets, trials, command):
        lines += [_escaped(text), ""]
    lines += ["## What we inferred", "", "The paper leaves these things open, and we had to choose.", ""]
    lines += [*(f"- {_escaped(text)}" for text in readings(results, datasets)), ""]
    lines += ["## How verdicts are reached", "", _escaped(VERDICTS), ""]
    for table in claim_tables(found):
        lines += [f"## {_escaped(table.title)}", "", *_markdown_table(table), ""]
    for section in SECTIONS:
        lines += [f"## {section.title}", "", section.paper, ""]
        for data in datasets:
            lines += [f"![{section.title}, {_escaped(data.label)}]({section.figure}-{_slug(data.label)}.png)", ""]
            if (scores := hitter_table(results, data, section.figure)) is not None:
                lines += [f"{_escaped(scores.title)}:", "", *_markdown_table(scores), ""]
    return "\n".join(lines)


def _markdown_table(table: ReportTable) -> Iterable[str]:
    yield f"| {' | '.join(table.head)} |"
    yield "|" + "---|" * (len(table.head) - table.numbers) + "---:|" * table.numbers
    yield from (f"| {' | '.join(_escaped(cell) for cell in row)} |" for row in table.rows)


def _escaped(text: str) -> str:
    """Text for Markdown. Names come from files, so their signs must not act as HTML or end a cell of a table."""
    return html.escape(text, quote=False).replace("|", "&#124;")


def _slug(label: str) -> str:
    """The label as a part of a file name."""
    return "".join(sign if sign.isalnum() else "-" for sign in label).strip("-")
