"""Few items: the posterior over all ways to divide the users, against a sum over every one of them."""

from __future__ import annotations

from functools import partial
from itertools import product

import numpy as np
import pytest

import localdp as ldp
import localdp.priors.fitting.divisions as fitting
from localdp.calibrate.few_items import DOUBT, FewItems
from localdp.priors import Noise, Observations, divisions
from localdp.priors.divisions import Divisions, Part, Weights
from localdp.priors.fitting.divisions import Lattice

N = 24


def _brute(noises, estimates, weights):
    """The log-evidence, the posterior of every item on 0..N, and the sum of all weights, one division at a time."""
    d = len(estimates)
    logs = [
        noise.log_likelihood(np.array([x]), np.arange(N + 1.0))[0] for noise, x in zip(noises, estimates, strict=True)
    ]
    log_g = weights.on_lattice(np.arange(N + 1.0), 1.0)
    rows, everything, prior = np.zeros((d, N + 1)), 0.0, 0.0
    for division in product(range(N + 1), repeat=d):
        if sum(division) == N:
            own = sum(log_g[k] for k in division)
            chance = np.exp(own + sum(logs[i][k] for i, k in enumerate(division)))
            everything, prior = everything + chance, prior + np.exp(own)
            for i, k in enumerate(division):
                rows[i, k] += chance
    return np.log(everything), rows / everything, np.log(prior)


@pytest.mark.parametrize(
    "part",
    [
        Part(1.0, 2.6, 1.0, plain=False),
        Part(1.0, 1.4, 1.0),
        Part(0.3, 0.0, 1.0),
        Part(10.0, 0.0, 1.0),
        Part(0.5, 8.0, 1.0),
    ],
)
@pytest.mark.parametrize("estimates", [(12.0, 12.0), (-4.0, 28.0), (3.0, 9.0, 12.0), (-3.0, -2.0, 29.0)])
def test_sums_over_all_divisions_are_exact(part, estimates):
    x = np.array(estimates)
    noises = [Noise(9.0 + 2 * i, 0.1) for i in range(x.size)]
    weights = Weights.of(part, x.size, float(N), 3.0)
    lattice = Lattice.of(noises, x, float(N))
    assert lattice.step == 1
    found = lattice.divided(partial(weights.on_lattice, step=1.0))
    evidence, rows, prior = _brute(noises, x, weights)
    assert found.log_evidence == pytest.approx(evidence, abs=1e-6)
    assert weights.log_sum() == pytest.approx(prior, abs=1e-8)
    for i, first in enumerate(lattice.first):
        own = rows[i, first : first + found.rows.shape[1]]
        assert found.rows[i, : own.size] == pytest.approx(own, abs=1e-7)


def test_the_sum_of_all_divisions_is_continued_where_the_total_has_too_many_deviations():
    """Below `_RESOLVED` deviations all divisions are summed; beyond, h counts as an atom: about the same there."""
    part, total, limit = Part(1.0, 2.6, 1.0, plain=False), 1e8, divisions._RESOLVED
    for items in (2, 5, 20):
        below, above = (Weights.of(part, items, total, total / limit * f).log_sum() for f in (1.0001, 0.9999))
        assert below == pytest.approx(above, abs=0.02)


def test_short_transforms_give_what_long_ones_give(monkeypatch):
    rng = np.random.default_rng(3)
    x = rng.dirichlet(np.ones(20)) * 900 + rng.normal(0, 100, 20)
    lattice = Lattice.of([Noise(1e4)] * 20, x, 900.0)
    weights = Weights.of(Part(1.0, 2.6, 1.0, plain=False), 20, 900.0, 100.0)
    short = lattice.divided(partial(weights.on_lattice, step=lattice.step))
    monkeypatch.setattr(fitting, "_long_enough", lambda masses: masses.size)
    long = lattice.divided(partial(weights.on_lattice, step=lattice.step))
    assert short.log_evidence == pytest.approx(long.log_evidence, abs=1e-9)
    assert short.rows == pytest.approx(long.rows, abs=1e-9)


@pytest.mark.parametrize("noise", [0.05, 0.2, 0.4])
def test_with_two_items_the_error_is_nearly_that_of_clipping_at_most(noise):
    """Squared errors by quadrature over the noise, wherever the truth is; 1.04 is stated, and quadrature errs by 0.01.

    The estimates add up to the total by themselves, as those of `grr` do.
    """
    n, deviation = 10_000, noise * 10_000
    x = np.arange(-4.5 * deviation, n / 2 + 4.5 * deviation, 0.25 * deviation)
    pairs = [ldp.Estimate([one, n - one], n=n, variance=deviation**2, total=n) for one in x]
    ours = np.array([pair.calibrate(warn=False).frequencies[0] for pair in pairs])
    for truth in np.minimum(np.array([0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.5]) * deviation, n / 2):
        chances = np.exp(-0.5 * ((x - truth) / deviation) ** 2)
        assert chances @ (ours - truth) ** 2 < 1.06 * (chances @ (np.clip(x, 0, n) - truth) ** 2)


def test_a_coarse_lattice_gives_what_a_fine_one_gives():
    """A thousand times as many users, with a thousand times the noise: the lattice is as fine beside the noise."""
    x = np.array([200.0, 1_700.0, 4_100.0])
    small, large = (
        Divisions().fit(Observations(x * scale, Noise((300.0 * scale) ** 2), 6_000 * scale, 6_000 * scale))
        for scale in (1, 1_000)
    )
    assert large.chances == pytest.approx(small.chances, abs=0.02)
    one = FewItems(small, [Noise(300.0**2)] * 3, x, 6_000.0)
    other = FewItems(large, [Noise(3e5**2)] * 3, x * 1_000, 6e6)
    assert other.means() / 1_000 == pytest.approx(one.means(), rel=0.02)
    assert other.deviations() / 1_000 == pytest.approx(one.deviations(), rel=0.02)
    assert other.probability_above(2_000_000) == pytest.approx(one.probability_above(2_000), abs=0.02)
    for level in (0.1, 0.9):
        assert other.quantiles(level) / 1_000 == pytest.approx(one.quantiles(level), abs=25)


def test_answers_agree_with_each_other():
    x = np.array([-2.0, 9.0, 17.0])
    prior = Divisions().fit(Observations(x, Noise(16.0), N, N))
    found = FewItems(prior, [Noise(16.0)] * 3, x, float(N))
    assert found.means().sum() == pytest.approx(N, abs=1e-6)
    median = found.quantiles(0.5)
    assert found.probability_above(-1) == pytest.approx(np.ones(3))
    assert (found.probability_above(N) == 0).all()
    for item, middle in enumerate(median):
        assert found.probability_above(int(middle))[item] <= 0.5 <= found.probability_above(int(middle) - 1)[item]
    assert found.quantiles_of(np.arange(3), np.full(3, 0.5)).tolist() == median.tolist()
    low, high = found.shortest_intervals(0.9)
    assert (low <= median).all()
    assert (median <= high).all()
    everything, one = found.linear(np.ones(3), 0.9), found.linear(np.array([0.0, 1.0, 0.0]), 0.9)
    assert (everything.low, everything.high) == (N, N)
    assert one.low < one.value < one.high


@pytest.mark.parametrize("d", [2, 5, 10, 40, 300])
@pytest.mark.parametrize("mechanism", ["auto", "oue"])
def test_unanimous_answers_are_believed(d, mechanism):
    """20 surveys that everybody answers alike: intervals at 90% hold at least 13 times.

    Fewer happen once in a thousand times at 90%, and intervals of unanimous answers hold more often than that. Before,
    they held in 0 to 15% of such surveys.
    """
    truth = np.zeros(d, np.int64)
    truth[0] = 10_000
    plan, held = ldp.Plan(d, mechanism, 1.0), 0
    for seed in range(20):
        low, high = plan.simulate(truth, seed=seed).estimate().calibrate().interval(0.9)
        held += low[0] <= truth[0] <= high[0]
        assert np.mean((low <= truth) & (truth <= high)) > 0.7
    assert held >= 13


def test_an_interval_is_never_shorter_than_what_nobody_can_tell():
    estimate = ldp.Estimate([1_300.0, -150.0, -150.0], n=1_000, variance=10_000.0)
    low, high = estimate.calibrate().interval(0.9)
    assert (high[1:] >= DOUBT * 100).all()
    assert low[0] <= 1_000 - DOUBT * 100
    assert high[0] == 1_000
