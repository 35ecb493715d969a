"""Beliefs and the choice of candidates, beside definitions in plain Python."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest
from scipy.special import betainc

from localdp.discovery import belief
from localdp.discovery.belief import RATIO, Grid, Kept, Noise
from localdp.discovery.codes import Keys
from localdp.discovery.design import PRICE
from localdp.discovery.history import History, Measured
from localdp.discovery.prefixes import Candidates
from localdp.discovery.steps import Step
from localdp.estimate import Estimate

NOISE = Noise(users=50_000, variance=0.7, excess=0.1)
GRID = Grid.of(200_000, 0.7)


def likelihood(estimate, share, noise):
    """The density of an estimate: a Gaussian around the share, widened by the step of the grid."""
    variance = float(noise.at(share)) + (share * math.log(RATIO)) ** 2 / 12
    return math.exp(-((estimate - share) ** 2) / (2 * variance)) / math.sqrt(variance)


@cache
def extension_mass(prefix, cell, theta, extensions):
    """The probability that an extension of a prefix of share `prefix` has the share `cell`, both on the grid."""

    def below(share):
        return float(betainc(theta / extensions, theta * (1 - 1 / extensions), min(share / prefix, 1.0)))

    half = math.sqrt(RATIO)
    if cell == 0:
        return below(GRID.shares[1] / half) if prefix else 1.0
    return below(cell * half) - below(cell / half) if cell < prefix * 1.001 else 0.0


def mixed(prefix, cell, measured):
    """The same with the theta of the round, and with all others for a hundredth."""
    own = extension_mass(prefix, cell, measured.theta, measured.extensions)
    others = [extension_mass(prefix, cell, theta, measured.extensions) for theta in belief.THETAS]
    return (1 - belief.DOUBT) * own + belief.DOUBT * sum(others) / len(others)


def defined_belief(prior, path, rounds):
    """The belief after a path of estimates, by sums over the grid."""
    shares = GRID.shares.tolist()
    masses = list(prior)
    for number, (estimate, measured) in enumerate(zip(path, rounds, strict=True)):
        if number:
            known = [(mass, share) for mass, share in zip(masses, shares, strict=True) if mass > 1e-12]
            masses = [sum(mass * mixed(share, cell, measured) for mass, share in known) for cell in shares]
        masses = [
            mass * likelihood(estimate, share, measured.noise) for mass, share in zip(masses, shares, strict=True)
        ]
        total = sum(masses)
        masses = [mass / total for mass in masses]
    return np.array(masses)


def some_prior():
    masses = np.append(0.0, 1e-6 / (GRID.shares[1:] + 0.001))
    masses[0] = 1 - masses.sum()
    return masses


def test_beliefs_are_those_of_the_definition():
    rounds = (Measured(NOISE, 1.0, 256.0), Measured(NOISE, 0.5, 16.0))
    paths = np.array([[0.03, 0.028], [0.03, 0.012], [0.016, 0.001]])
    history = History(np.zeros((3, 2), np.uint8), 12, paths, np.full(3, -1), rounds, some_prior())
    for row, path in zip(history.beliefs(GRID), paths, strict=True):
        assert np.allclose(row, defined_belief(some_prior(), path, rounds), atol=1e-9)


def test_a_whole_value_is_counted_again_and_not_extended():
    rounds = (Measured(NOISE, 1.0, 256.0), Measured(NOISE, 0.5, 16.0))
    history = History(np.zeros((1, 2), np.uint8), 12, np.array([[0.03, 0.028]]), np.array([0]), rounds, some_prior())
    masses = some_prior() * [likelihood(0.03, s, NOISE) * likelihood(0.028, s, NOISE) for s in GRID.shares]
    assert np.allclose(history.beliefs(GRID)[0], masses / masses.sum(), atol=1e-12)
    assert np.array_equal(history.beliefs_before_whole(GRID)[0], some_prior())


def test_the_stated_variance_is_that_of_estimates_from_random_groups():
    """50,000 groups of 400 users, of whom 30% hold the item in all. The variance of the estimates has a relative
    standard error of 0.63%, and 5% are eight of them.
    """
    rng, users, share, p, q = np.random.default_rng(3), 400, 0.3, 0.6, 0.2
    holders = rng.binomial(users, share, 50_000)
    counts = rng.binomial(holders, p) + rng.binomial(users - holders, q)
    estimates = (counts - users * q) / (p - q) / users
    noise = Noise(users, q * (1 - q) / (p - q) ** 2, (1 - p - q) / (p - q))
    assert estimates.var() == pytest.approx(noise.at(share), rel=0.05)


@pytest.mark.parametrize("theta", [0.01, 0.5, 3.0, 200.0])
@pytest.mark.parametrize("extensions", [2.0, 16.0, 4096.0])
def test_extensions_share_what_their_prefix_has(theta, extensions):
    law = GRID.spread(theta, extensions)
    assert np.allclose(law.sum(axis=1), 1)
    assert (law >= 0).all()
    assert np.allclose(np.triu(law, 1), 0)
    a, b = theta / extensions, theta * (1 - 1 / extensions)
    expected = law[-1] @ GRID.shares  # of a prefix that everybody has; shares below the grid count as nothing
    negligible = betainc(a + 1, b, GRID.edges[0]) / extensions
    assert expected == pytest.approx(1 / extensions - negligible, rel=0.02, abs=1e-9)


def test_the_only_extension_of_a_whole_value_is_itself():
    assert np.array_equal(GRID.spread(1.0, 1.0), np.eye(GRID.size))


@pytest.mark.parametrize(("spread", "lowest", "highest"), [("alone", 0.01, 0.1), ("many", 3.0, 100.0)])
def test_the_concentration_is_learnt_from_the_estimates(spread, lowest, highest):
    """30 prefixes with shares of 2% to 10%; among 64 extensions, one has everybody, or 16 have as many each."""
    rng = np.random.default_rng(4)
    prefixes = np.linspace(0.02, 0.1, 30)
    cells = np.zeros((30, 64))
    cells[:, : 1 if spread == "alone" else 16] = prefixes[:, None] / (1 if spread == "alone" else 16)
    noisy = cells + rng.normal(size=cells.shape) * NOISE.deviation
    beliefs = belief.updated(np.full((30, GRID.size), 1 / GRID.size), GRID.log_likelihood(prefixes, NOISE))
    assert lowest <= belief.concentration(GRID, beliefs, noisy, NOISE, 64.0) <= highest
    assert belief.concentration(GRID, beliefs[:0], noisy[:0], NOISE, 64.0) == 1.0
    cells[:, 32:] = np.nan  # impossible extensions count for nothing
    assert belief.concentration(GRID, beliefs, np.where(np.isnan(cells), np.nan, noisy), NOISE, 32.0) <= highest


def test_one_clear_extension_behind_few_prefixes_is_seen_among_many_cells():
    """Three prefixes of 3% to 5% behind which everybody goes on alike, in 2^14 cells whose noise has a deviation of
    0.45%: the sum of the squares of the estimates is noise, and the likelihood is not."""
    rng = np.random.default_rng(5)
    prefixes = np.array([0.03, 0.04, 0.05])
    beliefs = belief.updated(np.full((3, GRID.size), 1 / GRID.size), GRID.log_likelihood(prefixes, NOISE))
    thetas = []
    for _ in range(5):
        noisy = rng.normal(size=(3, 1 << 14)) * NOISE.deviation
        noisy[:, 7] += prefixes
        thetas.append(belief.concentration(GRID, beliefs, noisy, NOISE, float(1 << 14)))
    assert max(thetas) < 1


def test_limits_lie_below_every_estimate_that_passes():
    """At the limit and one step above it, the exact chances are on both sides of the price."""
    heavy = 0.01
    priors = np.array([some_prior(), np.append(0.5, np.full(GRID.size - 1, 0.5 / (GRID.size - 1)))])
    lowest = belief.limits(GRID, priors, NOISE, heavy, PRICE)
    for row, limit in enumerate(lowest):
        for steps, passes in ((-1, False), (2, True)):
            asked = np.array([limit + steps * 0.25 * NOISE.deviation])
            chance = belief.chances_of(GRID, priors, np.array([row]), asked, NOISE, heavy)[0]
            assert (chance >= PRICE) == passes or limit == 0
    hopeless = np.zeros((1, GRID.size))
    hopeless[0, 0] = 1
    assert belief.limits(GRID, hopeless, NOISE, heavy, PRICE)[0] == np.inf


def test_the_candidates_that_are_kept_are_those_of_the_definition():
    """Every cell of a round is looked at by the definition, and the same ones are kept, in spite of the short cuts."""
    rng = np.random.default_rng(7)
    code, heavy, room = Keys(20), 0.004, 12
    first = np.array([0.05, 0.02, 0.012, 0.011])
    history = History(
        np.array([[16, 0, 0], [32, 0, 0], [64, 0, 0], [128, 0, 0]], np.uint8),
        8,
        first[:, None],
        np.full(4, -1),
        (Measured(NOISE, 1.0, 256.0),),
        some_prior(),
    )
    candidates = Candidates(8, 6, history.rows, history.rows[:0])
    shares = np.zeros((4, 64))
    shares[0, 5], shares[1, 9], shares[1, 10] = 0.05, 0.01, 0.01
    estimates = shares + rng.normal(size=shares.shape) * NOISE.deviation
    estimate = Estimate(np.append(estimates.ravel(), 0.9) * NOISE.users, n=NOISE.users, variance=1.0)
    kept = Step(code, GRID, heavy, room).later(history, candidates, estimate, NOISE)

    theta = kept.rounds[-1].theta
    rounds = (*history.rounds, Measured(NOISE, theta, 64.0))
    chances = np.zeros((4, 64))
    for place, cell in np.ndindex(4, 64):
        if estimates[place, cell] > NOISE.deviation:  # the others are far from passing
            masses = defined_belief(some_prior(), [first[place], estimates[place, cell]], rounds)
            chances[place, cell] = masses[GRID.shares > heavy].sum()
    worth = np.flatnonzero(chances.ravel() >= PRICE)
    best = sorted(worth[np.argsort(-chances.ravel()[worth], kind="stable")][:room].tolist())
    found = [int.from_bytes(row.tobytes(), "big") for row in kept.rows]
    assert len(best) >= 3
    assert sorted(found) == sorted(
        (int.from_bytes(history.rows[cell >> 6].tobytes(), "big")) + ((cell & 63) << 10) for cell in best
    )
    assert kept.estimates[:, 0].tolist() == [first[[16, 32, 64, 128].index(row[0])] for row in kept.rows]


def test_when_there_is_little_room_the_likeliest_are_kept():
    kept = Kept(np.arange(4), np.arange(4), np.array([1.0, 2.0, 3.0, 4.0]), np.array([0.5, 1e-9, 0.9, 0.5]))
    assert belief.best(kept, PRICE, 2).prefix.tolist() == [2, 3]
    assert belief.best(kept, PRICE, 9).prefix.tolist() == [2, 3, 0]


def test_the_least_likely_are_dropped_as_long_as_little_is_lost():
    kept = Kept(np.arange(5), np.arange(5), np.arange(5.0), np.array([0.9, 0.02, 0.03, 0.8, 0.001]))
    assert belief.without_spare(kept, kept.probabilities, 0.05).prefix.tolist() == [0, 3, 2]
    assert belief.without_spare(kept, kept.probabilities, 0.06).prefix.tolist() == [0, 3]
    nothing = kept.take(slice(0, 0))
    assert belief.without_spare(nothing, nothing.probabilities, 0.05).prefix.tolist() == []


def test_very_many_promising_cells_are_cut_to_those_that_exceed_their_limit_most(monkeypatch):
    monkeypatch.setattr(belief, "_LOOKED_AT", 3)
    estimates = np.array([[1.0, 5.0, 2.0], [9.0, 0.0, 8.5]])
    rows, columns = belief.promising(estimates, np.ones((2, 3), np.bool_), np.array([0.0, 6.0]))
    assert list(zip(rows.tolist(), columns.tolist(), strict=True)) == [(0, 1), (1, 0), (1, 2)]


def test_a_prior_that_sees_heavy_cells_only_leaves_room_for_chance():
    class Everything:
        largest = 50_000.0

        def log_mass(self, k):
            return np.full(k.shape, -math.log(50_000.0))

    masses = GRID.prior(Everything(), 50_000)
    assert masses[0] == pytest.approx(0.5)
    assert masses.sum() == pytest.approx(1)


@pytest.mark.parametrize(("users", "q"), [(300, 1 / 55), (4_800, 1 / 55), (50_000, 1 / 8)])
def test_chance_excesses_of_small_counts_are_as_frequent_as_residuals_say(users, q):
    """The binomial law itself beside the corrected residual, up to six standard errors."""
    from scipy.stats import binom, norm

    noise = Noise(users, 1.0, 0.0, (1 - 2 * q) / math.sqrt(users * q * (1 - q)))
    for z in (2.0, 4.0, 5.0, 6.0):
        count = math.ceil(users * q + z * math.sqrt(users * q * (1 - q)))
        residual = (count - 0.5 - users * q) / math.sqrt(users * q * (1 - q))
        exact = binom.sf(count - 1, users, q)
        assert norm.sf(noise.gaussian(residual)) == pytest.approx(exact, rel=0.05)
    assert norm.sf(residual) < 0.8 * exact  # what a Gaussian says
