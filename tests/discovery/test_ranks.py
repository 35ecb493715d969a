"""The chance of a value to belong to the true top, with what was probably missed."""

from __future__ import annotations

import numpy as np
import pytest

import localdp as ldp
from localdp.discovery.posteriors import Posterior
from localdp.discovery.ranks import in_top


class Half:
    """The reach of a discovery that finds every value with this probability, whatever its share."""

    def __init__(self, chance=0.5):
        self.chance = chance

    def chances(self, shares, rounds):
        assert rounds == 1
        return np.full_like(shares, self.chance)


def certain(*shares):
    """The posterior of values with exactly these shares."""
    return Posterior(np.array(shares)[:, None], np.ones((len(shares), 1)))


def chances(posterior, k, reach, known=0):
    count = len(posterior.points)
    return in_top(posterior, k, reach, np.where(np.arange(count) < count - known, 1, 0))


def test_where_nothing_is_missed_the_largest_are_the_top():
    assert chances(certain(0.01, 0.03, 0.02), 2, Half(1.0)).tolist() == [0.0, 1.0, 1.0]
    assert chances(certain(0.01, 0.0), 2, Half(1.0)).tolist() == [1.0, 0.0]
    assert chances(certain(), 2, Half(1.0)).tolist() == []


@pytest.mark.parametrize("chance", [0.5, 0.2])
def test_a_value_that_was_found_by_luck_may_be_one_of_several(chance):
    """The chance that none of G others is above it, if every second one is: the mean of 2^-G, r / (1 - (1 - r) / 2).

    2,000 worlds have a standard error of 0.011; five of them are passed once in a million tests.
    """
    expected = chance / (1 - (1 - chance) / 2)
    (alone,) = chances(certain(0.001), 1, Half(chance))
    assert alone == pytest.approx(expected, abs=0.056)
    larger, smaller = chances(certain(0.002, 0.001), 1, Half(chance))
    assert larger == pytest.approx(expected, abs=0.056)
    assert smaller == 0.0


def test_no_more_is_missed_than_there_are_users_left():
    assert chances(certain(0.6, 0.35), 2, Half(0.01)).tolist() == [1.0, 1.0]


def test_values_that_were_known_come_without_others():
    assert chances(certain(0.02, 0.01), 2, Half(0.01), known=2).tolist() == [1.0, 1.0]


def test_shorter_texts_are_missed_less_often():
    reach = ldp.Discovery(epsilon=4.0, users=20_000).reach
    shares = np.array([0.01, 0.02, 0.03])
    by_rounds = np.array([reach.chances(shares, rounds) for rounds in (1, 2, 3, 4)])
    assert (np.diff(by_rounds, axis=0) < 0).all()
    assert reach.chances(shares, 9).tolist() == reach.chances(shares).tolist()
