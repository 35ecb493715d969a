"""Everything that a run of the evaluation writes into its folder.

For each section, figures (PNG and SVG) and a table (CSV); all means in `results.json`; and the whole as a web page,
`index.html`, and as Markdown, `report.md`.
"""

from __future__ import annotations

import html
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from localdp.datasets import Dataset
from localdp.experiments import webpage
from localdp.experiments.claims import Claim, claims
from localdp.experiments.figures import FIGURES
from localdp.experiments.results import Mean, Results, to_csv

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Found = dict[str, list[Claim]]  # the claims on each data set, by its label
_Drawn = dict[tuple[str, str], "Figure"]  # by the label of the data set and the name of the figure

TITLE = "Calibrate, reproduced"
FORMAT = "localdp-reproduction/1"

READINGS = (
    "How two of the paper's numbers are understood here. Its relative improvement is (Zero - Calibrate)/Calibrate, "
    "relative to the smaller error; the same gain relative to Zero's error is smaller, and stands in brackets. What it "
    "calls the variance of the noise on Kosarak, 5434, is the standard deviation at epsilon 1: the square root of "
    "8,019,015 · 4e/(e-1)²."
)


@dataclass(frozen=True)
class Section:
    """A figure, what the paper says about it, and a filter for the means it shows (None if it shows no means)."""

    figure: str
    title: str
    paper: str
    wanted: Callable[[Mean], bool] | None


SECTIONS = (
    Section(
        "frequencies",
        "The frequencies",
        "The paper shows that many items are rare and few are frequent: nearly a line on logarithmic axes.",
        None,
    ),
    Section(
        "noise",
        "The noise",
        "The paper fits a Gaussian to the noise of OUE on Kosarak, and it agrees with the Gaussian of the theory.",
        lambda mean: mean.metric.startswith("noise"),
    ),
    Section(
        "errors",
        "Estimation error and epsilon",
        "The paper: Zero and Calibrate beat OUE by orders of magnitude, and Calibrate's lead over Zero grows with "
        "epsilon. Added here: the second way to fit the power law, Norm-Sub, `auto`, and the oracle, which knows the "
        "true distribution of the frequencies.",
        lambda mean: mean.metric == "error" and mean.mechanism == "oue",
    ),
    Section(
        "hitters-by-threshold",
        "Heavy hitters and the threshold",
        "The paper, at epsilon 4: Calibrate has higher precision, lower recall and the best F-score, most clearly "
        "below the significance threshold (the vertical line).",
        lambda mean: mean.threshold is not None and mean.epsilon == 4.0,
    ),
    Section(
        "hitters-by-epsilon",
        "Heavy hitters and epsilon",
        "The paper, at the significance threshold of each epsilon: Calibrate has the better F-score.",
        lambda mean: mean.threshold == 1.0,
    ),
    Section(
        "mechanisms",
        "Other mechanisms",
        "Not in the paper, which says that Calibrate can be appended to any pure mechanism. `ss` runs only on the 512 "
        "most frequent items, because simulating it on large domains is slow.",
        lambda mean: mean.metric == "error" and mean.mechanism != "oue",
    ),
    Section(
        "coverage",
        "Intervals",
        "Not in the paper: how often the 90% intervals of `auto` contain the true frequency.",
        lambda mean: mean.metric in ("covered", "heavy covered"),
    ),
)


def write(results: Results, datasets: list[Dataset], trials: int, command: str, folder: Path) -> None:
    """Write everything into the folder, which exists. `trials` and `command` are shown on the pages."""
    found = {data.label: list(claims(results, data)) for data in datasets}
    drawn = {
        (data.label, section.figure): FIGURES[section.figure](results, data)
        for data in datasets
        for section in SECTIONS
    }
    for (label, name), figure in drawn.items():
        for kind, metadata in (("png", {"Software": None}), ("svg", {"Date": None})):
            figure.savefig(folder / f"{name}-{_slug(label)}.{kind}", metadata=metadata)
    for section in SECTIONS:
        if section.wanted is not None:
            (folder / f"{section.figure}.csv").write_text(to_csv(results.select(section.wanted)), "utf-8")
    document = {
        "format": FORMAT,
        "command": command,
        "trials": trials,
        "data": [{"name": data.label, "n": data.n, "d": data.d, "note": data.note} for data in datasets],
        "claims": {label: [vars(claim) for claim in several] for label, several in found.items()},
        "means": results.to_json(),
    }
    (folder / "results.json").write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", "utf-8")
    (folder / "index.html").write_text(_page(found, drawn, datasets, trials, command), "utf-8")
    (folder / "report.md").write_text(markdown(found, datasets, trials, command), "utf-8")


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
        ours = document["format"] == FORMAT
    except (OSError, ValueError, KeyError, TypeError):
        return False
    figures = {f"{s.figure}-{_slug(label)}.{kind}" for s in SECTIONS for label in labels for kind in ("png", "svg")}
    tables = {f"{section.figure}.csv" for section in SECTIONS}
    return ours and names <= figures | tables | {"results.json", "index.html", "report.md"}


def _page(found: Found, drawn: _Drawn, datasets: list[Dataset], trials: int, command: str) -> str:
    sections = [
        {
            "title": section.title,
            "paper": section.paper,
            "pictures": [
                webpage.picture(drawn[data.label, section.figure], f"{section.title}, {data.label}")
                for data in datasets
            ],
        }
        for section in SECTIONS
    ]
    return webpage.render(
        "reproduction.html.jinja",
        title=TITLE,
        introduction=list(_introduction(datasets, trials, command)),
        claim_head=_HEAD,
        claims={label: [_cells(claim) for claim in several] for label, several in found.items()},
        sections=sections,
    )


_HEAD = ("", "the paper", "here", "verdict")


def _introduction(datasets: list[Dataset], trials: int, command: str) -> Iterable[str]:
    yield (
        "The evaluation of J. Jia and N. Z. Gong, Calibrate: Frequency Estimation and Heavy Hitter Identification with "
        "Local Differential Privacy via Incorporating Prior Knowledge, INFOCOM 2019, run again."
    )
    without_backticks = command.replace("`", "'")  # they would end the code too early
    number = "one seeded trial" if trials == 1 else f"mean of {trials} seeded trials"
    yield (
        f"Written by `{without_backticks}`: {number}. A trial simulates an aggregate with the distribution that "
        "running every user would give (for olh: with an ideal hash). Error bars are standard errors. Unless stated "
        "otherwise, the mechanism is OUE and Calibrate fits the power law by maximum likelihood (mle); (mv) is the "
        "mean-variance method."
    )
    yield from (f"{data.label}: {data.note}" for data in datasets)
    yield READINGS


def _cells(claim: Claim) -> tuple[str, str, str, str]:
    return claim.topic, claim.paper or "-", claim.here, claim.holds or "-"


def markdown(found: Found, datasets: list[Dataset], trials: int, command: str) -> str:
    """The page as Markdown; the figures are files beside it."""
    lines = ["# Reproducing the paper", ""]
    for text in _introduction(datasets, trials, command):
        lines += [_escaped(text), ""]
    for label, several in found.items():
        lines += [
            f"## What the paper says, on {_escaped(label)}",
            "",
            "| | the paper | here | verdict |",
            "|---|---|---|---|",
        ]
        lines += [f"| {' | '.join(_cells(claim))} |" for claim in several]
        lines.append("")
    for section in SECTIONS:
        lines += [f"## {section.title}", "", section.paper, ""]
        for data in datasets:
            lines += [f"![{section.title}, {_escaped(data.label)}]({section.figure}-{_slug(data.label)}.png)", ""]
    return "\n".join(lines)


def _escaped(text: str) -> str:
    """Text for Markdown. Names come from files, so their signs must not act as HTML or end a cell of a table."""
    return html.escape(text, quote=False).replace("|", "&#124;")


def _slug(label: str) -> str:
    """The label as a part of a file name."""
    return "".join(sign if sign.isalnum() else "-" for sign in label).strip("-")
