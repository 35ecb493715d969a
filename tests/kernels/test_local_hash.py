"""The hash of local hashing: pinned, and measured against an ideal one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from localdp.kernels import local_hash


def _reference(seed: int, item: int, symbols: int) -> int:
    def mix(x: int) -> int:
        for shift, factor in ((17, 0xED5AD4BB), (11, 0xAC4C1B51), (15, 0x31848BAB)):
            x = (x ^ x >> shift) * factor % 2**32
        return x ^ x >> 14

    return mix(seed ^ mix((item + 1) % 2**32)) * symbols >> 32


@given(st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1), st.integers(2, 2**24))
def test_hash_is_its_definition(seed, item, symbols):
    mixed = local_hash.mixed_items(np.array([item], np.uint32))
    assert local_hash.local_hash(np.array([seed], np.uint32), mixed, symbols)[0] == _reference(seed, item, symbols)


@given(st.integers(0, 2**32 - 1), st.integers(2, 2**24))
def test_range_of_a_symbol_is_what_scales_to_it(value, symbols):
    symbol = np.array([value * symbols >> 32], np.uint64)
    first, span = local_hash.preimage(symbol, symbols)
    assert int(first[0]) <= value <= int(first[0]) + int(span[0])
    assert (int(first[0]) - 1) * symbols >> 32 == int(symbol[0]) - 1
    assert (int(first[0]) + int(span[0]) + 1) * symbols >> 32 == int(symbol[0]) + 1


@pytest.mark.parametrize("symbols", [2, 4, 8, 56])
def test_pairs_of_items_collide_as_under_an_ideal_hash(symbols):
    """Neighbours, powers of two apart and far apart: 40 pairs, 2^20 seeds, false alarms 1e-6."""
    seeds = np.random.default_rng(symbols).integers(0, 2**32, 1 << 20, dtype=np.uint32)
    pairs = (
        [(0, 1 << k) for k in range(20)] + [(k, k + 1) for k in range(10)] + [(7 * k, 41_269 - k) for k in range(10)]
    )
    limit = norm.isf(1e-6 / (2 * len(pairs)))
    for pair in pairs:
        one, other = (
            local_hash.local_hash(seeds, local_hash.mixed_items(np.array([item], np.uint32)), symbols) for item in pair
        )
        rate, ideal = np.mean(one == other), 1 / symbols
        assert abs(rate - ideal) <= limit * np.sqrt(ideal * (1 - ideal) / seeds.size), pair
