"""The figures of the paper's evaluation, and of what it left out, drawn from the means of a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from localdp import plots
from localdp.datasets import Dataset
from localdp.experiments.claims import THRESHOLD_EPSILON
from localdp.experiments.results import Results, Row
from localdp.experiments.trials import (
    AUTO,
    AUTO_F1,
    LIKELIHOOD,
    MOMENTS,
    NORM_SUB,
    ORACLE,
    ORACLE_F1,
    RAW,
    ZERO,
)
from localdp.plan import Plan

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SCORES = ("precision", "recall", "F-score")

_STYLES: Mapping[str, Mapping[str, Any]] = dict(
    zip((RAW, ZERO, NORM_SUB, MOMENTS, LIKELIHOOD, AUTO, ORACLE), plots.STYLES, strict=True)
)
_STYLES = {**_STYLES, AUTO_F1: _STYLES[AUTO], ORACLE_F1: _STYLES[ORACLE]}


def _frequencies(_results: Results, data: Dataset) -> Figure:
    axes = plots.plot_frequencies(data.frequencies)
    axes.set_title(f"{data.label}: {data.n:,} users, {data.d:,} items")
    return plots.figure_of(axes)


def _noise(_results: Results, data: Dataset) -> Figure:
    estimate = Plan(data.d, "oue", 1.0).simulate(data.frequencies, seed=0).estimate()
    axes = plots.plot_noise(estimate.frequencies - data.frequencies, estimate.std_error)
    axes.set_title(f"Noise of OUE at epsilon 1, {data.label}")
    return plots.figure_of(axes)


def _errors(results: Results, data: Dataset) -> Figure:
    drawn = plots.figure(9.5, 4.2)
    everything, rest = drawn.subplots(1, 2)
    methods = (RAW, ZERO, NORM_SUB, MOMENTS, LIKELIHOOD, AUTO, ORACLE)
    for axes, shown in ((everything, methods), (rest, methods[1:])):
        _lines(
            axes, results, shown, lambda row: row.data == data.label and row.metric == "error", lambda row: row.epsilon
        )
        axes.set_yscale("log")
        axes.set_xlabel("privacy budget epsilon")
        axes.set_ylabel("estimation error (mean squared error, users²)")
    everything.set_title(f"OUE, {data.label}")
    rest.set_title("the same without raw OUE")
    everything.legend(fontsize="small")
    return drawn


def _by_threshold(results: Results, data: Dataset) -> Figure:
    drawn = _scores(
        results,
        lambda row: row.data == data.label and row.epsilon == THRESHOLD_EPSILON and row.threshold is not None,
        lambda row: row.threshold or 0.0,
        "threshold over the significance threshold",
    )
    for axes in drawn.axes:
        axes.axvline(1.0, color=plots.BLACK, linewidth=0.8)
        axes.set_xscale("log", base=2)
        axes.set_xticks([0.125, 0.25, 0.5, 1, 2, 4], ["1/8", "1/4", "1/2", "1", "2", "4"])
    drawn.suptitle(f"Heavy hitters by threshold, OUE at epsilon {THRESHOLD_EPSILON:g}, {data.label}")
    return drawn


def _by_epsilon(results: Results, data: Dataset) -> Figure:
    drawn = _scores(
        results,
        lambda row: row.data == data.label and row.threshold == 1.0,
        lambda row: row.epsilon,
        "privacy budget epsilon",
    )
    drawn.suptitle(f"Heavy hitters at the significance threshold, OUE, {data.label}")
    return drawn


def _mechanisms(results: Results, data: Dataset) -> Figure:
    rows = results.select(
        lambda row: row.metric == "error" and row.mechanism != "oue" and row.data.startswith(data.label)
    )
    places = list(dict.fromkeys((row.mechanism, row.data) for row in rows))
    methods = (RAW, ZERO, LIKELIHOOD, AUTO, ORACLE)
    axes = plots.figure(8.5, 4.2).add_subplot()
    for place, method in enumerate(methods):
        heights = [next(r.mean for r in rows if (r.mechanism, r.data, r.method) == (*key, method)) for key in places]
        at = np.arange(len(places)) + (place - 2) * 0.16
        axes.bar(at, heights, 0.15, label=method, color=_STYLES[method]["color"], edgecolor=plots.BLACK, linewidth=0.4)
    axes.set_yscale("log")
    names = [
        name if label == data.label else f"{name}\n{label.removeprefix(data.label).strip(', ')}"
        for name, label in places
    ]
    axes.set_xticks(np.arange(len(places)), names)
    axes.set_ylabel("estimation error (mean squared error, users²)")
    axes.set_xlabel("mechanism")
    axes.set_title(f"Calibrate appended to other mechanisms, epsilon {rows[0].epsilon:g}, {data.label}")
    axes.legend(fontsize="small", ncols=5, loc="upper center", bbox_to_anchor=(0.5, -0.18))
    return plots.figure_of(axes)


def _coverage(results: Results, data: Dataset) -> Figure:
    axes = plots.figure().add_subplot()
    kinds = {"covered": "all items", "heavy covered": "items estimated above the significance threshold"}
    rows = results.select(lambda row: row.data == data.label and row.mechanism == "oue" and row.metric in kinds)
    lines = {
        name: _points([row for row in rows if row.metric == metric], lambda row: row.epsilon)
        for metric, name in kinds.items()
    }
    plots.plot_lines(lines, dict(zip(lines, (_STYLES[AUTO], _STYLES[ZERO]), strict=True)), axes)
    axes.axhline(0.9, color=plots.BLACK, linewidth=0.8)
    axes.set_ylim(0.7, 1.0)
    axes.set_xlabel("privacy budget epsilon")
    axes.set_ylabel("share of true frequencies within their 90% interval")
    axes.set_title(f"Coverage of auto's intervals, OUE, {data.label}")
    axes.legend()
    return plots.figure_of(axes)


FIGURES: Mapping[str, Callable[[Results, Dataset], Figure]] = {
    "frequencies": _frequencies,
    "noise": _noise,
    "errors": _errors,
    "hitters-by-threshold": _by_threshold,
    "hitters-by-epsilon": _by_epsilon,
    "mechanisms": _mechanisms,
    "coverage": _coverage,
}


def _scores(results: Results, wanted: Callable[[Row], bool], place: Callable[[Row], float], label: str) -> Figure:
    drawn = plots.figure(11, 4.4)
    methods = (RAW, ZERO, MOMENTS, LIKELIHOOD, AUTO_F1, ORACLE_F1)
    for axes, metric in zip(drawn.subplots(1, 3), SCORES, strict=True):
        _lines(axes, results, methods, lambda row, metric=metric: wanted(row) and row.metric == metric, place)  # type: ignore[misc]
        axes.set_xlabel(label)
        axes.set_ylabel(metric)
        axes.set_ylim(-0.02, 1.02)
    handles, names = drawn.axes[0].get_legend_handles_labels()
    drawn.legend(handles, names, loc="outside lower center", ncols=len(names), fontsize="small")
    return drawn


def _lines(
    axes: Any, results: Results, methods: tuple[str, ...], wanted: Callable[[Row], bool], place: Callable[[Row], float]
) -> None:
    rows = results.select(lambda row: row.mechanism == "oue" and wanted(row))
    lines = {method: _points([row for row in rows if row.method == method], place) for method in methods}
    plots.plot_lines(lines, _STYLES, axes)


def _points(rows: list[Row], place: Callable[[Row], float]) -> tuple[list[float], list[float], list[float]]:
    ordered = sorted(rows, key=place)
    return [place(row) for row in ordered], [row.mean for row in ordered], [row.std_error for row in ordered]
