"""A real run in one screen: every sale of a supermarket is a person, and nobody says what they bought."""

from __future__ import annotations

import errno
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console
from rich.table import Table

from localdp import datasets, metrics, plots
from localdp.datasets import Dataset
from localdp.estimate import Estimate, Frequencies
from localdp.experiments import webpage
from localdp.formats.atomic_write import atomic_write
from localdp.plan import Plan
from localdp.priors import Fixed

if TYPE_CHECKING:
    from localdp.estimate.calibrated import Calibrated

EPSILON = 4.0
TOP = 10
NEXT = (
    "localdp reproduce --quick --dataset retail  # the paper on these data",
    "localdp reproduce --quick --data yours.dat  # the paper on yours",
    "localdp advise --items 5000 --users 200000  # before you collect",
)


@dataclass(frozen=True)
class Block:
    """A titled table, for the terminal and for the web page alike; the first column is text."""

    title: str
    head: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]


def run(out: Path) -> None:
    """Run the pipeline on the Retail data, show what the collector learns, and write the picture and the report."""
    if out.exists() and not out.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, "this is not a folder", str(out))
    console = Console(highlight=False)
    data = datasets.load("retail")
    plan = Plan(data.d, "auto", EPSILON)
    console.print(f"[bold]{data.note}[/bold]\n")
    estimate, steps = _collect(plan, data)
    calibrated = estimate.calibrate()
    blocks = [_setting(plan, data, steps), _accuracy(estimate, calibrated, data), _heaviest(estimate, calibrated, data)]
    blocks.append(_hitters(estimate, calibrated, data))
    for block in blocks:
        console.print(_drawn(block))
        console.print()
    axes = plots.plot_estimates(calibrated, data.frequencies)
    axes.set_title(f"{data.n:,} people, {data.d:,} items, epsilon {EPSILON:g}: the twenty heaviest")
    report = _report(data, blocks, calibrated)
    out.mkdir(parents=True, exist_ok=True)
    with atomic_write(out / "estimates.png") as unfinished:
        plots.figure_of(axes).savefig(unfinished, format="png")
    with atomic_write(out / "report.html") as unfinished:
        unfinished.write_text(report, "utf-8")
    console.print(f"The picture is {out / 'estimates.png'}, the whole report {out / 'report.html'}. Try next:\n")
    for command in NEXT:
        console.print(f"  {command}", soft_wrap=True)


def _collect(plan: Plan, data: Dataset) -> tuple[Estimate, list[tuple[str, float]]]:
    """Every person's report, made with secure randomness, through the wire to the estimate."""
    values = np.repeat(np.arange(data.d), data.frequencies)
    steps: list[tuple[str, float]] = []
    with _timed("encode and perturb, on the devices", steps):
        reports = plan.privatize(values)
    with _timed("write, read and aggregate, at the collector", steps):
        aggregate = plan.aggregate(plan.read(reports.to_bytes()))
    return aggregate.estimate(), steps


def _setting(plan: Plan, data: Dataset, steps: list[tuple[str, float]]) -> Block:
    mechanism = plan.mechanism
    rows = [
        ("people, n", f"{data.n:,}"),
        ("items, d", f"{data.d:,}"),
        ("epsilon asked for", f"{EPSILON:g}"),
        ("epsilon realised", f"{mechanism.epsilon:.15g}"),
        ("mechanism", f"{mechanism.name}: p* {mechanism.p_star:.4f}, q* {mechanism.q_star:.6f}"),
        ("a report", f"{mechanism.report_bytes} bytes"),
        *((step, f"{seconds:.2f} s") for step, seconds in steps),
    ]
    return Block("What was collected", ("", ""), rows)


def _accuracy(estimate: Estimate, calibrated: Calibrated, data: Dataset) -> Block:
    methods: dict[str, Frequencies] = {
        "raw": estimate,
        "Zero (below the significance threshold)": estimate.zeroed(),
        "Norm-Sub (not negative, adds up to n)": estimate.project("norm-sub"),
        "Calibrate, power law, mean-variance": estimate.calibrate("power-law"),
        "Calibrate, power law, likelihood": estimate.calibrate("power-law", "mle"),
        f"Calibrate, auto ({calibrated.prior.name})": calibrated,
        "oracle, told the true spectrum": estimate.calibrate(Fixed(data.frequencies)),
    }
    errors = [metrics.estimation_error(method.frequencies, data.frequencies) for method in methods.values()]
    rows = [(name, f"{error:,.0f}", f"{error / errors[-1]:.3f}") for name, error in zip(methods, errors, strict=True)]
    return Block("Mean squared error over all items", ("method", "error", "over the oracle"), rows)


def _heaviest(estimate: Estimate, calibrated: Calibrated, data: Dataset) -> Block:
    low, high = calibrated.interval(0.9)
    rows = [
        (
            f"{item}",
            f"{data.frequencies[item]:,}",
            f"{estimate.frequencies[item]:,.0f}",
            f"{calibrated.frequencies[item]:,.0f}",
            f"{low[item]:,.0f} to {high[item]:,.0f}",
        )
        for item in range(TOP)
    ]
    return Block("The ten heaviest items", ("item", "truth", "raw", "calibrated", "90% interval"), rows)


def _hitters(estimate: Estimate, calibrated: Calibrated, data: Dataset) -> Block:
    threshold = estimate.significance_threshold() / 4
    truth = metrics.true_hitters(data.frequencies, threshold)
    found = {
        "Zero": estimate.zeroed().heavy_hitters(threshold),
        "Calibrate, power law (the paper)": estimate.calibrate("power-law").heavy_hitters(threshold),
        "Calibrate, auto, rule f1": calibrated.heavy_hitters(threshold, "f1"),
        "Calibrate, auto, rule fdr 0.1": calibrated.heavy_hitters(threshold, fdr=0.1),
    }
    rows = []
    for name, hits in found.items():
        scores = metrics.heavy_hitter_scores(hits.indices.tolist(), truth.tolist())
        figures = (f"{score:.2f}" for score in (scores.precision, scores.recall, scores.f_score))
        rows.append((name, f"{len(hits)}", *figures))
    title = f"Heavy hitters: {truth.size} items have more than {threshold:,.0f} people"
    return Block(title, ("method", "found", "precision", "recall", "F-score"), rows)


def _drawn(block: Block) -> Table:
    table = Table(title=block.title, title_justify="left", title_style="bold", show_header=any(block.head))
    for place, name in enumerate(block.head):
        table.add_column(name, justify="left" if place == 0 else "right")
    for row in block.rows:
        table.add_row(*row)
    return table


def _report(data: Dataset, blocks: list[Block], calibrated: Calibrated) -> str:
    parts = [webpage.paragraph(data.note), webpage.paragraph("Nobody handed over what they bought: " + _EXPLANATION)]
    for block in blocks:
        parts += [webpage.heading(block.title), webpage.table(block.head, block.rows, numbers=len(block.head) - 1)]
    pictures = {
        "The twenty heaviest items: what was learnt, and the truth": plots.plot_estimates(calibrated, data.frequencies),
        "What Calibrate makes of a raw estimate": plots.plot_calibration(calibrated),
        "The frequencies: the truth, and what was learnt": plots.plot_prior(calibrated, data.frequencies),
        "Heavy hitters by the rule f1": plots.plot_hitters(calibrated.heavy_hitters(rule="f1")),
    }
    parts.append(webpage.heading("Pictures"))
    parts += [webpage.picture(plots.figure_of(axes), caption) for caption, axes in pictures.items()]
    parts += [webpage.heading("Try next"), *(webpage.paragraph(f"`{command}`") for command in NEXT)]
    return webpage.page("localdp: a demonstration", parts)


_EXPLANATION = (
    "each device perturbed its own item under local differential privacy, the collector added up the noisy reports, "
    "and Calibrate used what is known of the noise and of the shape of the frequencies."
)


@contextmanager
def _timed(step: str, steps: list[tuple[str, float]]) -> Iterator[None]:
    started = time.perf_counter()
    yield
    steps.append((step, time.perf_counter() - started))
