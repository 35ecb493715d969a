"""The demonstration: 908,576 sales of a supermarket, each held by one person who sends a private report about it."""

from __future__ import annotations

import errno
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console
from rich.table import Table

from localdp import datasets, metrics, plots
from localdp.datasets import Dataset
from localdp.errors import MissingPackageError
from localdp.estimate import Estimate, Frequencies
from localdp.experiments import webpage
from localdp.experiments.tables import ReportTable
from localdp.formats.atomic_write import atomic_write
from localdp.hitters import HeavyHitters
from localdp.plan import Plan
from localdp.priors import Fixed

if TYPE_CHECKING:
    from localdp.estimate.calibrated import Calibrated

EPSILON = 4.0
TOP = 10
NEXT_COMMANDS = (
    "localdp reproduce --quick --dataset retail  # the experiments, on these data",
    "localdp reproduce --quick --data yours.dat  # the experiments, on your data",
    "localdp advise --items 5000 --users 200000  # what to choose for a survey",
)


def run(out: Path) -> None:
    """Run the pipeline on the Retail data, print what the collector learns, and write a picture and a web page.

    What needs a package that is not installed is left out, and the output says so.
    """
    if out.exists() and not out.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, "this is not a folder", str(out))
    console = Console(highlight=False)
    data = datasets.load("retail")
    plan = Plan(data.d, "auto", EPSILON)
    missing = _missing_packages()
    console.print(f"[bold]{data.note}[/bold]\n")
    estimate, steps = _collect(plan, data)
    calibrated = estimate.calibrate()
    threshold = estimate.significance_threshold() / 4
    hitters = calibrated.heavy_hitters(threshold, "f1")
    tables = [
        _setting(plan, data, steps),
        _accuracy(estimate, calibrated, data),
        _heaviest(estimate, calibrated, data),
        _hitters(estimate, calibrated, hitters, data),
    ]
    for table in tables:
        console.print(_for_terminal(table))
        console.print()
    if missing:
        sentence = f"No picture and no web page were written, because {missing}. They come with:"
        console.print(sentence)
        console.print("  pip install matplotlib jinja2", markup=False)
    else:
        _write(out, data, tables, calibrated, hitters)
        console.print(f"Written: {out / 'report.html'} (everything above, with pictures) and {out / 'estimates.png'}.")
    console.print("\nTry next:\n")
    for command in NEXT_COMMANDS:
        console.print(f"  {command}", soft_wrap=True)


def _missing_packages() -> str:
    """Which of the packages for pictures and web pages are not installed, as half a sentence; empty if all are."""
    missing = []
    for name, needed in (("matplotlib", plots.figure), ("jinja2", webpage.environment)):
        try:
            needed()
        except MissingPackageError:
            missing.append(name)
    return f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} not installed" if missing else ""


def _write(out: Path, data: Dataset, tables: list[ReportTable], calibrated: Calibrated, hitters: HeavyHitters) -> None:
    axes = plots.plot_estimates(calibrated, data.frequencies)
    axes.set_title(f"{data.n:,} people, {data.d:,} items, epsilon {EPSILON:g}: the twenty most frequent")
    page = _page(data, tables, calibrated, hitters)
    out.mkdir(parents=True, exist_ok=True)
    with atomic_write(out / "estimates.png") as unfinished:
        plots.figure_of(axes).savefig(unfinished, format="png")
    with atomic_write(out / "report.html") as unfinished:
        unfinished.write_text(page, "utf-8")


def _collect(plan: Plan, data: Dataset) -> tuple[Estimate, list[tuple[str, float]]]:
    """Make every user's report, pass all reports on as bytes, and estimate.

    Returns the estimate and the seconds of each step.
    """
    values = np.repeat(np.arange(data.d), data.frequencies)
    steps: list[tuple[str, float]] = []
    with _timed("devices: encode and perturb", steps):
        reports = plan.privatize(values)
    with _timed("collector: write, read and aggregate", steps):
        aggregate = plan.aggregate(plan.read(reports.to_bytes()))
    return aggregate.estimate(), steps


def _setting(plan: Plan, data: Dataset, steps: list[tuple[str, float]]) -> ReportTable:
    mechanism = plan.mechanism
    rows = [
        ("people, n", f"{data.n:,}"),
        ("items, d", f"{data.d:,}"),
        ("epsilon requested", f"{EPSILON:g}"),
        ("epsilon realised", f"{mechanism.epsilon:.15g}"),
        ("mechanism", f"{mechanism.name}: p* {mechanism.p_star:.4f}, q* {mechanism.q_star:.6f}"),
        ("size of a report", f"{mechanism.report_bytes} bytes"),
        *((step, f"{seconds:.2f} s") for step, seconds in steps),
    ]
    return ReportTable("What was collected", ("", ""), rows)


def _accuracy(estimate: Estimate, calibrated: Calibrated, data: Dataset) -> ReportTable:
    methods: dict[str, Frequencies] = {
        "raw": estimate,
        "Zero (below the significance threshold)": estimate.zeroed(),
        "Norm-Sub (not negative, adds up to n)": estimate.project("norm-sub"),
        "Calibrate, power law, mean-variance": estimate.calibrate("power-law"),
        "Calibrate, power law, max. likelihood": estimate.calibrate("power-law", "mle"),
        "Calibrate, auto": calibrated,
        "oracle (knows the true distribution)": estimate.calibrate(Fixed(data.frequencies)),
    }
    errors = [metrics.estimation_error(method.frequencies, data.frequencies) for method in methods.values()]
    rows = [(name, f"{error:,.0f}", f"{error / errors[-1]:.3f}") for name, error in zip(methods, errors, strict=True)]
    return ReportTable("Mean squared error over all items", ("method", "error", "divided by oracle's"), rows)


def _heaviest(estimate: Estimate, calibrated: Calibrated, data: Dataset) -> ReportTable:
    low, high = calibrated.interval(0.9)
    found = np.argsort(-calibrated.frequencies, kind="stable")[:TOP]  # in the order of the picture
    rows = [
        (
            f"{item}",
            f"{data.frequencies[item]:,}",
            f"{estimate.frequencies[item]:,.0f}",
            f"{calibrated.frequencies[item]:,.0f}",
            f"{low[item]:,.0f} to {high[item]:,.0f}",
        )
        for item in found.tolist()
    ]
    return ReportTable(
        "The ten items estimated to be most frequent", ("item", "truth", "raw", "calibrated", "90% interval"), rows
    )


def _hitters(estimate: Estimate, calibrated: Calibrated, hitters: HeavyHitters, data: Dataset) -> ReportTable:
    threshold = hitters.threshold or 0.0
    truth = metrics.true_hitters(data.frequencies, threshold)
    found = {
        "Zero": estimate.zeroed().heavy_hitters(threshold),
        "Calibrate, power law (the paper)": estimate.calibrate("power-law").heavy_hitters(threshold),
        "Calibrate, auto, rule f1": hitters,
        "Calibrate, auto, rule fdr 0.1": calibrated.heavy_hitters(threshold, fdr=0.1),
    }
    rows = []
    for name, hits in found.items():
        scores = metrics.heavy_hitter_scores(hits.indices.tolist(), truth.tolist())
        shown = (f"{score:.2f}" for score in (scores.precision, scores.recall, scores.f_score))
        rows.append((name, f"{len(hits)}", *shown))
    title = f"Heavy hitters: the {truth.size} items that more than {threshold:,.0f} people hold"
    return ReportTable(title, ("method", "found", "precision", "recall", "F-score"), rows)


def _for_terminal(content: ReportTable) -> Table:
    table = Table(title=content.title, title_justify="left", title_style="bold", show_header=any(content.head))
    for place, name in enumerate(content.head):
        table.add_column(name, justify="left" if place == 0 else "right")
    for row in content.rows:
        table.add_row(*row)
    return table


def _page(data: Dataset, tables: list[ReportTable], calibrated: Calibrated, hitters: HeavyHitters) -> str:
    shown = min(30, len(hitters))
    pictures = {
        "The twenty items estimated to be most frequent: estimates and truth": plots.plot_estimates(
            calibrated, data.frequencies
        ),
        "What Calibrate does to a raw estimate": plots.plot_calibration(calibrated),
        "The distribution of the frequencies: fitted prior and truth": plots.plot_prior(calibrated, data.frequencies),
        f"The first {shown} of the {len(hitters)} heavy hitters that rule f1 names": plots.plot_hitters(hitters, shown),
    }
    return webpage.render(
        "demo.html.jinja",
        title="localdp: a demonstration",
        introduction=[data.note, _EXPLANATION],
        tables=tables,
        pictures=[
            webpage.picture(webpage.as_png(plots.figure_of(axes)), caption) for caption, axes in pictures.items()
        ],
        commands=NEXT_COMMANDS,
    )


_EXPLANATION = (
    "Nobody handed over what they bought. Each device perturbed its own item under local differential privacy, and the "
    "collector added up the noisy reports. Calibrate then removed much of the noise: it knows how large the noise is, "
    "and it learns from the reports how frequencies are distributed over the items."
)


@contextmanager
def _timed(step: str, steps: list[tuple[str, float]]) -> Iterator[None]:
    started = time.perf_counter()
    yield
    steps.append((step, time.perf_counter() - started))
