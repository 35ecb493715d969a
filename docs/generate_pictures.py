"""Draw the pictures of the home page and of the page about pictures: `python docs/generate_pictures.py`."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import localdp as ldp
from localdp import plots

EPSILON = 4.0
SHOWN = 200


IMAGES = Path(__file__).parent / "images"


def main() -> None:
    """Draw both from the same simulated run."""
    data = ldp.datasets.load("retail")
    estimate = ldp.Plan(data.d, "oue", EPSILON).simulate(data.frequencies, seed=7).estimate()
    home(data, estimate, estimate.calibrate())
    gallery(data, estimate.calibrate())


def gallery(data: ldp.datasets.Dataset, calibrated: ldp.Calibrated) -> None:
    """Draw the four main pictures of `localdp.plots` side by side."""
    figure = plots.figure(13, 10)
    (first, second), (third, fourth) = figure.subplots(2, 2)
    plots.plot_estimates(calibrated, data.frequencies, axes=first).set_title("plot_estimates")
    plots.plot_hitters(calibrated.heavy_hitters("0.2%", rule="f1"), axes=second).set_title("plot_hitters")
    plots.plot_prior(calibrated, data.frequencies, axes=third).set_title("plot_prior")
    plots.plot_calibration(calibrated, axes=fourth).set_title("plot_calibration")
    figure.savefig(IMAGES / "gallery.png", dpi=100, metadata={"Software": None})


def home(data: ldp.datasets.Dataset, estimate: ldp.Estimate, calibrated: ldp.Calibrated) -> None:
    """Draw the largest raw estimates, the same items after Calibrate, and the true frequencies."""
    top = np.argsort(-estimate.frequencies)[:SHOWN]
    ranks = np.arange(SHOWN) + 1
    figure = plots.figure(10, 4.2)
    left, right = figure.subplots(1, 2, sharex=True, sharey=True)
    low, high = (side[top] for side in calibrated.interval(0.9))
    left.plot(ranks, estimate.frequencies[top], "o", color=plots.VERMILLION, markersize=3, label="raw estimate")
    right.vlines(ranks, np.maximum(low, 1), high, color=plots.SKY, linewidth=2, label="90% interval")
    right.plot(ranks, calibrated.frequencies[top], "o", color=plots.BLUE, markersize=3, label="calibrated")
    for axes, title in ((left, "What the private reports add up to"), (right, "What Calibrate makes of it")):
        axes.plot(
            ranks,
            np.maximum(data.frequencies[top], 1),
            "x",
            color=plots.BLACK,
            markersize=4,
            label="truth (nobody sees it)",
        )
        axes.set_title(title)
        axes.set_xlabel("item, by rank of its raw estimate")
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.legend(loc="lower left", fontsize="small")
    left.set_ylabel("frequency (users)")
    figure.suptitle(f"{data.n:,} people, {data.d:,} items, epsilon {EPSILON:g}: the {SHOWN} largest estimates")
    figure.savefig(IMAGES / "home.png", metadata={"Software": None})


if __name__ == "__main__":
    main()
