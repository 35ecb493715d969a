"""Every user has noise of their own, wherever they stand in a batch, under both kinds of kernels."""

from __future__ import annotations

import numpy as np
import pytest

import localdp as ldp
from localdp.kernels import dispatch
from localdp.mechanisms import MECHANISMS
from localdp.randomness.keystream import secure, seeded

USERS = 40_000
KERNELS = ["numpy", "fast"]


@pytest.mark.parametrize("kernels", KERNELS)
@pytest.mark.parametrize("name", MECHANISMS)
def test_users_16384_apart_have_their_own_keep_coin(name, kernels):
    mechanism = MECHANISMS[name](3, 0.5)
    with dispatch.kernels(kernels):
        rows = mechanism.privatize(np.zeros(USERS, np.int64), seeded(2))
    kept = mechanism.supports(rows, 0)
    p = mechanism.p_star
    for apart in (1, 2, 64, 1024, 4096, 16_384, 32_768):
        agree = float((kept[:-apart] == kept[apart:]).mean())
        expected = p**2 + (1 - p) ** 2
        assert abs(agree - expected) < 5.5 * np.sqrt(expected * (1 - expected) / (USERS - apart))


@pytest.mark.parametrize("name", MECHANISMS)
def test_two_large_secure_calls_differ(name):
    mechanism = MECHANISMS[name](3, 0.5)
    values = np.zeros((1 << 20) + 1, np.int64)
    once, twice = (mechanism.privatize(values, secure()) for _ in range(2))
    assert 0.05 < float((once != twice).any(axis=1).mean()) <= 1


def test_two_large_calls_of_a_plan_differ():
    plan = ldp.Plan(3, "grr", 0.5)
    values = np.zeros((1 << 20) + 1, np.int64)
    assert not np.array_equal(plan.privatize(values).rows, plan.privatize(values).rows)


@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.parametrize("kernels", KERNELS)
def test_a_batch_of_one_user_has_the_stated_noise(name, kernels):
    """The batch of a device: over 500 batches of one user, p* of them are kept."""
    mechanism = MECHANISMS[name](20, 0.5)
    with dispatch.kernels(kernels):
        rows = np.concatenate([mechanism.privatize(np.array([7]), seeded(seed)) for seed in range(500)])
    p = mechanism.p_star
    assert abs(float(mechanism.supports(rows, 7).mean()) - p) < 5.5 * np.sqrt(p * (1 - p) / 500)
