"""Probabilities of the top k against all possible worlds of a few items, and against plain simulation of many."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import poisson

from localdp.hitters.top import entry, top_probabilities

WORLDS = 1_000
FIVE_DEVIATIONS = 5 * 0.5 / np.sqrt(WORLDS)  # of a share of 1,000 worlds: exceeded with probability 6e-7 or less


class Items:
    """Items with known distributions on 0, 1, 2, ..: a row of probabilities for each."""

    def __init__(self, masses):
        self.masses = np.asarray(masses, np.float64)
        self.total = np.cumsum(self.masses, axis=1)
        self.asked = []

    def above(self, t):
        places = np.arange(self.masses.shape[1])
        return self.masses[:, places > t].sum(axis=1)

    def quantiles_of(self, items, levels):
        self.asked.append(items)
        return (self.total[items] < levels[:, None] - 1e-12).sum(axis=1).astype(np.float64)

    def means(self):
        return self.masses @ np.arange(self.masses.shape[1])

    def top(self, k):
        return top_probabilities(entry(self.means(), k, self.above), k, self.quantiles_of)


def every_world(masses, k):
    """The exact probabilities: a sum over all frequencies of all items, ties shared equally."""
    exact = np.zeros(len(masses))
    for world in itertools.product(*(np.flatnonzero(row) for row in masses)):
        weight = np.prod([row[held] for row, held in zip(masses, world, strict=True)])
        frequencies = np.array(world)
        kth = np.sort(frequencies)[-k]
        free = k - (frequencies > kth).sum()
        tied = frequencies == kth
        exact += weight * ((frequencies > kth) + tied * free / tied.sum())
    return exact


rows = st.lists(st.integers(0, 5), min_size=4, max_size=4).filter(any).map(lambda row: np.array(row) / sum(row))
few_items = st.integers(1, 3).flatmap(lambda d: st.tuples(st.lists(rows, min_size=d, max_size=d), st.integers(1, d)))


@settings(max_examples=150, derandomize=True)
@given(case=few_items)
def test_probabilities_are_those_of_all_possible_worlds(case):
    masses, k = case
    found = Items(masses).top(k)
    assert found == pytest.approx(every_world(masses, k), abs=FIVE_DEVIATIONS)
    assert found.sum() == pytest.approx(k, abs=1e-9)  # every world has k items on top


@pytest.mark.parametrize("d", [1, 2, 3, 40])
def test_all_items_are_the_top_of_all(d):
    masses = np.random.default_rng(d).dirichlet(np.ones(6), d)
    assert Items(masses).top(d).tolist() == [1.0] * d


def test_certain_items_are_certain():
    found = Items(np.eye(4)[[0, 3, 1, 2]]).top(2)
    assert found.tolist() == [0, 1, 0, 1]


@pytest.mark.parametrize("k", [1, 2, 4])
def test_equal_items_share_the_top_equally(k):
    found = Items(np.eye(3)[[2, 2, 2, 2, 2]]).top(k)
    assert found == pytest.approx(np.full(5, k / 5), abs=FIVE_DEVIATIONS)
    assert found.sum() == pytest.approx(k)


def test_a_tie_does_not_reach_the_next_frequency():
    """One item holds 2, four tie at 1: the first is always on top, whatever breaks the ties."""
    found = Items(np.eye(3)[[1, 1, 2, 1, 1]]).top(2)
    assert found[2] == 1
    assert found[[0, 1, 3, 4]] == pytest.approx(np.full(4, 0.25), abs=FIVE_DEVIATIONS)


RATES = np.minimum(np.random.default_rng(3).pareto(1.2, 600) * 4 + 1, 300)


def _many():
    """Items with Poisson frequencies, a few of them large."""
    return Items(poisson.pmf(np.arange(400), RATES[:, None]))


@pytest.mark.parametrize("k", [1, 10, 50])
def test_drawing_only_what_matters_gives_the_same_as_drawing_everything(k):
    """Against 4,000 worlds in which every item is drawn. 600 items, six deviations: 2e-6 at most."""
    items, rng = _many(), np.random.default_rng(7)
    frequencies = rng.poisson(RATES, (4_000, 600)) + rng.random((4_000, 600)) / 2
    plain = np.bincount(np.argpartition(-frequencies, k - 1)[:, :k].ravel(), minlength=600) / 4_000
    found = items.top(k)
    tolerance = 6 * np.sqrt(np.maximum(plain * (1 - plain), 1e-3) * (1 / WORLDS + 1 / 4_000))
    assert (np.abs(found - plain) <= tolerance + 0.005).all()
    asked = np.concatenate(items.asked)
    assert np.unique(asked).size < 400  # the others have no chance, and are not drawn
    assert (np.diff(asked) >= 0).all()


def test_the_same_question_has_the_same_answer():
    assert _many().top(20).tolist() == _many().top(20).tolist()


@pytest.mark.parametrize("k", [1, 5, 40])
@pytest.mark.parametrize("start", ["good", "zero", "absurd"])
def test_more_items_than_the_top_are_expected_to_enter_but_not_many_more(k, start):
    items = _many()
    guess = {"good": items.means(), "zero": np.zeros(600), "absurd": np.full(600, 1e6)}[start]
    chances = entry(guess, k, items.above)
    enough = k + 8 * np.sqrt(k) + 10
    assert enough <= chances.sum() <= 3 * enough
    assert any((chances == items.above(t)).all() for t in range(400))


def test_few_items_all_enter():
    def never(_):
        raise AssertionError

    assert entry(np.arange(18.0), 1, never).tolist() == [1.0] * 18


def test_where_no_frequency_is_exceeded_by_enough_items_all_enter():
    assert entry(np.zeros(100), 5, lambda t: np.full(100, float(t < 0))).tolist() == [1.0] * 100


def test_many_items_with_hardly_a_chance_each_are_not_left_out_together():
    """Nine items are sure, and the tenth place belongs to whichever of 1,000 others exceeds t: one does in a third.

    The error of 1,000 worlds is 0.015; 0.09 is six of these.
    """
    chances = np.append(np.ones(9), np.full(1_000, 4e-4))

    def quantiles_of(items, levels):
        return np.where(items < 9, 1_000.0, 500.0) + 0 * levels

    found = top_probabilities(chances, 10, quantiles_of)
    assert found[:9].tolist() == [1.0] * 9
    assert found[9:].sum() == pytest.approx(1 - np.exp(-0.4), abs=0.09)
