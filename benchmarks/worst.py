"""What the scripts that look for the worst cases share: their options, their cells and the list of the worst of them.

A cell is a `NamedTuple`, one configuration of a simulation. Its label is made of its fields, such as
"oue zipf d=24 n=2000 epsilon=1", and `--only` chooses cells by parts of it.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from runs import Measurements, means, trials

PAGE = Path(__file__).parent.parent / "docs" / "results" / "hard-cases.md"


def parser(description: str | None, runs: int | None = 20) -> argparse.ArgumentParser:
    """The options that all these scripts have."""
    made = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument(
        "--runs", type=int, default=runs, help=f"seeded runs of each cell, {runs or 'a few'} unless given"
    )
    made.add_argument("--quick", action="store_true", help="only some of the cells, printed instead of written")
    made.add_argument("--only", nargs="+", default=[], metavar="PART", help="only cells whose label has all parts")
    made.add_argument("--print", action="store_true", dest="printed", help="print instead of writing the page")
    made.add_argument("--processes", type=int, default=2, help="processes that run at the same time, 2 unless given")
    return made


def label(cell: Any) -> str:
    """The cell in one line: words as they are, numbers with their names."""
    fields = zip(cell._fields, cell, strict=True)
    return " ".join(value if isinstance(value, str) else f"{name}={value:.12g}" for name, value in fields)


def chosen(cells: Iterable[Any], given: argparse.Namespace) -> list[Any]:
    """The cells whose label, with a space at its end, has all the parts of `--only`."""
    return [cell for cell in cells if all(part in f"{label(cell)} " for part in given.only)]


def measure(
    cells: Iterable[Any], given: argparse.Namespace, run: Callable[[Any], Measurements], at_once: int = 4
) -> dict[Any, Measurements]:
    """The mean measurements of every cell that `--only` leaves."""
    kept = chosen(cells, given)
    return means(trials(kept, given.runs, run, given.processes, at_once)) if kept else {}


def worst(title: str, figures: dict[Any, float], largest: bool = True, count: int = 5) -> list[str]:
    """The cells with the largest (or smallest) figures, one in a line, under a title."""
    known = [(figure, cell) for cell, figure in figures.items() if figure == figure]
    ranked = sorted(known, key=lambda pair: -pair[0] if largest else pair[0])[:count]
    shown = [f"- {figure:.3f}: {cell if isinstance(cell, str) else label(cell)}" for figure, cell in ranked]
    return [f"{title}, {'largest' if largest else 'smallest'} first:", "", *(shown or ["- nothing was measured"]), ""]


def table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> list[str]:
    """A Markdown table; whole numbers as they are, others with three decimals, and NaN is a dash."""
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    return [*lines, *(f"| {' | '.join(_shown(cell) for cell in row)} |" for row in rows), ""]


def geometric_mean(figures: Iterable[float]) -> float:
    """The geometric mean of those figures that are known and above 0; NaN if there is none."""
    logs = [np.log(figure) for figure in figures if figure > 0]
    return float(np.exp(np.mean(logs))) if logs else float("nan")


def arithmetic_mean(figures: Iterable[float]) -> float:
    """The mean of those figures that are known; NaN if there is none."""
    known = [figure for figure in figures if figure == figure]
    return float(np.mean(known)) if known else float("nan")


def ratio(above: float, below: float) -> float:
    """The quotient of two errors: 1 if both are 0, and infinite if only the second is."""
    if below == 0:
        return 1.0 if above == 0 else float("inf")
    return above / below


def coverage(low: np.ndarray, high: np.ndarray, truth: np.ndarray) -> float:
    """The share of the intervals that hold the truth."""
    return float(((low <= truth) & (truth <= high)).mean()) if truth.size else float("nan")


def notes_of(*results: Any) -> str:
    """All the notes of some results in one text; a result without notes adds nothing."""
    return " ".join(str(note) for result in results for note in getattr(result, "notes", ()))


def deliver(section: str, lines: Iterable[str], given: argparse.Namespace, path: Path | None = None) -> None:
    """Print the lines, or write them into the section of that name in docs/results/hard-cases.md or in another page."""
    text = "\n".join(lines).rstrip()
    if given.quick or given.printed or given.only:
        print(text)
        return
    begin, end = f"<!-- begin {section} -->", f"<!-- end {section} -->"
    path = path or PAGE
    page = path.read_text("utf-8")
    if page.count(begin) != 1 or page.count(end) != 1:
        raise SystemExit(f"{path} has no section {section}: it needs the lines {begin} and {end}")
    before, after = page.split(begin)[0], page.split(end)[1]
    path.write_text(f"{before}{begin}\n\n{text}\n\n{end}{after}", "utf-8")


def _shown(cell: Any) -> str:
    if isinstance(cell, str):
        return cell
    if cell != cell:
        return "-"
    return f"{cell:,}" if isinstance(cell, int) else f"{cell:,.3f}"
