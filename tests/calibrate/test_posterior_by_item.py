"""Posteriors under noise that differs by item, beside direct sums over every frequency for each item on its own."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from scipy.optimize import brentq

from localdp.calibrate.choice import posterior_of
from localdp.calibrate.known_total import FARTHEST
from localdp.calibrate.posterior import Posterior
from localdp.calibrate.posterior_by_item import MOST_CLASSES, PosteriorByItem
from localdp.priors import Bulk, Fixed, Gaussian, Noise, NoiseByItem, Observations, PowerLaw, Smooth, observations_of

N = 2_000
RNG = np.random.default_rng(0)
TRUTH = np.minimum(RNG.zipf(1.7, 400), N).astype(np.float64)
VARIANCES = np.array([9.0, 2_500.0])[RNG.integers(0, 2, TRUTH.size)]
ESTIMATES = TRUTH + RNG.normal(0, np.sqrt(VARIANCES))
EVERY = np.arange(0.0, N + 1)


@cache
def _prior(name):
    seen = observations_of(ESTIMATES, NoiseByItem(VARIANCES), N, float(TRUTH.sum()))
    return {
        "power-law": PowerLaw().member(np.array([1.7]), N),
        "gaussian": Gaussian().member(np.array([300.0, np.log(60.0)]), N),
        "fixed": Fixed(TRUTH.astype(int)).fit(seen),
        "smooth": Smooth().fit(seen),
        "bulk": Bulk().fit(seen),
    }[name]


def _direct(prior, variances, estimates, total=None, excess=0.0):
    """The posterior of every item, a row for each: the definition, without nodes, classes or grids."""
    logs = np.append(prior.zero, prior.log_mass(EVERY[1:])) if prior.first > 0 else prior.log_mass(EVERY)
    with np.errstate(divide="ignore"):
        spread = np.maximum(variances[:, None] + excess * EVERY, 0.1 * variances[:, None])
        rows = logs - 0.5 * (estimates[:, None] - EVERY) ** 2 / spread - 0.5 * np.log(spread)
        rows = np.exp(rows - rows.max(axis=1, keepdims=True))
        rows /= rows.sum(axis=1, keepdims=True)
        if total is None:
            return rows
        means = rows @ EVERY
        own = rows @ EVERY**2 - means**2
        limit, alone = FARTHEST * np.sqrt(own.sum()), np.log(rows)

    def given(missing):
        away = EVERY - means[:, None] - missing
        pulled = alone - 0.5 * away**2 / np.maximum(own.sum() - own, 1 / 12)[:, None]
        pulled = np.exp(pulled - pulled.max(axis=1, keepdims=True))
        return pulled / pulled.sum(axis=1, keepdims=True)

    if abs(total - means.sum()) >= limit:
        return given(np.clip(total - means.sum(), -limit, limit))
    # The pull is as strong as it must be for the means to add up.
    return given(brentq(lambda missing: (given(missing) @ EVERY).sum() - total, -limit, limit, xtol=1e-3))


@pytest.mark.parametrize("total", [None, float(TRUTH.sum())], ids=["alone", "with the total"])
@pytest.mark.parametrize("excess", [0.0, 0.7])
@pytest.mark.parametrize("name", ["power-law", "gaussian", "fixed", "smooth", "bulk"])
def test_two_classes_agree_with_direct_sums(name, excess, total):
    prior = _prior(name)
    direct = _direct(prior, VARIANCES, ESTIMATES, total, excess)
    found = PosteriorByItem(prior, NoiseByItem(VARIANCES, excess), ESTIMATES, total=total)
    # Cells of a cell prior are flat, and the nodes in them stand for stretches: three digits. All others have more.
    close = 2e-3 if name == "bulk" else 1e-5
    means = direct @ EVERY
    scale = np.sqrt(VARIANCES)
    assert np.abs(found.means() - means).max() < close * scale.max()
    assert (np.abs(found.means() - means) < 10 * close * scale).all()
    deviations = np.sqrt(np.maximum(direct @ EVERY**2 - means**2, 0))
    assert (np.abs(found.deviations() - deviations) < 0.01 * scale).all()
    assert found.probability_above(20) == pytest.approx(direct[:, 21:].sum(axis=1), abs=3e-3)
    low, high = found.shortest_intervals(0.9)
    held = np.array([row[int(a) : int(b) + 1].sum() for row, a, b in zip(direct, low, high, strict=True)])
    assert held.min() > 0.88


def test_many_different_variances_agree_with_direct_sums():
    """32 classes stand for 400 variances: the error of a mean is a few hundredths of its posterior deviation."""
    variances = np.exp(np.random.default_rng(1).normal(5, 1, TRUTH.size))
    estimates = TRUTH + np.random.default_rng(2).normal(0, np.sqrt(variances))
    prior = _prior("power-law")
    direct = _direct(prior, variances, estimates)
    found = PosteriorByItem(prior, NoiseByItem(variances), estimates)
    means = direct @ EVERY
    deviations = np.sqrt(direct @ EVERY**2 - means**2)
    off = np.abs(found.means() - means) / deviations
    assert np.sqrt(np.mean(off**2)) < 0.03
    assert found.deviations() / deviations == pytest.approx(1, abs=0.25)
    # What this costs: the expected squared error grows by the square of the difference, far below a percent of it.
    assert np.mean((found.means() - means) ** 2) < 2e-3 * np.mean(deviations**2)


@pytest.mark.parametrize("total", [None, 900.0])
@pytest.mark.parametrize("family", [Bulk(), PowerLaw()], ids=lambda family: family.name)
def test_few_items_are_exact_and_equal_noise_is_that_of_one_class(family, total):
    rng = np.random.default_rng(3)
    truth = np.array([300.0, 200, 150, 100, 60, 40, 25, 15, 7, 3])
    estimates = truth + rng.normal(0, 20, truth.size)
    seen = Observations.usable(estimates, Noise(400.0), 900, total)
    prior = family.fit(seen)
    one = Posterior(prior, Noise(400.0), estimates, total=total)
    # Classes that differ by a billionth: each has its own nodes, and part by part they must give what one class gives.
    split = NoiseByItem(400.0 * (1 + 1e-8 * np.arange(truth.size)))
    several = PosteriorByItem(prior, split, estimates, total=total)
    assert len(several._classes) == truth.size <= MOST_CLASSES
    assert several.means() == pytest.approx(one.means(), rel=1e-5)
    assert several.deviations() == pytest.approx(one.deviations(), rel=1e-4)
    assert several.probability_above(50) == pytest.approx(one.probability_above(50), abs=1e-4)
    for level in (0.1, 0.5, 0.95):
        assert np.abs(several.quantiles(level) - one.quantiles(level)).max() <= 1
    weights = (np.arange(truth.size) % 2).astype(float)
    assert several.linear(weights, 0.9).high == pytest.approx(one.linear(weights, 0.9).high, rel=2e-3)


def test_equal_variances_are_computed_as_one_class():
    prior = _prior("power-law")
    found = posterior_of(prior, NoiseByItem(np.full(TRUTH.size, 9.0)), ESTIMATES, None)
    assert type(found) is Posterior
    assert np.array_equal(found.means(), Posterior(prior, Noise(9.0), ESTIMATES).means())


def test_quantiles_of_some_items_are_those_of_all():
    prior = _prior("smooth")
    found = PosteriorByItem(prior, NoiseByItem(VARIANCES), ESTIMATES)
    items = np.array([0, 0, 3, 17, 17, 17, 399])
    levels = np.array([0.2, 0.9, 0.5, 0.1, 0.5, 0.9, 0.7])
    expected = [found.quantiles(level)[item] for item, level in zip(items, levels, strict=True)]
    assert np.abs(found.quantiles_of(items, levels) - expected).max() <= 1


def test_the_total_moves_noisy_items_and_leaves_exact_ones():
    truth = np.array([500.0, 300.0, 150.0, 50.0])
    variances = np.array([1.0, 400.0, 1.0, 400.0])
    prior = Gaussian().member(np.array([250.0, np.log(500.0)]), 1_000)
    estimates = truth + np.array([0.0, 20.0, 0.0, 20.0])
    alone = PosteriorByItem(prior, NoiseByItem(variances), estimates)
    known = PosteriorByItem(prior, NoiseByItem(variances), estimates, total=1_000.0)
    moved = alone.means() - known.means()
    assert np.abs(moved[[0, 2]]).max() < 0.2
    assert moved[[1, 3]] == pytest.approx(20, abs=2)
    assert known.means().sum() == pytest.approx(1_000, abs=0.5)


def test_an_item_without_noise_keeps_its_estimate():
    prior = _prior("power-law")
    variances = np.where(np.arange(TRUTH.size) % 2, 1e-9, 400.0)
    estimates = np.where(np.arange(TRUTH.size) % 2, TRUTH, ESTIMATES)
    for total in (None, float(TRUTH.sum())):
        found = PosteriorByItem(prior, NoiseByItem(variances), estimates, total=total)
        assert np.array_equal(found.means()[1::2], TRUTH[1::2])
        assert not found.deviations()[1::2].any()
