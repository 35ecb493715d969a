"""Draw the figures of the paper's evaluation, and some that it does not have, from the means of a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from localdp import plots
from localdp.datasets import Dataset
from localdp.experiments.claims.errors import published, relative_gain
from localdp.experiments.claims.hitters import USERS
from localdp.experiments.measures import bloom
from localdp.experiments.measures.few_items import most_frequent
from localdp.experiments.results import Mean, Results
from localdp.experiments.tasks import (
    AUTO,
    AUTO_F1,
    FITS,
    LIKELIHOOD,
    MOMENTS,
    NORM_SUB,
    ORACLE,
    ORACLE_F1,
    RAW,
    THRESHOLD_EPSILON,
    ZERO,
    Task,
)
from localdp.plan import Plan
from localdp.types import Vector

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


def _bloom(_results: Results, data: Dataset) -> Figure:
    drawn = plots.figure(10, 7.6)
    measured = bloom.noises(Task(data, "bloom", THRESHOLD_EPSILON))
    for row, name in zip(drawn.subplots(2, 2), (bloom.PURE, bloom.NAME), strict=True):
        noise, again, deviation = measured[name]
        reach = 4.5 * max(deviation, float(noise.std()))
        shape, repeated = row
        shape.hist(
            noise, bins=np.linspace(-reach, reach, 90), density=True, color=plots.SKY, label="noise of the items"
        )
        x = np.linspace(-reach, reach, 600)
        fitted = max(float(noise.std()), 1e-9)
        shape.plot(x, _gaussian(x, fitted), color=plots.VERMILLION, label=f"Gaussian, measured deviation {fitted:,.0f}")
        expected = f"Gaussian, expected deviation {deviation:,.0f}"
        shape.plot(x, _gaussian(x, deviation), color=plots.BLACK, linestyle="--", label=expected)
        shape.set_ylim(top=1.45 * _gaussian(np.zeros(1), min(deviation, fitted))[0])  # leaves room for the legend
        shape.set_xlabel("estimated minus true frequency (users)")
        shape.set_ylabel("density")
        shape.set_title(f"{name}: the noise of all items", fontsize="medium")
        shape.legend(fontsize="small", loc="upper left")
        alpha = float(np.clip(2_000 / noise.size, 0.1, 1))
        repeated.plot(noise, again, ".", color=plots.BLUE, markersize=3, alpha=alpha, rasterized=True)
        repeated.set_xlim(-reach, reach)
        repeated.set_ylim(-reach, reach)
        repeated.set_xlabel("noise of an item in one collection (users)")
        repeated.set_ylabel("in another collection")
        for axes in (shape, repeated):
            axes.xaxis.set_major_formatter("{x:,.0f}")
            axes.locator_params(axis="x", nbins=5)
        repeated.yaxis.set_major_formatter("{x:,.0f}")
        repeated.set_title(f"{name}: correlation {_correlation(noise, again):.2f}", fontsize="medium")
    drawn.suptitle(
        f"Noise of a pure mechanism and of one that is not, epsilon {THRESHOLD_EPSILON:g}, {plots.plain(data.label)}"
    )
    return drawn


def _gaussian(x: Vector, deviation: float) -> Vector:
    density: Vector = np.exp(-0.5 * (x / deviation) ** 2) / (deviation * np.sqrt(2 * np.pi))
    return density


def _correlation(first: Vector, second: Vector) -> float:
    found = float(np.corrcoef(first, second)[0, 1]) if min(first.std(), second.std()) > 0 else 0.0
    return round(found, 2) + 0.0  # never shown as -0.00


def _gains(results: Results, data: Dataset) -> Figure:
    axes = plots.figure().add_subplot()
    epsilons = results.epsilons(data.label)
    shown: list[float] = []
    for method in (*FITS.values(), AUTO):
        gains = [relative_gain(results, data, epsilon, method) for epsilon in epsilons]
        margins = [gain.margin if np.isfinite(gain.margin) else 0.0 for gain in gains]
        line = (epsilons, [100 * gain.value for gain in gains], [100 * margin for margin in margins])
        shown += line[1]
        plots.plot_lines({method: line}, _STYLES, axes)
    theirs = published(data).gains
    if theirs:
        axes.plot(
            list(theirs),
            [100 * gain for gain in theirs.values()],
            "P",
            color=plots.BLACK,
            markersize=11,
            zorder=1,
            label="the paper",
        )
    axes.axhline(0, color=plots.BLACK, linewidth=0.8)
    axes.set_ylim(min(-5.0, 1.2 * min(shown)), 1.2 * max(5.0, *shown))  # whatever the intervals of few trials are
    axes.set_xlabel("privacy budget epsilon")
    axes.set_ylabel("(Zero - Calibrate)/Calibrate, percent")
    axes.set_title(f"Gain over Zero, OUE, {plots.plain(data.label)}")
    axes.legend()
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
    users = results.find(data.label, THRESHOLD_EPSILON, RAW, USERS, 1.0).mean
    for axes in drawn.axes:
        axes.axvline(1.0, color=plots.BLACK, linewidth=0.8)
        axes.set_xscale("log", base=2)
        axes.set_xticks([0.125, 0.25, 0.5, 1, 2, 4], ["1/8", "1/4", "1/2", "1", "2", "4"])
    ticks = (0.125, 0.25, 0.5, 1, 2, 4)
    _name_thresholds(drawn, {multiple: multiple * users for multiple in ticks})
    drawn.suptitle(f"Heavy hitters by threshold, OUE at epsilon {THRESHOLD_EPSILON:g}, {plots.plain(data.label)}")
    return drawn


def _by_epsilon(results: Results, data: Dataset) -> Figure:
    drawn = _scores(
        results,
        lambda mean: mean.data == data.label and mean.threshold == 1.0,
        lambda mean: mean.epsilon,
        "privacy budget epsilon",
    )
    users = {
        mean.epsilon: mean.mean
        for mean in results.select(
            lambda mean: mean.data == data.label and mean.metric == USERS and mean.threshold == 1.0
        )
    }
    _name_thresholds(drawn, users)
    drawn.suptitle(f"Heavy hitters at the significance threshold, OUE, {plots.plain(data.label)}")
    return drawn


def _name_thresholds(drawn: Figure, users: Mapping[float, float]) -> None:
    """Give every panel an upper axis with thresholds in users, at these places of the lower axis."""
    for axes in list(drawn.axes):
        above = axes.secondary_xaxis("top")
        above.set_xticks(list(users), [f"{threshold:,.0f}" for threshold in users.values()], rotation=40)
        above.minorticks_off()
        above.set_xlabel("threshold (users)")
        above.tick_params(labelsize="small")


def _mechanisms(results: Results, data: Dataset) -> Figure:
    # `ss` runs on the most frequent items only: its label is that of the data set with the number of items added.
    means = results.select(
        lambda mean: (
            mean.metric == "error" and mean.mechanism != "oue" and mean.data in (data.label, most_frequent(data).label)
        )
    )
    places = list(dict.fromkeys((mean.mechanism, mean.data) for mean in means))
    methods = (RAW, ZERO, MOMENTS, LIKELIHOOD, AUTO, ORACLE)
    axes = plots.figure(8.5, 4.2).add_subplot()
    for place, method in enumerate(methods):
        heights = [next(m.mean for m in means if (m.mechanism, m.data, m.method) == (*key, method)) for key in places]
        at = np.arange(len(places)) + (place - 2.5) * 0.14
        axes.bar(at, heights, 0.13, label=method, color=_STYLES[method]["color"], edgecolor=plots.BLACK, linewidth=0.4)
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
    axes.legend(fontsize="small", ncols=6, loc="upper center", bbox_to_anchor=(0.5, -0.18))
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
    "bloom": _bloom,
    "errors": _errors,
    "gains": _gains,
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
