"""`llh+llh`: a device pays for hash values, and its reports are those of `llh` at the smaller budget."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import localdp as ldp
from localdp.checks.asking_again import check_asking_again
from localdp.checks.privacy import check_exact_privacy
from localdp.mechanisms import LinearHashingTwice, LinearLocalHashing, create
from localdp.randomness.keystream import seeded


@pytest.mark.slow
def test_every_random_input_is_private_once_and_together():
    check_asking_again(LinearHashingTwice)
    check_exact_privacy(LinearHashingTwice)


@pytest.mark.parametrize(("epsilon", "once"), [(2.0, 0.5), (4.0, 1.0), (8.0, 2.0)])
@pytest.mark.parametrize("size", [3, 360, 41_270])
def test_one_report_is_as_accurate_as_linear_hashing_asked_once(size, epsilon, once):
    chain, alone = LinearHashingTwice(size, epsilon, once=once), LinearLocalHashing(size, once)
    assert chain.response.symbols == alone.response.symbols
    assert chain.p_star == pytest.approx(alone.p_star, rel=1e-12)
    assert chain.variance(1) == pytest.approx(alone.variance(1), rel=1e-9)
    assert chain.epsilon <= epsilon
    assert once * (1 - 1e-9) <= chain.epsilon_once <= once


def test_a_device_pays_for_hash_values(tmp_path):
    plan = ldp.Plan(50, "llh+llh", epsilon=2.0, once=1.0)
    mechanism, client = plan.mechanism, ldp.Client(plan, store=tmp_path, most=100.0)
    functions, shown = set(), {}
    for value in range(50):
        reports = [plan.read(client.report(value)).rows for _ in range(40)]
        function, symbols = mechanism.split(np.concatenate(reports))
        functions |= set(function.tolist())
        (own,) = mechanism.hashed(function[:1], np.array([value], np.uint64)).tolist()
        shown.setdefault(own, []).append(np.bincount(symbols.astype(int), minlength=4))
    g = mechanism.response.symbols
    assert len(functions) == 1
    assert set(shown) == set(range(g))
    assert client.spent == pytest.approx(g * mechanism.epsilon, rel=1e-12)
    # Values with the same symbol answer from the same response: its symbol leads in the sum over all of them.
    again = ldp.Client(plan, store=tmp_path, most=100.0)
    assert again.spent == client.spent
    again.report(49)
    assert again.spent == client.spent


def test_the_responses_of_one_bucket_are_the_same_and_of_others_are_not():
    mechanism = LinearHashingTwice(50, 2.0, once=1.0)
    buckets = mechanism.bucket(np.arange(50), seeded(1))
    one, two = (mechanism.randomize_bucket(buckets, seeded(2)) for _ in range(2))
    assert np.array_equal(one, two)
    assert not np.array_equal(one, mechanism.randomize_bucket(buckets, seeded(3)))


def test_auto_and_plans_without_once_do_not_take_it():
    assert all(
        create("auto", size, epsilon, once=epsilon / 4).mechanism.name != "llh+llh"
        for size, epsilon in itertools.product((3, 100, 41_270), (1.0, 8.0))
    )
    with pytest.raises(ldp.errors.InvalidInputError, match="no second perturbation"):
        ldp.Plan(10, "llh", epsilon=1.0, once=0.5)
    with pytest.raises(ldp.errors.EpsilonError, match="give once"):
        ldp.Plan(10, "llh+llh", epsilon=1.0)


PINNED = ("7d03f9d0aba82951", "d80b5304", "d80b530c")


def test_the_pinned_report():
    """A browser does not have this chain, so it has no vectors; these bytes must stay."""
    plan = ldp.Plan(1_000, "llh+llh", epsilon=2.0, once=1.0)
    permanent = plan.mechanism.permanent(np.array([7, 999]), seeded(4))
    reports = plan.mechanism.again(permanent, seeded(5))
    assert (plan.fingerprint[:16], permanent.tobytes().hex(), reports.tobytes().hex()) == PINNED
