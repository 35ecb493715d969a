"""The result of a discovery: its intervals, and the atoms of the posterior of a share."""

from __future__ import annotations

import numpy as np
import pytest
from test_belief import GRID, NOISE, some_prior

from localdp.discovery.found import Found
from localdp.discovery.posteriors import Posterior, posterior_of


class Known:
    """The history of values that one round counted whole, with these estimates."""

    def __init__(self, estimates, noise=NOISE):
        self.rounds = [type("Round", (), {"noise": noise})()]
        self.estimates = np.array(estimates)[:, None]
        self.since = np.zeros(len(estimates), np.int64)

    def beliefs_before_whole(self, grid):
        assert grid is GRID
        return np.tile(some_prior(), (len(self.estimates), 1))


@pytest.mark.parametrize(("level", "low", "high"), [(0.9, 5, 95), (0.5, 25, 75), (0.98, 1, 99)])
def test_an_interval_leaves_as_much_out_on_either_side(level, low, high):
    points = np.arange(1, 101)[None] / 1_000
    posterior = Posterior(points, np.full((1, 100), 0.01))
    found = Found(["tea"], posterior.means * 1_000, np.ones(1), 1_000, 1.0, posterior=posterior)
    (lowest,), (highest,) = found.interval(level)
    assert lowest == pytest.approx(low, abs=1.01)
    assert highest == pytest.approx(high, abs=1.01)
    table = found.table()
    assert (table["low"][0], table["high"][0]) == tuple(float(end[0]) for end in found.interval(0.9))


def test_half_of_what_the_grid_has_at_one_is_an_atom_there():
    """Of an estimate of 1/2 the likelihoods of nobody and of everybody are equal, so the atoms are as the prior's."""
    masses = posterior_of(Known([0.5], type(NOISE)(50, 0.7, 0.1)), GRID, alike=False).masses[0]
    prior = some_prior()
    assert masses[-1] / masses[0] == pytest.approx(prior[-1] / 2 / prior[0], rel=1e-9)
