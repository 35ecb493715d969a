"""Apple's sketches: all functions are pure, some of them are not, and what they confuse is known and taken out."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import localdp as ldp
from localdp.checks import CheckFailure
from localdp.checks.privacy import check_exact_privacy
from localdp.errors import InvalidInputError
from localdp.mechanisms.sketches import CountMeanSketch, HadamardCountMeanSketch
from localdp.randomness.keystream import seeded

KINDS = [CountMeanSketch, HadamardCountMeanSketch]


def _narrow(kind, cell_bits, functions=1 << 10):
    """The sketch with few cells, so that small domains have collisions."""
    return type("Narrow", (kind,), {"most_cell_bits": cell_bits, "most_functions": functions})


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_with_all_functions_every_random_input_is_pure_and_private(kind):
    check_exact_privacy(_narrow(kind, 1))


@pytest.mark.parametrize("kind", KINDS)
def test_a_wrong_chance_of_a_collision_is_noticed(kind):
    wrong = type("Wrong", (_narrow(kind, 1),), {"_colliding": Fraction(1, 2)})
    with pytest.raises(CheckFailure, match="not pure as stated"):
        check_exact_privacy(wrong)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [2, 5, 16, 1_000])
def test_all_functions_put_any_two_items_together_equally_often(kind, size):
    mechanism = _narrow(kind, 2)(size, 1.0)
    assert mechanism.pure
    cells = mechanism.cells(np.arange(mechanism.functions, dtype=np.uint64)[:, None], np.arange(size, dtype=np.uint64))
    together = (cells[:, [0]] == cells[:, 1:]).mean(axis=0)
    assert set(together.tolist()) == {float(mechanism._colliding)}


@pytest.mark.parametrize("kind", KINDS)
def test_chances_and_counts_of_shared_functions_are_exact(kind):
    mechanism = _narrow(kind, 3, 20)(100, 1.0)
    assert not mechanism.pure
    rows = mechanism.privatize(np.arange(300) % 100, seeded(2))
    assert mechanism.count(rows).tolist() == [int(mechanism.supports(rows, item).sum()) for item in range(100)]
    functions = np.arange(20, dtype=np.uint64)
    for one, other in ((0, 1), (5, 99), (64, 3)):
        cells = [mechanism.cells(functions, np.array([item], np.uint64)) for item in (one, other)]
        share = Fraction(int((cells[0] == cells[1]).sum()), 20)
        assert mechanism.chance(one, other) == mechanism.elsewhere + (mechanism.p - mechanism.elsewhere) * share
    assert mechanism.chance(7, 7) == mechanism.p
    # The chances that `observe` takes out are the same, summed over all heavy items by two transforms.
    heavy = np.zeros(100, np.int64)
    heavy[[5, 64]] = 1_000_000, 300_000
    p, q = mechanism._exact_pair
    seen = mechanism.observe(np.zeros(100, np.int64), 1)
    assert seen.law[5, 99] == pytest.approx(float(mechanism.chance(5, 99)), rel=1e-12)
    added = seen._added_by(heavy)
    for item in (0, 7, 99):
        expected = sum(float(mechanism.chance(y, item) - q) / float(p - q) * heavy[y] for y in (5, 64))
        assert added[item] == pytest.approx(expected, rel=1e-9, abs=1e-6)


def test_the_stated_variance_is_the_error_although_items_share_cells():
    """3,000 squared errors have a relative deviation of 0.026 if Gaussian; 0.15 is nearly 6 of them."""
    size, users = 3_000, 200_000_000
    shares = 1 / np.arange(1, size + 1) ** 1.1
    held = np.random.default_rng(5).permutation(np.round(users * shares / shares.sum())).astype(np.int64)
    plan = ldp.Plan(size, "cms", 4.0)
    aggregate = plan.simulate(held, seed=3)
    estimate = aggregate.estimate()
    error = np.mean((estimate.frequencies - held) ** 2)
    assert error == pytest.approx(estimate.variance + np.mean(held) * estimate.excess_variance, rel=0.15)
    # With the average of all functions, as published, the error is many times as large.
    p, q = plan.mechanism.p_star, plan.mechanism.q_star
    published = (aggregate.counts - aggregate.n * q) / (p - q)
    assert np.mean((published - held) ** 2) > 10 * error


@pytest.mark.parametrize("name", ["cms", "hcms"])
def test_honest_sums_raise_no_doubt_although_items_share_cells(name):
    """The scores are nearly standard normal: of 32 seeds, one is above 4 by chance in one of 500 choices of seeds."""
    truth = (1e6 / np.arange(1, 20_001) ** 1.1).astype(int)
    plan, scores = ldp.Plan(truth.size, name, 2.0), []
    for seed in range(16):
        estimate = plan.simulate(truth, seed=seed).estimate()
        assert not any("the sum of the estimates" in note for note in estimate.notes)
        scores.append((estimate.frequencies.sum() - estimate.n) / (estimate.std_error * truth.size**0.5))
    assert np.std(scores) > 2  # with noise of their own, it would be 1


@pytest.mark.parametrize("name", ["cms", "hcms", "dbit"])
def test_sets_are_refused(name):
    with pytest.raises(InvalidInputError, match="set_size goes neither"):
        ldp.Plan(10, name, 1.0, set_size=2)
