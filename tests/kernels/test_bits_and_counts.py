"""Drawing and counting bits, counting integers, and the transform, each against a few lines of plain Python."""

from __future__ import annotations

from fractions import Fraction
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from localdp.checks.tapes import Tapes
from localdp.formats import bitstrings
from localdp.kernels import counting
from localdp.kernels.biased_bits import biased_bits
from localdp.kernels.counting import add_histogram, count_bits
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
    """False alarms: 1e-6 (five deviations)."""
    words = biased_bits(seeded(1), 20_000, 130, 2**64 // 1000, 64)
    rate = np.bitwise_count(words).sum() / (20_000 * 130)
    assert abs(rate - 0.001) < 5 * np.sqrt(0.001 / (20_000 * 130))
    assert (words[:, 2] >> np.uint64(2) == 0).all()


def _bit_rows(users, bits, seed):
    matrix = np.random.default_rng(seed).integers(0, 2, (users, bits), np.uint8)
    return np.packbits(matrix, axis=1, bitorder="little"), matrix.sum(axis=0, dtype=np.int64)


USERS = st.one_of(st.integers(0, 40), st.sampled_from([254, 255, 256, 511, 1021]))


@given(st.integers(1, 200), USERS, st.integers(0, 2**32))
def test_few_rows_are_counted_by_unpacking(bits, users, seed):
    rows, expected = _bit_rows(users, bits, seed)
    counts = count_bits.definition(rows, bits)
    assert counts.tolist() == expected.tolist()
    assert counts.dtype == np.int64


@given(st.integers(1, 200), USERS, st.sampled_from([1, 5, 64]), st.integers(0, 2**32))
def test_many_rows_are_counted_by_the_adder(bits, users, words, seed):
    rows, expected = _bit_rows(users, bits, seed)
    with patch.multiple(counting, _FEW_LONG_ROWS=0, _LONG_ROW_WORDS=words):
        assert count_bits.definition(rows, bits).tolist() == expected.tolist()


@pytest.mark.parametrize(
    ("users", "octets"), [(255, 128), (256, 128), (600, 127), (70_000, 1), (40, 5000), (3, 200_000)]
)
def test_bytes_that_count_unpacked_bits_do_not_overflow(users, octets):
    rows = np.full((users, octets), 255, np.uint8)
    assert (counting.count_unpacked(rows) == users).all()


def test_rows_that_do_not_lie_side_by_side_are_counted():
    rows = np.random.default_rng(0).integers(0, 256, (300, 40), np.uint8)
    for view in (rows[::2], rows[:, 3:10], rows[::-1]):
        expected = np.unpackbits(view, axis=1, bitorder="little").sum(axis=0)
        assert count_bits.definition(view, 8 * view.shape[1]).tolist() == expected.tolist()


def test_long_rows_are_whole_words_and_nothing_is_lost():
    rows = np.arange(250, dtype=np.uint8).reshape(50, 5)
    words, rest = counting.long_rows(rows, 10)
    assert words.shape == (3, 10)  # 16 rows of 5 bytes are 10 words
    assert words.astype("<u8").tobytes() + rest.tobytes() == rows.tobytes()


@given(st.lists(st.integers(0, 8), max_size=50), st.sampled_from([np.int32, np.int64]))
def test_a_histogram_counts_each_integer_and_adds_to_what_is_there(values, kind):
    rows = bitstrings.from_integers(np.array(values, np.uint64), 12)
    counts = np.arange(9).astype(kind)
    add_histogram.definition(rows, counts)
    assert counts.tolist() == [k + values.count(k) for k in range(9)]
    assert counts.dtype == kind


def test_a_histogram_of_many_rows_is_made_in_blocks():
    values = np.random.default_rng(1).integers(0, 5, counting._HISTOGRAM_ROWS * 2 + 77, np.uint64)
    counts = np.zeros(5, np.int64)
    add_histogram.definition(bitstrings.from_integers(values, 3), counts)
    assert counts.tolist() == np.bincount(values.astype(int), minlength=5).tolist()


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
