"""Draw frequencies, priors and heavy hitters of your own data with matplotlib (the extra `plots`).

Every function draws on the `axes` that it is given, or on those of a new figure, and returns the axes. A notebook shows
what it returns. Save the figure that the axes belong to with `figure_of(axes)`:

>>> import localdp as ldp
>>> estimate = ldp.Plan(["tea", "coffee", "milk"], epsilon=2.0).simulate([600, 300, 100], seed=1).estimate()
>>> axes = plot_estimates(estimate.calibrate())
>>> figure_of(axes).savefig("estimates.png")  # doctest: +SKIP
>>> [label.get_text() for label in axes.get_yticklabels()]
['tea', 'coffee', 'milk']

Colour-blind readers can tell the colours apart (M. Okabe and K. Ito, 2008), and in black and white the markers and
the line styles differ.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from localdp.errors import FrequencyError, InvalidInputError, MissingPackageError, UnknownItemError
from localdp.estimate import Frequencies
from localdp.estimate.calibrated import Calibrated
from localdp.hitters import HeavyHitters
from localdp.plots.fonts import drawable
from localdp.table import printable
from localdp.types import Vector

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY, BLACK = (
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#CC79A7",
    "#E69F00",
    "#56B4E9",
    "#000000",
)


def figure(width: float = 7.0, height: float = 4.2) -> Figure:
    """An empty figure of this width and height in inches. It needs no display and no global state.

    >>> figure(4, 3).get_size_inches().tolist()
    [4.0, 3.0]
    """
    try:
        from localdp.plots.pictures import Picture
    except ImportError:
        raise MissingPackageError("pictures need the package matplotlib: pip install matplotlib") from None
    return Picture(figsize=(width, height), dpi=150, layout="constrained")


def figure_of(axes: Axes) -> Figure:
    """The figure that the axes belong to, for example to save it."""
    drawn = axes.get_figure(root=True)
    if drawn is None:
        raise InvalidInputError("these axes do not belong to a figure any more: draw them again")
    return drawn


def plot_estimates(
    frequencies: Frequencies, truth: ArrayLike | None = None, top: int = 20, axes: Axes | None = None
) -> Axes:
    """Draw the `top` most frequent items with their 90% intervals, and the true frequencies if they are given."""
    if isinstance(top, bool) or not isinstance(top, int) or top < 1:
        raise InvalidInputError(f"the number of items to show must be a whole number of at least 1, not {top!r:.40}")
    axes = _axes(axes, height=1.2 + 0.26 * min(top, frequencies.domain.size))
    chosen = np.argsort(-frequencies.frequencies, kind="stable")[:top]
    low, high = (side[chosen] for side in frequencies.interval())
    places = np.arange(chosen.size)
    kind = "calibrated" if isinstance(frequencies, Calibrated) else "estimated"
    axes.hlines(places, low, high, color=SKY, linewidth=5, label="90% interval")
    axes.plot(frequencies.frequencies[chosen], places, "o", color=BLUE, markersize=5, label=kind)
    if truth is not None:
        axes.plot(_matching(truth, frequencies)[chosen], places, "x", color=BLACK, markersize=7, label="truth")
    _name_items(axes, [frequencies.domain.items[index] for index in chosen.tolist()])
    _scale_users(axes, low, high)
    axes.legend(loc="lower right")
    return axes


def plot_hitters(hitters: HeavyHitters, top: int = 30, axes: Axes | None = None) -> Axes:
    """Draw the first `top` heavy hitters with 90% intervals, and the threshold. Darker points are more probable."""
    shown = min(top, len(hitters))
    axes = _axes(axes, height=1.2 + 0.26 * max(shown, 2))
    places = np.arange(shown)
    low, high = (side[:shown] for side in hitters.intervals)
    axes.hlines(places, low, high, color=SKY, linewidth=5, label="90% interval")
    points = axes.scatter(
        hitters.frequencies[:shown],
        places,
        c=hitters.probabilities[:shown],
        vmin=0,
        vmax=1,
        cmap="cividis_r",
        edgecolors=BLACK,
        linewidths=0.5,
        zorder=3,
    )
    axes.figure.colorbar(points, ax=axes, label="probability")
    if hitters.threshold is not None:
        axes.axvline(hitters.threshold, color=VERMILLION, linestyle="--", label="threshold")
    _name_items(axes, hitters.items[:shown])
    _scale_users(axes, low, high)
    if shown:
        axes.legend(loc="lower right")
    more = f", the first {shown}" if shown < len(hitters) else ""
    axes.set_title(f"{hitters.table().title}{more}", fontsize="medium")
    return axes


def plot_prior(calibrated: Calibrated, truth: ArrayLike | None = None, axes: Axes | None = None) -> Axes:
    """Draw the fitted prior, and the distribution of the true frequencies if they are given.

    A prior with atoms has a vertical line for each; an atom at frequency 0 is drawn at 0.5, on the logarithmic axis.
    """
    axes = _axes(axes)
    prior = calibrated.prior
    if truth is not None:
        plot_frequencies(_matching(truth, calibrated), axes=axes, label="truth", color=SKY)
    if prior.atoms is not None:
        values, masses = prior.atoms[0], np.exp(prior.atoms[1])
        axes.vlines(np.maximum(values, 0.5), masses.min() / 2, masses, color=BLUE, linewidth=2)
        axes.plot(np.maximum(values, 0.5), masses, "o", color=BLUE, label=f"prior: {prior.name} (atoms)")
    else:
        k = np.unique(np.geomspace(max(prior.first, 1), prior.largest, 400).round())
        axes.plot(k, np.exp(prior.log_mass(k)), color=BLUE, label=f"prior: {prior.name}")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_ylim(bottom=1e-9)
    axes.set_xlabel("frequency k (users)")
    axes.set_ylabel("share of items with frequency k")
    axes.legend()
    return axes


def plot_predicted(calibrated: Calibrated, axes: Axes | None = None) -> Axes:
    """Draw a histogram of the raw estimates, and the density that the prior and the noise predict for them.

    Where the two differ, the prior or the noise is wrong. The picture shows the estimates from the smallest to twenty
    standard errors, or to the largest if that is less.
    """
    axes = _axes(axes)
    estimates = calibrated.estimates
    low, high = float(estimates.min()), float(estimates.max())
    high = min(high, 20 * max(calibrated.std_error, 1.0))
    edges = np.linspace(low, max(high, low + 1.0), 101)
    counts, _ = np.histogram(estimates, edges)
    axes.stairs(counts / (estimates.size * np.diff(edges)), edges, fill=True, color=SKY, label="raw estimates")
    x = np.linspace(edges[0], edges[-1], 800)
    label = f"predicted: {calibrated.prior.name} and noise"
    axes.plot(x, calibrated.predicted_density(x), color=BLUE, label=label)
    axes.set_yscale("log")
    axes.set_ylim(bottom=0.2 / (estimates.size * (edges[1] - edges[0])))
    axes.set_xlabel("raw estimate (users)")
    axes.set_ylabel("density")
    axes.legend()
    return axes


def plot_calibration(calibrated: Calibrated, axes: Axes | None = None) -> Axes:
    """Draw what Calibrate does: the posterior mean and the 90% interval as functions of the raw estimate."""
    axes = _axes(axes)
    order = np.argsort(calibrated.estimates)
    order = order[np.unique(np.linspace(0, order.size - 1, 4_000).astype(int))]  # more points would not be seen
    x = calibrated.estimates[order]
    low, high = (side[order] for side in calibrated.interval())
    axes.fill_between(x, low, high, color=SKY, alpha=0.5, linewidth=0, label="90% interval")
    axes.plot(x, calibrated.frequencies[order], color=BLUE, label="calibrated")
    axes.plot(x, x, color=BLACK, linestyle=":", label="unchanged")
    scale = max(calibrated.std_error, 1.0)
    axes.set_xscale("symlog", linthresh=scale)
    axes.set_yscale("symlog", linthresh=scale)
    axes.set_xlabel("raw estimate (users; linear within one standard error of 0)")
    axes.set_ylabel("calibrated frequency (users)")
    axes.set_ylim(bottom=0)
    axes.legend()
    return axes


def plot_frequencies(
    frequencies: ArrayLike, axes: Axes | None = None, label: str | None = None, color: str = BLUE
) -> Axes:
    """Draw the share of items that have each frequency, on logarithmic axes. A power law is a straight line.

    >>> plot_frequencies([1, 1, 1, 2, 2, 7]).get_xlabel()
    'frequency k (users)'
    """
    axes = _axes(axes)
    values, counts = np.unique(np.asarray(frequencies), return_counts=True)
    held = values > 0
    axes.plot(
        values[held],
        counts[held] / counts.sum(),
        "o",
        color=color,
        markersize=3,
        label=label,
        rasterized=held.sum() > 500,  # keeps SVG and PDF files small
    )
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("frequency k (users)")
    axes.set_ylabel("share of items with frequency k")
    return axes


def plot_noise(noise: ArrayLike, deviation: float, axes: Axes | None = None) -> Axes:
    """Draw a histogram of the noise of many estimates, the Gaussian fitted to it, and the Gaussian of the theory.

    `noise` is the estimates minus the true frequencies; `deviation` is the standard deviation that theory gives.
    """
    axes = _axes(axes)
    values = np.asarray(noise, np.float64)
    mean, spread = float(values.mean()), float(values.std())
    axes.hist(values, bins=80, density=True, color=SKY, label="noise of the estimates")
    x = np.linspace(-4.5 * deviation, 4.5 * deviation, 400)
    fitted = np.exp(-0.5 * ((x - mean) / spread) ** 2) / (spread * np.sqrt(2 * np.pi))
    theory = np.exp(-0.5 * (x / deviation) ** 2) / (deviation * np.sqrt(2 * np.pi))
    axes.plot(x, fitted, color=VERMILLION, label=f"fitted: mean {mean:,.1f}, deviation {spread:,.0f}")
    axes.plot(x, theory, color=BLACK, linestyle="--", label=f"theory: mean 0, deviation {deviation:,.0f}")
    axes.set_xlim(-4.5 * deviation, 4.5 * deviation)
    axes.set_xlabel("estimated minus true frequency (users)")
    axes.set_ylabel("density")
    axes.legend(loc="upper left", fontsize="small")
    return axes


def plot_lines(
    lines: Mapping[str, tuple[Sequence[float], Sequence[float], Sequence[float]]],
    styles: Mapping[str, Mapping[str, Any]] | None = None,
    axes: Axes | None = None,
) -> Axes:
    """Draw named lines, each as (x, y, standard error of y), in different colours, markers and line styles.

    `styles` gives the style of each line by its name; without it, `STYLES` are used in turn.

    >>> axes = plot_lines({"raw": ([1, 2], [9.0, 4.0], [0.5, 0.5]), "calibrated": ([1, 2], [3.0, 1.0], [0.2, 0.2])})
    >>> axes.get_legend_handles_labels()[1]
    ['raw', 'calibrated']
    """
    axes = _axes(axes)
    for place, (name, (x, y, error)) in enumerate(lines.items()):
        style = STYLES[place % len(STYLES)] if styles is None else styles[name]
        axes.errorbar(x, y, yerr=error, label=name, capsize=2, markersize=5, linewidth=1.4, **style)
    return axes


STYLES: tuple[Mapping[str, Any], ...] = tuple(
    {"color": color, "marker": marker, "linestyle": stroke}
    for color, marker, stroke in (
        (BLACK, "x", ":"),
        (ORANGE, "s", "--"),
        (PURPLE, "v", "-."),
        (SKY, "D", "--"),
        (VERMILLION, "^", "-."),
        (BLUE, "o", "-"),
        (GREEN, "*", ":"),
    )
)
"""Styles of lines, in the order in which they are used."""


def plain(text: str) -> str:
    """The text, shown by matplotlib as it is: an unescaped dollar sign would start a formula.

    >>> print(plain("$5"))
    \\$5
    """
    return text.replace("$", r"\$")


def _axes(axes: Axes | None, height: float = 4.2) -> Axes:
    if axes is not None:
        return axes
    drawn = figure(height=height)
    from localdp.plots.pictures import PictureAxes

    return drawn.add_subplot(axes_class=PictureAxes)


def _name_items(axes: Axes, items: Sequence[Any]) -> None:
    labels, families = drawable([printable(f"{item}", 24) for item in items])
    axes.set_yticks(np.arange(len(items)), [plain(printable(label)) for label in labels], fontfamily=families)
    axes.set_ylim(len(items) - 0.4, -0.6)
    axes.set_ylabel("item")


def _scale_users(axes: Axes, low: Vector, high: Vector) -> None:
    """Set up the axis of users: logarithmic if the largest frequency is so large that other intervals become dots."""
    axes.set_xlabel("frequency (users)")
    if low.size and low.min() > 0 and high.max() > 10 * low.min():
        axes.set_xscale("log")
        axes.set_xlabel("frequency (users, logarithmic)")
        steps = (1, 2, 5) if high.max() < 500 * low.min() else (1,)  # as many labels as fit side by side
        axes.xaxis.set_major_locator(_log_steps(steps))
        axes.xaxis.set_minor_formatter("")
    axes.xaxis.set_major_formatter("{x:,.0f}")


def _log_steps(steps: tuple[int, ...]) -> Any:
    from matplotlib.ticker import LogLocator

    return LogLocator(subs=steps, numticks=12)


def _matching(truth: ArrayLike, frequencies: Frequencies) -> Vector:
    """The true frequencies as an array, if there is one for each item."""
    try:
        known = np.asarray(frequencies.domain.by_position(truth), np.float64)
    except (TypeError, ValueError) as error:
        if isinstance(error, FrequencyError | UnknownItemError):
            raise
        raise FrequencyError(
            "truth has the true frequency of each item: a list of numbers in the order of the items, or a mapping such "
            "as collections.Counter(answers)"
        ) from None
    if known.shape != (frequencies.domain.size,):
        items = frequencies.domain.size
        raise FrequencyError(f"truth needs a frequency for each of the {items} items, not shape {known.shape}")
    return known
