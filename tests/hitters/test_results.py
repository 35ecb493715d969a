"""Hitters, discoveries and surveys of sets can be asked the same: they iterate, and are tables."""

from __future__ import annotations

import pytest

import localdp as ldp
from localdp.result import Result

WORDS = ["tea"] * 6_000 + ["coffee"] * 3_000 + ["milk"] * 1_000
BASKETS = [["tea", "milk"], ["milk"], ["bread", "milk", "tea"], []] * 3_000
ITEMS = ["tea", "milk", "bread", "rice"]
PLAN = ldp.Plan(["tea", "coffee", "milk"], epsilon=4.0)
RESULTS = {
    "hitters": (lambda: PLAN.simulate([6_000, 3_000, 1_000], seed=1).estimate().calibrate().top(2), "milk"),
    "discovery": (lambda: ldp.discover(WORDS, epsilon=4.0, top=2, seed=1), "milk"),
    "survey": (lambda: ldp.sets.survey(BASKETS, ITEMS, epsilon=4.0, top=2, seed=1), "rice"),
    "itemsets": (lambda: ldp.sets.itemsets(BASKETS, ITEMS, epsilon=4.0, top=3, seed=1), ("rice",)),
}


@pytest.mark.parametrize("name", RESULTS)
def test_a_result_iterates_over_its_items_and_is_a_table(name):
    made, missing = RESULTS[name]
    result = made()
    assert isinstance(result, Result)
    assert list(result) == result.items
    assert len(result) == len(result.items)
    assert len(result.table()) == len(result) + isinstance(result, ldp.Found)  # which has a row for everybody else
    assert result.items[0] in result
    assert missing not in result
    assert list(result.tables()) == ["items"]
    assert str(result).startswith(str(result.tables()["items"]))
    frame = result.to_pandas()
    assert frame.frequency.tolist()[: len(result)] == result.frequencies.tolist()
    assert result.to_arrow().num_rows == result.to_polars().height == len(frame)
    assert isinstance(result.notes, tuple)
    assert repr(result).startswith(f"<{type(result).__name__}: ")


def test_a_notebook_shows_the_notes_below_the_table():
    hits = PLAN.simulate([6_000, 3_000, 1_000], seed=1).estimate().heavy_hitters("20%")
    assert hits.notes[0] in hits._repr_html_()
    assert hits._repr_html_().index(hits.notes[0]) > hits._repr_html_().index("tea")
