"""The cell of every value, beside a definition in a few lines on strings of bits."""

from __future__ import annotations

import numpy as np
import pytest

from localdp.discovery.codes import Keys, Text
from localdp.discovery.prefixes import Candidates, bits_at, in_order, prefix_rows, with_bits


def bits_of(row):
    return "".join(f"{byte:08b}" for byte in row.tolist())


def defined_index(candidates, row, length, outside):
    """The definition: look for the first bits among the candidates, which are strings of bits."""
    opened = [bits_of(prefix)[: candidates.position] for prefix in candidates.open]
    finished = [bits_of(prefix)[: candidates.position] for prefix in candidates.finished]
    known, following = bits_of(row)[: candidates.position], bits_of(row)[candidates.position :][: candidates.bits]
    if outside:
        return candidates.cells - 1
    if length > candidates.position and known in opened:
        return opened.index(known) * 2**candidates.bits + int(following.ljust(candidates.bits, "0") or "0", 2)
    if length <= candidates.position and known in finished:
        return len(opened) * 2**candidates.bits + finished.index(known)
    return len(opened) * 2**candidates.bits + len(finished)


@pytest.mark.parametrize(("position", "bits"), [(0, 5), (3, 4), (8, 8), (13, 3), (16, 0), (21, 9)])
@pytest.mark.parametrize("kind", ["keys", "text"])
def test_cells_are_those_of_the_definition(kind, position, bits):
    rng = np.random.default_rng(position)
    if kind == "keys":
        code = Keys(16 if position == 16 else 30)
        encoded = code.encode([*rng.integers(0, 1 << code.bits, 60).tolist(), -1, None])
    else:
        code = Text(8)
        encoded = code.encode(["a", "", "tea", "ten", "te", "milk", "coffee", "x" * 9, None, "eat", "tee", "o"] * 3)
    chosen = np.unique(rng.choice(len(encoded.rows), 20))
    whole = encoded.lengths[chosen] <= position
    opened = np.unique(prefix_rows(encoded.rows[chosen[~whole & ~encoded.outside[chosen]]], position), axis=0)[
        : 1 if position == 0 else None
    ]
    finished = np.unique(prefix_rows(encoded.rows[chosen[whole & ~encoded.outside[chosen]]], position), axis=0)
    candidates = Candidates(position, bits, opened, finished)
    columns = (column[encoded.places] for column in (encoded.rows, encoded.lengths, encoded.outside))
    expected = [defined_index(candidates, *given) for given in zip(*columns, strict=True)]
    assert candidates.indices(encoded).tolist() == expected
    assert len(set(expected)) > 1
    assert max(expected) < candidates.cells


def test_outside_values_of_keys_are_the_catch_all_even_where_their_bits_are_a_candidate():
    code = Keys(8)
    zeros = np.zeros((1, 1), np.uint8)
    for candidates in (Candidates(4, 4, zeros, zeros[:0]), Candidates(8, 0, zeros[:0], zeros)):
        assert candidates.indices(code.encode([0, None])).tolist() == [0, candidates.cells - 1]


@pytest.mark.parametrize(("start", "count"), [(0, 1), (3, 21), (7, 2), (8, 16), (20, 12), (30, 9)])
def test_bits_that_are_put_in_place_are_found_there(start, count):
    rng = np.random.default_rng(1)
    rows = prefix_rows(rng.integers(0, 256, (50, 6)).astype(np.uint8), start)
    bits = rng.integers(0, 1 << count, 50)
    longer = with_bits(rows, start, bits, count, 6)
    assert np.array_equal(bits_at(longer, start, count), bits)
    assert np.array_equal(prefix_rows(longer, start), rows)
    assert not bits_at(longer, start + count, 8).any()


def test_rows_are_ordered_by_their_bits():
    rows = np.array([[2, 0], [0, 1], [1, 255], [0, 0]], np.uint8)
    assert in_order(rows).tolist() == [3, 1, 2, 0]
    assert in_order(rows[:0]).tolist() == []
