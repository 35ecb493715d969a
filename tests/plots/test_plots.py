"""Pictures show what they are asked to show; how they look was judged by eye."""

from __future__ import annotations

import itertools
import sys
from collections import Counter

import numpy as np
import pytest

import localdp as ldp
from localdp import plots
from localdp.errors import FrequencyError, InvalidInputError, MissingPackageError

TRUTH = (20_000 / np.arange(1, 301) ** 1.2).astype(np.int64)


@pytest.fixture(scope="module")
def estimate():
    return ldp.Plan([f"item {place}" for place in range(300)], "oue", 2.0).simulate(TRUTH, seed=1).estimate()


@pytest.fixture(scope="module")
def calibrated(estimate):
    return estimate.calibrate()


def _names(axes):
    return [label.get_text() for label in axes.get_yticklabels()]


def test_estimates_show_the_largest_items_with_the_truth(estimate, calibrated):
    for frequencies, kind in ((estimate, "estimated"), (calibrated, "calibrated")):
        axes = plots.plot_estimates(frequencies, TRUTH, top=7)
        order = np.argsort(-frequencies.frequencies)[:7]
        assert _names(axes) == [f"item {place}" for place in order]
        shown = {line.get_label(): line.get_xdata() for line in axes.lines}
        assert shown[kind].tolist() == frequencies.frequencies[order].tolist()
        assert shown["truth"].tolist() == TRUTH[order].tolist()
        assert "users" in axes.get_xlabel()


def test_hitters_show_the_threshold(calibrated):
    hits = calibrated.heavy_hitters("1%")
    axes = plots.plot_hitters(hits)
    assert _names(axes) == list(hits.items)
    assert axes.lines[0].get_xdata()[0] == hits.threshold
    plots.figure_of(plots.plot_hitters(calibrated.top(3))).draw_without_rendering()
    plots.figure_of(plots.plot_hitters(calibrated.heavy_hitters(10**9))).draw_without_rendering()


@pytest.mark.parametrize("spread", [12, 40, 400, 4_000])
def test_the_labels_of_a_logarithmic_axis_do_not_overlap(spread):
    wide = ldp.Estimate(np.geomspace(1_500 * spread, 1_500, 20), n=10_000_000, variance=1_000.0)
    axes = plots.plot_estimates(wide)
    plots.figure_of(axes).draw_without_rendering()
    assert axes.get_xscale() == "log"
    low, high = axes.get_xlim()
    shown = [
        text for place, text in zip(axes.get_xticks(), axes.get_xticklabels(), strict=True) if low <= place <= high
    ]
    boxes = [text.get_window_extent() for text in shown]
    assert len(boxes) >= 2
    assert all(one.x1 < other.x0 for one, other in itertools.pairwise(boxes))
    assert not any(text.get_text() for text in axes.get_xticklabels(minor=True))


@pytest.mark.parametrize("count", [1, 3])
def test_what_stands_beside_a_small_picture_is_inside_it(calibrated, count):
    figure = plots.figure_of(plots.plot_hitters(calibrated.top(count)))
    figure.draw_without_rendering()
    beside = figure.axes[1].yaxis.label.get_window_extent()
    assert figure.bbox.y0 <= beside.y0
    assert beside.y1 <= figure.bbox.y1


@pytest.mark.parametrize("prior", ["smooth", "npmle", "power-law", "gaussian", "monotone"])
def test_every_prior_can_be_drawn(estimate, prior):
    calibrated = estimate.calibrate(prior)
    for axes in (plots.plot_prior(calibrated, TRUTH), plots.plot_calibration(calibrated)):
        plots.figure_of(axes).draw_without_rendering()
        assert axes.get_xlabel()
        assert axes.get_ylabel()


def test_noise_shows_what_was_fitted_and_what_theory_says():
    axes = plots.plot_noise(np.random.default_rng(0).normal(0, 5, 1000), 5.0)
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert any("theory: mean 0, deviation 5" in label for label in labels)


def test_the_truth_of_other_items_is_refused(calibrated):
    with pytest.raises(FrequencyError, match=r"each of the 300 items, not shape \(10,\)"):
        plots.plot_estimates(calibrated, TRUTH[:10])


@pytest.mark.parametrize("top", [0, -1, 2.5, True, "all"])
def test_a_number_of_items_that_cannot_be_shown_is_refused(calibrated, top):
    with pytest.raises(InvalidInputError, match=f"whole number of at least 1, not {top!r}"):
        plots.plot_estimates(calibrated, top=top)


def test_axes_without_a_figure_cannot_be_saved(calibrated):
    axes = plots.plot_estimates(calibrated, top=3)
    axes.remove()
    with pytest.raises(InvalidInputError, match="do not belong to a figure any more"):
        plots.figure_of(axes)


def test_without_matplotlib_it_is_named(monkeypatch):
    monkeypatch.delitem(sys.modules, "localdp.plots.pictures", raising=False)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingPackageError, match=r"matplotlib: pip install matplotlib"):
        plots.figure()


def test_the_truth_may_be_given_by_item_and_what_it_cannot_be_is_said():
    estimate = ldp.Plan(["tea", "milk", "water"], "grr", 2.0).simulate([50, 30, 20], seed=1).estimate()
    axes = plots.plot_estimates(estimate, truth=Counter({"water": 20, "tea": 50}))
    drawn = {line.get_label(): line.get_xdata() for line in axes.lines}
    assert sorted(np.asarray(drawn["truth"]).tolist()) == [0, 20, 50]
    with pytest.raises(FrequencyError, match=r"a mapping such as collections\.Counter"):
        plots.plot_estimates(estimate, truth=[None, {}, "x"])
