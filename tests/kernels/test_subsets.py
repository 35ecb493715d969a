"""Random subsets: exactly the stated law, on every tape, and never another number of items."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import combinations
from math import comb

import numpy as np
import pytest

from localdp.checks.tapes import Tapes
from localdp.kernels import dispatch
from localdp.kernels.subsets import draw_subsets
from localdp.randomness.keystream import seeded


@pytest.mark.parametrize("value", [0, 2])
@pytest.mark.parametrize(("size", "subset", "length"), [(2, 1, 4), (3, 1, 6), (3, 2, 8), (5, 1, 4), (5, 2, 12)])
def test_every_tape_together_gives_exactly_the_stated_law(size, subset, length, value):
    """A tape that ends inside a redraw is left out. Redraws do not depend on the outcome, so the law stays the same."""
    width, keep, value = 2, 3, value % size
    tapes = Tapes(np.arange(1 << length, dtype=np.uint64), length, width)
    rows = draw_subsets.definition(tapes, np.full(1 << length, value), size, subset, keep)[~tapes.spilled]
    drawn = Counter(int(row[0]) for row in rows)
    law = {}
    for chosen in combinations(range(size), subset):
        own = value in chosen
        share = Fraction(keep if own else 4 - keep, 4) / (comb(size - 1, subset - 1) if own else comb(size - 1, subset))
        law[sum(1 << item for item in chosen)] = share
    assert {bitmap: Fraction(count, len(rows)) for bitmap, count in drawn.items()} == law


@pytest.mark.parametrize("kernels", ["numpy", "fast"])
@pytest.mark.parametrize(("size", "subset"), [(2, 1), (9, 8), (64, 5), (1000, 269)])
def test_a_subset_has_exactly_the_number_of_items_asked_for(kernels, size, subset):
    values = np.arange(300) % size
    with dispatch.kernels(kernels):
        rows = draw_subsets(seeded(size), values, size, subset, 2**63)
    assert rows.shape == (300, -(-size // 8))
    assert (np.bitwise_count(rows).sum(axis=1) == subset).all()
    assert not np.unpackbits(rows, axis=1, bitorder="little")[:, size:].any()


@pytest.mark.parametrize("kernels", ["numpy", "fast"])
@pytest.mark.parametrize(("keep", "inside"), [(0, False), (2**64 - 1, True)])
def test_the_held_item_is_always_or_never_inside_at_the_extremes(kernels, keep, inside):
    values = np.arange(500) % 20
    with dispatch.kernels(kernels):
        rows = draw_subsets(seeded(1), values, 20, 6, keep)
    held = np.unpackbits(rows, axis=1, bitorder="little")[np.arange(500), values]
    assert (held == inside).all()
