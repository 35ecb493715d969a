"""Indices of items: what is accepted and as what, what is refused, and with which sentence."""

from __future__ import annotations

import math
import re
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from localdp.domain import checked_indices
from localdp.errors import UnknownItemError


@pytest.mark.parametrize(
    "values",
    [
        [0, 6, 3],
        (0, 6, 3),
        [np.int8(0), np.int64(6), 3],
        np.array([np.int8(0), np.int64(6), 3], object),
        np.array([0, 6, 3], np.uint8),
        np.array([0, 6, 3], np.int64),
    ],
)
def test_indices_are_int64(values):
    found = checked_indices(values, 7)
    assert found.tolist() == [0, 6, 3]
    assert found.dtype == np.int64


def test_no_indices_are_an_empty_array():
    for values in ([], (), np.zeros(0), np.zeros((0, 3), np.int8)):
        found = checked_indices(values, 7)
        assert (found.shape, found.dtype) == ((0,), np.int64)


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ([7], "1 value not among 0..6: 7;"),
        ([-1, 3, 8, 9, 10], "4 values not among 0..6: -1, 8, 9, ...;"),
        ([2**63], "1 value not among 0..6: 9223372036854775808;"),
        ([1, 10**400], "1 value not among 0..6: 1000000"),
        ([1, 10**5000], "1 value not among 0..6: a number of thousands of digits;"),
        (5, "1 value not among 0..6: 5;"),
        (["a" * 1000], "1 value not among 0..6: 'aaaa"),
        ([True], "1 value not among 0..6: True;"),
        ([1, None], "1 value not among 0..6: None;"),
        ([1.0], "1 value not among 0..6: 1.0 (the items are whole numbers, and this is a float: convert the values"),
        ([math.nan], "1 value not among 0..6: nan;"),
        ([math.inf, 1], "not among 0..6: inf"),
        (["1"], "1 value not among 0..6: '1' (the items are numbers, and this is text);"),
        ([Fraction(1)], "1 value not among 0..6: Fraction(1, 1);"),
        ([Decimal(1)], "1 value not among 0..6: Decimal('1');"),
        ([[1, 2]], "1 value not among 0..6: [1, 2];"),
        ([[1], [2, 3]], "2 values not among 0..6: [1], [2, 3];"),
    ],
)
def test_what_are_not_indices_is_named(values, sentence):
    with pytest.raises(UnknownItemError, match=re.escape(sentence)) as caught:
        checked_indices(values, 7)
    assert len(str(caught.value)) < 500
