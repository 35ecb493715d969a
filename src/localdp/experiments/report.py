"""What a run of the evaluation writes: figures, tables, means, and a report as a web page and as Markdown."""

from __future__ import annotations

import html
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from localdp.datasets import Dataset
from localdp.experiments import webpage
from localdp.experiments.claims import Claim, claims
from localdp.experiments.figures import FIGURES
from localdp.experiments.results import Results, Row, to_csv

TITLE = "Calibrate, reproduced"
FORMAT = "localdp-reproduction/1"

READINGS = (
    "Two readings. The paper's relative improvement is (Zero - Calibrate)/Calibrate, relative to the smaller error; "
    "relative to Zero's error the same gain is smaller, and given in brackets. What the paper calls the variance of "
    "the noise on Kosarak, 5434, is its standard deviation at epsilon 1: the square root of 8,019,015 · 4e/(e-1)²."
)


@dataclass(frozen=True)
class Section:
    """A figure with what the paper says about it and what it shows here, and the means it is drawn from."""

    figure: str
    title: str
    paper: str
    wanted: Callable[[Row], bool] | None


SECTIONS = (
    Section(
        "frequencies",
        "The frequencies",
        "The paper shows that many items are rare and few are frequent, nearly a line on logarithmic axes.",
        None,
    ),
    Section(
        "noise",
        "The noise",
        "The paper fits a Gaussian to the noise of OUE on Kosarak and finds the one that theory predicts.",
        lambda row: row.metric.startswith("noise"),
    ),
    Section(
        "errors",
        "Estimation error and epsilon",
        "The paper: Zero and Calibrate beat OUE by orders of magnitude, and Calibrate beats Zero the more the larger "
        "epsilon is. Left out there: the other fit, Norm-Sub, `auto`, and the oracle that is told the true spectrum.",
        lambda row: row.metric == "error" and row.mechanism == "oue",
    ),
    Section(
        "hitters-by-threshold",
        "Heavy hitters and the threshold",
        "The paper, at epsilon 4: Calibrate has higher precision, lower recall and the better F-score, most of all "
        "below the significance threshold (the vertical line).",
        lambda row: row.threshold is not None and row.epsilon == 4.0,
    ),
    Section(
        "hitters-by-epsilon",
        "Heavy hitters and epsilon",
        "The paper, at the significance threshold of each epsilon: Calibrate has the better F-score.",
        lambda row: row.threshold == 1.0,
    ),
    Section(
        "mechanisms",
        "Other mechanisms",
        "Not in the paper, which says that Calibrate can be appended to any pure mechanism: here it is. `ss` runs on "
        "the 512 most frequent items, for its reports grow with the domain.",
        lambda row: row.metric == "error" and row.mechanism != "oue",
    ),
    Section(
        "coverage",
        "Intervals",
        "Not in the paper: how often the 90% intervals of `auto` hold the true frequency.",
        lambda row: row.metric in ("covered", "heavy covered"),
    ),
)


def write(results: Results, datasets: list[Dataset], trials: int, command: str, folder: Path) -> None:
    """Write everything into a folder."""
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
    parts = [webpage.paragraph(text) for text in _introduction(datasets, trials, command)]
    for label, several in found.items():
        parts += [webpage.heading(f"What the paper says, on {label}"), webpage.table(_HEAD, map(_cells, several))]
    for section in SECTIONS:
        parts += [webpage.heading(section.title), webpage.paragraph(section.paper)]
        for data in datasets:
            parts.append(webpage.picture(drawn[data.label, section.figure], f"{section.title}, {data.label}"))
    (folder / "index.html").write_text(webpage.page(TITLE, parts), "utf-8")
    (folder / "report.md").write_text(_markdown(found, datasets, trials, command), "utf-8")


def is_ours(folder: Path) -> bool:
    """Whether a folder is empty or holds a report, and nothing that `write` does not write."""
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


_HEAD = ("", "the paper", "here", "verdict")


def _introduction(datasets: list[Dataset], trials: int, command: str) -> Iterable[str]:
    yield (
        "The evaluation of J. Jia and N. Z. Gong, Calibrate: Frequency Estimation and Heavy Hitter Identification with "
        "Local Differential Privacy via Incorporating Prior Knowledge, INFOCOM 2019, run anew."
    )
    plain = command.replace("`", "'")
    yield (
        f"Written by `{plain}`: mean of {trials} seeded trials, each an aggregate with exactly the law of running "
        "every user; error bars are standard errors. Where not said otherwise the mechanism is OUE and Calibrate has "
        "the power law by maximum likelihood (mle); (mv) is the mean-variance method."
    )
    yield from (f"{data.label}: {data.note}" for data in datasets)
    yield READINGS


def _cells(claim: Claim) -> tuple[str, str, str, str]:
    return claim.topic, claim.paper or "-", claim.here, claim.holds or "-"


def _markdown(found: dict[str, list[Claim]], datasets: list[Dataset], trials: int, command: str) -> str:
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
    """Names come from files: nothing in them is markup."""
    return html.escape(text, quote=False).replace("|", "&#124;")


def _slug(label: str) -> str:
    return "".join(sign if sign.isalnum() else "-" for sign in label).strip("-")
