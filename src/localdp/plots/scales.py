"""Draw the answers to a `Scale`: a histogram with its intervals, and the cumulative curve."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from localdp.errors import InvalidInputError
from localdp.estimate.on_scale import Placed
from localdp.plots.charts import BLUE, SKY, VERMILLION, figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_POINTS = 40  # of the cumulative curve; each takes a sum over all cells


def plot_scale(calibrated: Placed, axes: Axes | None = None) -> Axes:
    """Draw the share of every cell as a bar with its 90% interval, and the median."""
    _require_scale(calibrated)
    axes = figure().subplots() if axes is None else axes
    cells = calibrated.starts.size
    middles = (calibrated.starts + calibrated.ends) / 2
    width = float(np.diff(middles).min())
    shares = calibrated.frequencies[:cells] / calibrated.n
    low, high = (side[:cells] / calibrated.n for side in calibrated.interval())
    axes.bar(middles, 100 * shares, 0.94 * width, color=SKY, label="share")
    axes.vlines(middles, 100 * low, 100 * high, color=BLUE, linewidth=1.2, label="90% interval")
    median = calibrated.percentile(50)
    axes.axvline(median.value, color=VERMILLION, linestyle="--", label=f"median {median.value:,.4g}")
    axes.set_xlim(float(middles[0]) - width, float(middles[-1]) + width)
    axes.set_ylim(bottom=0)
    axes.set_ylabel("share of the people, %")
    axes.legend()
    return axes


def plot_cumulative(calibrated: Placed, axes: Axes | None = None) -> Axes:
    """Draw the share of the people up to each number, with a band of 90% intervals."""
    _require_scale(calibrated)
    axes = figure().subplots() if axes is None else axes
    cells = calibrated.starts.size
    chosen = np.unique(np.linspace(0, cells - 1, min(cells, _POINTS)).round().astype(int))
    found = [calibrated.share_between(float(calibrated.starts[0]), float(calibrated.ends[cell])) for cell in chosen]
    ends = calibrated.ends[chosen]
    low, high = (100 * np.array([getattr(one, side) for one in found]) for side in ("low", "high"))
    axes.fill_between(ends, low, high, color=SKY, alpha=0.6, label="90% interval")
    axes.plot(ends, [100 * one.value for one in found], color=BLUE, label="share up to here")
    axes.set_ylim(0, 100)
    axes.set_ylabel("share of the people, %")
    axes.legend(loc="lower right")
    return axes


def _require_scale(calibrated: object) -> None:
    if not isinstance(calibrated, Placed):
        raise InvalidInputError("this picture is of the calibrated answers to a Scale: use plot_estimates for others")
