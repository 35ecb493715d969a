"""The result of a discovery: its intervals, how groups are combined, and the atoms of the posterior of a share."""

from __future__ import annotations

import numpy as np
import pytest
from test_belief import GRID, NOISE, some_prior

from localdp.discovery.belief import Noise
from localdp.discovery.found import Found
from localdp.discovery.history import History, Measured
from localdp.discovery.posteriors import Posterior, _pooled, posterior_of


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


def test_groups_are_combined_with_the_stated_variance_also_where_their_noise_differs():
    """A small group with little noise beside a large one with more: the chance of who is in which group counts, too.

    Of 20,000 simulated discoveries, the mean of the squared errors has a relative standard error of 1%; 5% is passed
    once in a million tests.
    """
    rng, total, holders, worlds = np.random.default_rng(3), 10_000, 2_000, 20_000
    noises = Noise(6_000, 0.05, 0.0), Noise(1_000, 0.0001, 0.0)
    first = rng.hypergeometric(holders, total - holders, 6_000, worlds)
    second = rng.hypergeometric(holders - first, total - holders - (6_000 - first), 1_000)
    estimates = np.column_stack([first / 6_000, second / 1_000])
    estimates += rng.normal(size=estimates.shape) * [np.sqrt(noise.variance / noise.users) for noise in noises]
    # A third group of 3,000 came before the value was whole.
    rounds = tuple(Measured(noise, 1.0, 1.0) for noise in (Noise(3_000, 1.0, 0.0), *noises))
    rows = np.zeros((worlds, 1), np.uint8)
    history = History(rows, 8, np.column_stack([np.zeros(worlds), estimates]), np.ones(worlds, np.int64), rounds)
    centre, variance = _pooled(history)
    assert np.mean((centre - 0.2) ** 2) == pytest.approx(variance.mean(), rel=0.05)


def test_values_stand_alone_if_hardly_two_begin_alike_in_all_rounds_that_led_to_them():
    rounds = tuple(Measured(NOISE, theta, 64.0) for theta in (1.0, 0.01, 3.0, 0.01))
    history = History(np.zeros((4, 1), np.uint8), 8, np.zeros((4, 4)), np.arange(4), rounds)
    assert history.alone(0.1).tolist() == [True, True, False, False]
