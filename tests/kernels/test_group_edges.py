"""Groups of users who draw together: exactly full, one user short, and one user over; compiled as in NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from localdp.kernels import dispatch, rare_bits
from localdp.kernels.biased_bits import biased_bits, users_together
from localdp.kernels.compiled import linear_hash as compiled_linear_hash
from localdp.kernels.galois_field import irreducible
from localdp.kernels.linear_hash import linear_hash
from localdp.mechanisms import MECHANISMS
from localdp.randomness.keystream import seeded

SIZES = (130, 41_269, 41_270, 41_280)  # 41,270 items: the largest real domain here; 41,280 bits fill whole words
AROUND = (-1, 0, 1)
KINDS = {"every bit": biased_bits, "jumps": rare_bits.rare_bits}
THRESHOLDS = {"every bit": 2**62, "jumps": 2**57}


def _drawn(kind, bits, users, kernels, seed=3):
    with dispatch.kernels(kernels):
        return KINDS[kind](seeded(seed), users, bits, THRESHOLDS[kind], 64)


@pytest.mark.parametrize("more", AROUND)
@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("bits", SIZES)
@pytest.mark.parametrize("kind", KINDS)
def test_every_row_has_its_noise_and_the_compiled_one_is_the_same(kind, bits, groups, more):
    users = groups * users_together(bits) + more
    words = _drawn(kind, bits, users, "numpy")
    assert np.array_equal(words, _drawn(kind, bits, users, "fast"))
    lit = np.bitwise_count(words).sum(axis=1, dtype=np.int64)
    q = THRESHOLDS[kind] / 2**64
    tails = np.minimum(binom.cdf(lit, bits, q), binom.sf(lit - 1, bits, q))
    assert tails.min() > 1e-10  # 80,000 rows in all: a seed in 60,000 would fail


@pytest.mark.parametrize("kernels", ["numpy", "fast"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_part_of_a_long_row_has_its_noise(kind, kernels):
    """Lit bits of each 1,024 places, over all rows: nothing wraps around and no part of a row stays dark."""
    bits, users = 41_270, 2 * users_together(41_270) + 1
    words = _drawn(kind, bits, users, kernels)
    parts = np.bitwise_count(words)[:, :640].reshape(users, 40, 16).sum(axis=(0, 2), dtype=np.int64)
    q = THRESHOLDS[kind] / 2**64
    tails = np.minimum(binom.cdf(parts, 1024 * users, q), binom.sf(parts - 1, 1024 * users, q))
    assert tails.min() > 1e-9


@pytest.mark.parametrize("kernels", ["numpy", "fast"])
@pytest.mark.parametrize("epsilon", [1.0, 8.0])
@pytest.mark.parametrize("more", AROUND)
def test_the_last_user_of_a_group_has_noise_in_every_batch(kernels, epsilon, more):
    mechanism = MECHANISMS["oue"](41_270, epsilon)
    users = users_together(41_270) + more
    with dispatch.kernels(kernels):
        rows = mechanism.privatize(np.full(users, 41_269), seeded(5))
    lit = np.bitwise_count(rows).sum(axis=1, dtype=np.int64)
    assert lit.min() > 0 if epsilon == 8 else lit.min() > 10_000  # 14 and 11,099 are expected; no noise gives 0 or 1


def test_a_compiled_hash_goes_on_after_item_zero():
    multipliers = np.arange(1, 1001, dtype=np.uint64)
    items = np.full(1000, 5, np.uint64)
    items[[0, 1, 500, 999]] = 0
    with dispatch.kernels("fast"):
        made = linear_hash(multipliers, items, 10, 3)
    assert np.array_equal(made, linear_hash.definition(multipliers, items, 10, 3))
    written = np.full(1000, 99, np.uint64)
    compiled_linear_hash._linear_hash(multipliers, items, 10, 3, irreducible(10), written)
    assert np.array_equal(written, made)
