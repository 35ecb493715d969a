"""Candidates: all itemsets in the order of their guesses, each once, and who holds them."""

from __future__ import annotations

from itertools import combinations, islice, pairwise

import numpy as np
import pytest

from localdp.item_sets import ItemSets
from localdp.sets import candidates
from localdp.sets.candidates import held, likeliest


@pytest.mark.parametrize("largest", [1, 2, 3, 5])
def test_every_itemset_comes_once_and_the_likeliest_first(largest):
    shares = np.random.default_rng(largest).random(7)
    every = [chosen for size in range(1, largest + 1) for chosen in combinations(range(7), size)]
    found = list(likeliest(shares, largest))
    assert sorted(found) == sorted(every)
    guesses = [np.prod(shares[list(itemset)]) for itemset in found]
    assert all(one >= two * (1 - 1e-12) for one, two in pairwise(guesses))


def test_only_what_is_asked_for_is_made():
    """There are more itemsets of 10 among 20,000 items than anybody could list."""
    found = list(islice(likeliest(np.linspace(0.9, 0.1, 20_000), 10), 100))
    assert len(set(found)) == 100


def test_certain_items_make_the_largest_itemsets():
    assert next(islice(likeliest(np.array([1.0, 1.0, 0.5]), 2), 1, None)) in {(1,), (0, 1)}


@pytest.mark.parametrize("users", [0, 1, 57])
def test_who_holds_what_is_what_a_plain_loop_finds(users, monkeypatch):
    monkeypatch.setattr(candidates, "_USERS_AT_ONCE", 16)  # so that there are several pieces
    rng = np.random.default_rng(users)
    baskets = [sorted(rng.permutation(6)[: rng.integers(0, 7)].tolist()) for _ in range(users)]
    sets = ItemSets.of(
        np.array([item for basket in baskets for item in basket], np.int64),
        np.array([len(b) for b in baskets], np.int64),
    )
    wanted = ((2,), (0, 5), (1, 2, 3), (4,), (0, 1, 2, 3, 4, 5))
    found = held(wanted, sets)
    expected = [[n for n, itemset in enumerate(wanted) if set(itemset) <= set(basket)] for basket in baskets]
    assert found.sizes.tolist() == [len(one) for one in expected]
    assert found.items.tolist() == [n for one in expected for n in one]
