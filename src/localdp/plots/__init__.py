"""Draw frequencies, priors and heavy hitters of your own data with matplotlib (the extra `plots`)."""

from __future__ import annotations

from localdp.plots.charts import (
    BLACK,
    BLUE,
    GREEN,
    ORANGE,
    PURPLE,
    SKY,
    STYLES,
    VERMILLION,
    figure,
    figure_of,
    plain,
    plot_calibration,
    plot_estimates,
    plot_frequencies,
    plot_hitters,
    plot_lines,
    plot_noise,
    plot_predicted,
    plot_prior,
)
from localdp.plots.scales import plot_cumulative, plot_scale

__all__ = [
    "BLACK",
    "BLUE",
    "GREEN",
    "ORANGE",
    "PURPLE",
    "SKY",
    "STYLES",
    "VERMILLION",
    "figure",
    "figure_of",
    "plain",
    "plot_calibration",
    "plot_cumulative",
    "plot_estimates",
    "plot_frequencies",
    "plot_hitters",
    "plot_lines",
    "plot_noise",
    "plot_predicted",
    "plot_prior",
    "plot_scale",
]
