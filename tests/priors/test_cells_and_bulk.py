"""Cells that cover all frequencies, the masses of priors in them, and the average over all kinds of bulks."""

from __future__ import annotations

import numpy as np
import pytest

import localdp as ldp
from localdp.priors import Bulk, CellPrior, Cells, Noise, Observations
from localdp.priors.bulk import FEW, _grid, _log_evidence, _masses

RNG = np.random.default_rng(0)
SIZES = {
    "one user": (np.array([0.4, 0.9]), Noise(4.0), 1),
    "few users": (np.array([3.0, 9.0, -1.0]), Noise(4.0), 11),
    "little noise": (RNG.zipf(1.6, 500).clip(0, 9_000) + 0.0, Noise(0.25), 20_000),
    "much noise": (RNG.normal(0, 900.0, 500), Noise(900.0**2), 20_000),
    "noise beyond n": (RNG.normal(0, 1e6, 500), Noise(1e12), 20_000),
    "growing noise": (RNG.normal(50, 30, 500), Noise(900.0, 5.0), 10**6),
    "huge n": (RNG.normal(0, 1e7, 500), Noise(1e14), 2**53 - 1),
}


def _observations(name):
    estimates, noise, n = SIZES[name]
    return Observations.usable(estimates, noise, n, n)


@pytest.mark.parametrize("name", SIZES)
def test_cells_cover_every_frequency_once(name):
    observations = _observations(name)
    cells = Cells.of(observations)
    assert cells.ends[0] == 0
    assert cells.ends[-1] == observations.n
    assert (np.diff(cells.ends) > 0).all()
    assert (cells.ends == np.round(cells.ends)).all()
    assert cells.widths.sum() == pytest.approx(observations.n + 1, rel=1e-12)
    assert (np.abs(cells.middles - cells.ends) <= cells.widths / 2).all()
    assert cells.ends.size < 3_000


@pytest.mark.parametrize("name", SIZES)
def test_cells_are_short_beside_the_noise_and_beside_their_frequency(name):
    observations = _observations(name)
    cells, deviation = Cells.of(observations), observations.noise.deviation
    near = slice(0, cells.within_reach(observations).stop - 1)
    assert (cells.widths[near] <= np.maximum(1.0, deviation / 3)).all() or observations.n < deviation
    assert (cells.widths <= np.maximum(2.0, np.maximum(0.04 * cells.ends, 1.5 * deviation))).all()


@pytest.mark.parametrize("family", [ldp.Smooth(), ldp.NPMLE(), ldp.Monotone()], ids=lambda family: family.name)
@pytest.mark.parametrize("name", ["few users", "little noise", "much noise", "growing noise"])
def test_the_masses_of_priors_in_cells_sum_to_one(family, name):
    observations = _observations(name)
    cells = Cells.of(observations)
    masses = cells.masses(family.fit(observations))
    assert (masses >= 0).all()
    assert masses.sum() == pytest.approx(1, abs=1e-4)


def test_the_mass_of_a_cell_is_the_sum_over_its_frequencies():
    observations = _observations("little noise")
    prior, cells = ldp.NPMLE().fit(observations), Cells.of(observations)
    every = np.exp(prior.log_mass(np.arange(observations.n + 1.0)))
    starts = np.concatenate([[0], cells.ends[:-1] + 1]).astype(int)
    assert cells.masses(prior) == pytest.approx(np.add.reduceat(every, starts), abs=1e-12)


def test_a_prior_in_cells_is_even_within_each_and_nothing_beyond_n():
    prior = CellPrior("cells", 9, cells=Cells(np.array([0.0, 1.0, 3.0, 9.0])), log_masses=np.log([0.4, 0.3, 0.2, 0.1]))
    assert np.exp(prior.log_mass(np.arange(11.0))) == pytest.approx([0.4, 0.3, 0.1, 0.1] + [0.1 / 6] * 6 + [0])


@pytest.mark.parametrize("name", SIZES)
def test_every_distribution_of_the_grid_and_their_average_sum_to_one(name):
    observations = _observations(name)
    masses = _masses(_grid(FEW), Cells.of(observations), observations.mean)
    assert (masses >= 0).all()
    assert masses.sum(axis=1) == pytest.approx(np.ones(len(masses)), abs=1e-9)
    found = Bulk().fit(observations)
    assert np.exp(found.log_masses).sum() == pytest.approx(1, abs=1e-9)
    assert np.exp(_grid(FEW).log_weights).sum() == pytest.approx(1)


def test_where_all_items_belong_to_the_bulk_the_mean_is_the_known_one():
    observations = Observations(RNG.normal(100, 30, 400), Noise(900.0), 40_000, 40_000)
    cells = Cells.of(observations)
    masses, (_, spreads, apart, _) = _masses(_grid(FEW), cells, observations.mean), _grid(FEW).parameters.T
    whole = (apart == 0) & (spreads < 2) & (spreads > 0)  # beyond, n cuts off a part of the tail
    assert whole.sum() > 5
    assert masses[whole] @ cells.middles == pytest.approx(np.full(whole.sum(), 100.0), rel=1e-3)


@pytest.mark.parametrize("spread", [0.05, 0.3, 1.0])
def test_the_evidence_prefers_the_right_spread(spread):
    """With 400 items, a spread half or twice as large loses by more than 10 in the logarithm.

    A spread loses about d/4 log(ratio)^2, at least 40 here; its deviation is a few.
    """
    rng = np.random.default_rng(7)
    truth = rng.poisson(500 * rng.gamma(spread**-2, spread**2, 400))
    n = int(truth.sum())
    observations = Observations(truth + rng.normal(0, 10, 400), Noise(100.0), n, n)
    cells = Cells.of(observations)
    evidence = _log_evidence(observations, cells, _masses(_grid(FEW), cells, observations.mean))
    _, spreads, apart, _ = _grid(FEW).parameters.T
    best = spreads[apart == 0][np.argmax(evidence[apart == 0])]
    seen = np.hypot(spread, 500**-0.5 if spread < 0.1 else 0.0)
    assert best == pytest.approx(seen, rel=0.55)
    assert Bulk().fit(observations).parameters["spread"] == pytest.approx(spread, rel=0.6)
