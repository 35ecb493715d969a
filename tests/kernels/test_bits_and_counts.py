"""Kernels against their five-line definitions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from localdp.checks.tapes import Tapes
from localdp.formats import bitstrings
from localdp.kernels.biased_bits import biased_bits
from localdp.kernels.counting import count_bits
from localdp.kernels.walsh_hadamard import walsh_hadamard
from localdp.randomness.keystream import seeded


@pytest.mark.parametrize("eager", [0, 1, 2, 3])
@pytest.mark.parametrize("threshold", range(1, 8))
def test_biased_bits_have_exactly_their_probability_however_lazily_they_are_drawn(threshold, eager):
    bits, width = 2, 3
    length = bits * width
    tapes = Tapes(np.arange(1 << length, dtype=np.uint64), length, width)
    words = biased_bits(tapes, 1 << length, bits, threshold, width, eager)
    assert not tapes.spilled.any()
    outcomes = np.bincount(words[:, 0].astype(int), minlength=4)
    q = Fraction(threshold, 8)
    for outcome, tapes_of_it in enumerate(outcomes):
        ones = outcome.bit_count()
        assert Fraction(int(tapes_of_it), 1 << length) == q**ones * (1 - q) ** (bits - ones)


def test_rare_bits_draw_on_past_the_eager_planes():
    words = biased_bits(seeded(1), 20_000, 130, 2**64 // 1000, 64)
    rate = np.bitwise_count(words).sum() / (20_000 * 130)
    assert abs(rate - 0.001) < 5 * np.sqrt(0.001 / (20_000 * 130))
    assert (words[:, 2] >> np.uint64(2) == 0).all()


@given(st.integers(1, 200), st.integers(0, 40), st.integers(0, 2**32))
def test_bits_are_counted_as_unpacked(bits, users, seed):
    rng = np.random.default_rng(seed)
    matrix = rng.integers(0, 2, (users, bits), np.uint8)
    rows = np.packbits(matrix, axis=1, bitorder="little")
    assert count_bits(rows, bits).tolist() == matrix.sum(axis=0).tolist()


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("order", [1, 2, 4, 32])
def test_transform_is_the_hadamard_matrix(order, axis):
    values = np.random.default_rng(order).integers(-50, 50, (order, 3) if axis == 0 else (3, order))
    signs = np.array([[1 - 2 * ((x & y).bit_count() % 2) for y in range(order)] for x in range(order)])
    expected = signs @ values if axis == 0 else values @ signs
    walsh_hadamard(values, axis)
    assert (values == expected).all()


@given(st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=20), st.integers(1, 64))
def test_integers_survive_the_bit_string(values, bits):
    kept = np.array([value % 2**bits for value in values], np.uint64)
    rows = bitstrings.from_integers(kept, bits)
    assert rows.shape == (len(values), -(-bits // 8))
    assert (bitstrings.to_integers(rows) == kept).all()
    assert not bitstrings.nonzero_padding(rows, bits).any()


def test_words_become_bytes_with_clean_padding():
    rows = bitstrings.from_words(np.full((2, 2), ~np.uint64(0)), 70)
    assert rows.shape == (2, 9)
    assert rows[0].tolist() == [255] * 8 + [63]
    assert bitstrings.bit(rows, 69).all()
    assert not bitstrings.bit(rows, 70).any()
