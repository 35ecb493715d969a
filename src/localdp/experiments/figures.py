"""Draw the figures of the paper's evaluation, and some that it does not have, from the means of a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from localdp import plots
from localdp.datasets import Dataset
from localdp.experiments.claims import THRESHOLD_EPSILON
from localdp.experiments.results import Mean, Results
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
    axes.set_title(f"{plots.plain(data.label)}: {data.n:,} users, {data.d:,} items")
    return plots.figure_of(axes)


def _noise(_results: Results, data: Dataset) -> Figure:
    estimate = Plan(data.d, "oue", 1.0).simulate(data.frequencies, seed=0).estimate()
    axes = plots.plot_noise(estimate.frequencies - data.frequencies, estimate.std_error)
    axes.set_title(f"Noise of OUE at epsilon 1, {plots.plain(data.label)}")
    return plots.figure_of(axes)


def _errors(results: Results, data: Dataset) -> Figure:
    drawn = plots.figure(9.5, 4.2)
    everything, rest = drawn.subplots(1, 2)
    methods = (RAW, ZERO, NORM_SUB, MOMENTS, LIKELIHOOD, AUTO, ORACLE)

    def wanted(mean: Mean) -> bool:
        return mean.data == data.label and mean.metric == "error"

    for axes, shown in ((everything, methods), (rest, methods[1:])):
        _lines(axes, results, shown, wanted, lambda mean: mean.epsilon)
        axes.set_yscale("log")
        axes.set_xlabel("privacy budget epsilon")
        axes.set_ylabel("estimation error (mean squared error, users²)")
    everything.set_title(f"OUE, {plots.plain(data.label)}")
    rest.set_title("the same without raw OUE")
    everything.legend(fontsize="small")
    return drawn


def _by_threshold(results: Results, data: Dataset) -> Figure:
    drawn = _scores(
        results,
        lambda mean: mean.data == data.label and mean.epsilon == THRESHOLD_EPSILON and mean.threshold is not None,
        lambda mean: mean.threshold or 0.0,
        "threshold / significance threshold",
    )
    for axes in drawn.axes:
        axes.axvline(1.0, color=plots.BLACK, linewidth=0.8)
        axes.set_xscale("log", base=2)
        axes.set_xticks([0.125, 0.25, 0.5, 1, 2, 4], ["1/8", "1/4", "1/2", "1", "2", "4"])
    drawn.suptitle(f"Heavy hitters by threshold, OUE at epsilon {THRESHOLD_EPSILON:g}, {plots.plain(data.label)}")
    return drawn


def _by_epsilon(results: Results, data: Dataset) -> Figure:
    drawn = _scores(
        results,
        lambda mean: mean.data == data.label and mean.threshold == 1.0,
        lambda mean: mean.epsilon,
        "privacy budget epsilon",
    )
    drawn.suptitle(f"Heavy hitters at the significance threshold, OUE, {plots.plain(data.label)}")
    return drawn


def _mechanisms(results: Results, data: Dataset) -> Figure:
    # `ss` runs on the most frequent items only: its label is that of the data set with the number of items added.
    means = results.select(
        lambda mean: mean.metric == "error" and mean.mechanism != "oue" and mean.data.startswith(data.label)
    )
    places = list(dict.fromkeys((mean.mechanism, mean.data) for mean in means))
    methods = (RAW, ZERO, LIKELIHOOD, AUTO, ORACLE)
    axes = plots.figure(8.5, 4.2).add_subplot()
    for place, method in enumerate(methods):
        heights = [next(m.mean for m in means if (m.mechanism, m.data, m.method) == (*key, method)) for key in places]
        at = np.arange(len(places)) + (place - 2) * 0.16
        axes.bar(at, heights, 0.15, label=method, color=_STYLES[method]["color"], edgecolor=plots.BLACK, linewidth=0.4)
    axes.set_yscale("log")
    names = [
        name
        if label == data.label
        else f"{name}\n{plots.plain(label).removeprefix(plots.plain(data.label)).strip(', ')}"
        for name, label in places
    ]
    axes.set_xticks(np.arange(len(places)), names)
    axes.set_ylabel("estimation error (mean squared error, users²)")
    axes.set_xlabel("mechanism")
    axes.set_title(f"Calibrate appended to other mechanisms, epsilon {means[0].epsilon:g}, {plots.plain(data.label)}")
    axes.legend(fontsize="small", ncols=5, loc="upper center", bbox_to_anchor=(0.5, -0.18))
    return plots.figure_of(axes)


def _coverage(results: Results, data: Dataset) -> Figure:
    axes = plots.figure().add_subplot()
    kinds = {"covered": "all items", "heavy covered": "items estimated above the significance threshold"}
    means = results.select(lambda mean: mean.data == data.label and mean.mechanism == "oue" and mean.metric in kinds)
    lines = {
        name: _points([mean for mean in means if mean.metric == metric], lambda mean: mean.epsilon)
        for metric, name in kinds.items()
    }
    plots.plot_lines(lines, dict(zip(lines, (_STYLES[AUTO], _STYLES[ZERO]), strict=True)), axes)
    axes.axhline(0.9, color=plots.BLACK, linewidth=0.8)
    axes.set_ylim(0.7, 1.0)
    axes.set_xlabel("privacy budget epsilon")
    axes.set_ylabel("share of true frequencies within their 90% interval")
    axes.set_title(f"Coverage of auto's intervals, OUE, {plots.plain(data.label)}")
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
"""How to draw each figure, by the name of its file."""


def _scores(results: Results, wanted: Callable[[Mean], bool], x_of: Callable[[Mean], float], label: str) -> Figure:
    """Precision, recall and F-score side by side, over an x axis with this label."""
    drawn = plots.figure(11, 4.4)
    methods = (RAW, ZERO, MOMENTS, LIKELIHOOD, AUTO_F1, ORACLE_F1)
    for axes, metric in zip(drawn.subplots(1, 3), SCORES, strict=True):
        _lines(axes, results, methods, lambda mean, metric=metric: wanted(mean) and mean.metric == metric, x_of)  # type: ignore[misc]
        axes.set_xlabel(label)
        axes.set_ylabel(metric)
        axes.set_ylim(-0.02, 1.02)
    handles, names = drawn.axes[0].get_legend_handles_labels()
    drawn.legend(handles, names, loc="outside lower center", ncols=len(names), fontsize="small")
    return drawn


def _lines(
    axes: Any, results: Results, methods: tuple[str, ...], wanted: Callable[[Mean], bool], x_of: Callable[[Mean], float]
) -> None:
    """Draw one line for each method, from the wanted means with OUE."""
    means = results.select(lambda mean: mean.mechanism == "oue" and wanted(mean))
    lines = {method: _points([mean for mean in means if mean.method == method], x_of) for method in methods}
    plots.plot_lines(lines, _STYLES, axes)


def _points(means: list[Mean], x_of: Callable[[Mean], float]) -> tuple[list[float], list[float], list[float]]:
    """The x, the mean and the standard error of every point of a line, from left to right."""
    ordered = sorted(means, key=x_of)
    return [x_of(mean) for mean in ordered], [mean.mean for mean in ordered], [mean.std_error for mean in ordered]
