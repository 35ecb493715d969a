"""The base class: what it derives from what an author writes, and how often it asks for it."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from localdp.kernels import chunks
from localdp.mechanisms import MECHANISMS, Mechanism, RandomizedResponse
from localdp.plan import Plan
from localdp.randomness import keystream


def counting(kind):
    """The same mechanism, with the number of evaluations of `p`, `q` and `ratio` in `asked`."""
    asked = Counter()

    class Counting(kind):
        name = f"counting-{kind.name}"

        @property
        def p(self):
            asked["p"] += 1
            return super().p

        @property
        def q(self):
            asked["q"] += 1
            return super().q

        @property
        def ratio(self):
            asked["ratio"] += 1
            return super().ratio

    Counting.asked = asked
    return Counting


@pytest.mark.parametrize("kind", MECHANISMS.values(), ids=list(MECHANISMS))
def test_a_pipeline_asks_for_p_and_q_a_bounded_number_of_times(kind):
    """At most twice for p (subset selection derives q from p) and once for q, however long the pipeline is."""
    mechanism = counting(kind)(20, 0.5)
    plan = Plan(20, mechanism)
    for n in (50, 100, 150):
        aggregate = plan.aggregate(plan.privatize(np.arange(n) % 20, seed=n))
        estimate = aggregate.estimate()
        estimate.significance_threshold()
        plan.simulate([n] * 20, seed=n).estimate()
        _ = (mechanism.p_star, mechanism.q_star, mechanism.gap, mechanism.excess_variance, mechanism.variance(n))
    assert 1 <= mechanism.asked["p"] <= 2
    assert mechanism.asked["q"] == 1
    assert mechanism.asked["ratio"] <= 1
    assert estimate.frequencies.tolist() == kind(20, 0.5).estimate(aggregate.counts, aggregate.n).tolist()


@pytest.mark.parametrize("name", ["grr", "ss", "oue", "hr"])
def test_listing_a_channel_asks_no_more_often(name):
    mechanism = counting(MECHANISMS[name])(6, 0.5)
    mechanism.channel()
    assert max(mechanism.asked["p"], mechanism.asked["q"]) <= 2


@pytest.mark.parametrize("name", MECHANISMS)
def test_derived_numbers_are_the_exact_ones_rounded_once(name):
    mechanism = MECHANISMS[name](33, 0.69)
    p, q = mechanism.p, mechanism.q
    assert mechanism.p_star == float(p)
    assert mechanism.q_star == float(q)
    assert mechanism.gap == float(p - q)
    assert mechanism.excess_variance == float((1 - p - q) / (p - q))
    assert mechanism.variance(12_345) == float(12_345 * q * (1 - q) / (p - q) ** 2)


class Coarse(RandomizedResponse):
    """A mechanism that leaves `count` and `simulate` to the base class."""

    name = "coarse"
    count = Mechanism.count
    simulate = Mechanism.simulate


def test_the_default_count_and_simulation_are_those_of_every_user():
    mechanism, fast = Coarse(5, 1.0), RandomizedResponse(5, 1.0)
    frequencies = np.array([40, 0, 7, 100, 3])
    rows = fast.privatize(np.repeat(np.arange(5), frequencies), keystream.seeded(4))
    assert mechanism.count(rows).tolist() == fast.count(rows).tolist()
    assert mechanism.simulate(frequencies, seed=4).tolist() == fast.count(rows).tolist()
    assert mechanism.simulate(frequencies, seed=None).sum() == 150


def test_a_simulation_in_groups_runs_every_user_once(monkeypatch):
    monkeypatch.setattr("localdp.kernels.chunks._GROUP_USERS", 64)
    frequencies = np.array([40, 0, 7, 100, 3])
    groups = list(chunks.values_in_groups(frequencies, Coarse(5, 1.0).report_bytes))
    assert [group.size for group in groups] == [64, 64, 22]
    assert np.bincount(np.concatenate(groups), minlength=5).tolist() == frequencies.tolist()


def test_the_ratio_of_a_channel_is_the_one_stated():
    for name in ("grr", "oue", "ss", "hr", "llh"):
        mechanism = MECHANISMS[name](4, 0.5)
        assert mechanism.channel().ratio == mechanism.ratio
