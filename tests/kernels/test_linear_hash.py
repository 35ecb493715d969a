"""The linear hash: it collides evenly, and every way of counting its reports agrees."""

from __future__ import annotations

import numpy as np
import pytest

from localdp.formats import bitstrings
from localdp.kernels import linear_hash
from localdp.kernels.galois_field import multiply

U = np.uint64


def _rows(multipliers, symbols, degree, bits):
    return bitstrings.from_integers(multipliers | symbols << U(degree), degree + bits)


@pytest.mark.parametrize("degree", [1, 2, 3, 5, 8, 13])
def test_logarithms_turn_products_into_sums(degree):
    of_elements, of_items = linear_hash.logarithms(degree)
    period = (1 << degree) - 1
    for logarithms in (of_elements, of_items):
        assert sorted(logarithms[1:].tolist()) == list(range(period))
        assert logarithms[0] == 2 * period
    elements = np.arange(1, period + 1, dtype=U)
    for factor in {1, (period + 1) // 2, period}:
        expected = (of_elements[elements] + of_elements[factor]) % period
        assert np.array_equal(of_elements[multiply(elements, factor, degree)], expected)


@pytest.mark.parametrize("degree", [1, 2, 3, 5, 8])
def test_a_multiplier_shifts_the_logarithm_of_an_item_to_that_of_its_hash(degree):
    of_elements, of_items = linear_hash.logarithms(degree)
    period = (1 << degree) - 1
    elements = np.arange(1, period + 1, dtype=U)
    hashed = linear_hash.linear_hash(elements[:, None], elements, degree, degree)
    assert np.array_equal(of_items[hashed], (of_elements[elements][:, None] + of_items[elements]) % period)


@pytest.mark.parametrize("degree", [1, 2, 3, 4, 5, 6])
def test_any_two_items_collide_under_equally_many_multipliers(degree):
    """The theorem in the docstring of `localdp.kernels.linear_hash`, for every pair and every number of bits."""
    field = 1 << degree
    multipliers, items = np.arange(1, field, dtype=U), np.arange(field, dtype=U)
    for bits in range(1, degree + 1):
        hashed = linear_hash.linear_hash(multipliers[:, None], items, degree, bits)
        for one in range(field):
            for other in range(one):
                difference = np.bincount((hashed[:, one] ^ hashed[:, other]).astype(int), minlength=1 << bits)
                assert difference[0] == (field >> bits) - 1
                assert (difference[1:] == field >> bits).all()


@pytest.mark.parametrize(("degree", "bits"), [(1, 1), (2, 1), (4, 4), (7, 3), (10, 2), (10, 9)])
@pytest.mark.parametrize("reports", [1, 50, 3000])
@pytest.mark.parametrize("share", [0, 0.4, 1])
def test_every_way_of_counting_agrees(degree, bits, reports, share):
    among = 1 + round(share * ((1 << bits) - 1))
    rng = np.random.default_rng(degree + reports)
    size = max(2, (1 << degree) - 1 - degree)
    multipliers = rng.integers(1, 1 << degree, reports, dtype=U)
    symbols = rng.integers(0, 1 << bits, reports, dtype=U)
    arguments = (_rows(multipliers, symbols, degree, bits), size, degree, bits, among)
    hashed = linear_hash.linear_hash(multipliers[:, None], np.arange(size, dtype=U), degree, bits)
    expected = (hashed ^ symbols[:, None] < among).sum(axis=0).tolist()
    assert linear_hash.count_transformed(*arguments).tolist() == expected
    assert linear_hash.count_listed(*arguments).tolist() == expected
    assert linear_hash.count_support(*arguments).tolist() == expected


@pytest.mark.parametrize("among", [1, 3])
def test_both_ways_of_collecting_agree(among):
    rng = np.random.default_rng(0)
    multipliers, symbols = rng.integers(1, 1 << 9, 2000, dtype=U), rng.integers(0, 8, 2000, dtype=U)
    one = linear_hash.collect_histogram(_rows(multipliers, symbols, 9, 3), 9, 3, among)
    assert np.array_equal(one, linear_hash.collect_reports(multipliers, symbols, 9, 3, among))


@pytest.mark.parametrize(
    ("reports", "size", "degree", "bits", "way"),
    [
        (1, 41_270, 16, 2, "listed"),
        (8_000_000, 41_270, 16, 2, "transformed"),
        (8_000_000, 41_270, 16, 6, "transformed"),
        (1_000, 41_270, 16, 16, "listed"),
        (100, 10_000_000, 24, 6, "transformed"),
        (100_000, 10_000_000, 24, 6, "transformed"),
    ],
)
def test_the_cheaper_way_is_taken(monkeypatch, reports, size, degree, bits, way):
    taken = []
    for name in ("listed", "transformed"):
        monkeypatch.setattr(linear_hash, f"count_{name}", lambda *_, name=name: taken.append(name))
    linear_hash.count_support(np.zeros((reports, 1), np.uint8), size, degree, bits)
    assert taken == [way]
