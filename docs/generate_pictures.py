"""Draw the pictures of README.md, the home page and the page about pictures: `python docs/generate_pictures.py`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import answer_path
import numpy as np

import localdp as ldp
from localdp import plots

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

EPSILON = 4.0
LARGEST_SHOWN = 2_500
RANKS_SHOWN = (8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384)
IMAGES = Path(__file__).parent / "images"
STATIC = Path(__file__).parent / "_static"  # where HTML in a page finds a picture, before and after it is built


def main() -> None:
    """Draw all of them; those of the supermarket show one simulated collection."""
    (STATIC / "path-wide.svg").write_text(answer_path.wide(), "utf-8")
    (STATIC / "path-tall.svg").write_text(answer_path.tall(), "utf-8")
    data = ldp.datasets.load("retail")
    estimate = ldp.Plan(data.d, epsilon=EPSILON).simulate(data.frequencies, seed=7).estimate()
    calibrated = estimate.calibrate()
    against_truth("Before Calibrate", "raw", estimate.frequencies, data.frequencies, plots.VERMILLION)
    against_truth("After Calibrate", "calibrated", calibrated.frequencies, data.frequencies, plots.BLUE)
    how_sure(estimate, calibrated, data.frequencies)
    gallery(data, calibrated)


def against_truth(title: str, name: str, frequencies: np.ndarray, truth: np.ndarray, colour: str) -> None:
    """Draw every product at its true and its estimated frequency; a perfect estimate would lie on the line."""
    figure = plots.figure(5.4, 4.9)
    axes = figure.subplots()
    axes.plot([0, LARGEST_SHOWN], [0, LARGEST_SHOWN], color=plots.BLACK, linewidth=1.2)
    axes.annotate("a perfect estimate", (1_900, 1_900), (1_150, 2_330), arrowprops={"arrowstyle": "-", "lw": 0.8})
    axes.plot(truth, frequencies, "o", color=colour, markersize=3.6, markeredgewidth=0, alpha=0.4)
    axes.set_xlim(-80, LARGEST_SHOWN)
    axes.set_ylim(-1_000, LARGEST_SHOWN)
    error = np.sqrt(np.mean((frequencies - truth) ** 2))
    axes.set_title(f"{title}\nroot mean square error: {error:.0f} people", fontsize=13)
    axes.set_xlabel("people who really bought the product", fontsize=12)
    axes.set_ylabel(f"{name} estimate of that number", fontsize=12)
    _tidy(axes)
    _save(figure, name)


def how_sure(estimate: ldp.Estimate, calibrated: ldp.Calibrated, truth: np.ndarray) -> None:
    """Draw raw, calibrated and true frequencies of a few products, with the intervals."""
    ranked = np.argsort(-estimate.frequencies, kind="stable")
    chosen = ranked[np.array(RANKS_SHOWN) - 1]
    places = np.arange(chosen.size)
    low, high = (side[chosen] for side in calibrated.interval(0.9))
    figure = plots.figure(7.2, 5.2)
    axes = figure.subplots()
    axes.hlines(places, low, high, color=plots.SKY, linewidth=9, alpha=0.6, label="calibrated: 90% interval")
    axes.plot(calibrated.frequencies[chosen], places, "o", color=plots.BLUE, markersize=8, label="calibrated")
    axes.plot(
        estimate.frequencies[chosen],
        places,
        "o",
        color=plots.VERMILLION,
        markerfacecolor="none",
        markeredgewidth=2,
        markersize=8,
        label="raw",
    )
    axes.plot(truth[chosen], places, "x", color=plots.BLACK, markersize=9, markeredgewidth=2.5, label="truth")
    names = [f"no. {rank}" for rank in RANKS_SHOWN]
    axes.set_yticks(places, names)
    axes.invert_yaxis()
    axes.set_xlim(left=-40)
    axes.set_xlabel("people who bought the product", fontsize=12)
    axes.set_ylabel("product, by size of its raw estimate", fontsize=12)
    axes.legend(loc="lower right", fontsize=12)
    _tidy(axes)
    _save(figure, "how-sure")


def gallery(data: ldp.datasets.Dataset, calibrated: ldp.Calibrated) -> None:
    """Draw the four main pictures of `localdp.plots`."""
    drawn = {
        "estimates": plots.plot_estimates(calibrated, data.frequencies, axes=_empty()),
        "hitters": plots.plot_hitters(calibrated.heavy_hitters("0.2%", rule="f1"), axes=_empty()),
        "prior": plots.plot_prior(calibrated, data.frequencies, axes=_empty()),
        "calibration": plots.plot_calibration(calibrated, axes=_empty()),
    }
    for name, axes in drawn.items():
        axes.set_title(f"plot_{name}")
        _save(plots.figure_of(axes), f"gallery-{name}", dpi=120)


def _empty() -> Axes:
    return plots.figure(6, 5).subplots()


def _save(figure: Figure, name: str, dpi: int = 150) -> None:
    figure.get_layout_engine().set(w_pad=0.12, h_pad=0.12)  # on a dark page, letters should not touch the edge
    figure.savefig(IMAGES / f"{name}.png", dpi=dpi, metadata={"Software": None})


def _tidy(axes: Axes) -> None:
    axes.xaxis.set_major_formatter("{x:,.0f}")
    if axes.get_ylim()[0] < 0 and not axes.yaxis_inverted():
        axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.tick_params(labelsize=11)
    axes.spines[["top", "right"]].set_visible(False)


if __name__ == "__main__":
    main()
