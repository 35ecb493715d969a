"""Domains: what may be an item, and what is said about what may not."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from localdp import Domain
from localdp.errors import DomainError, LocalDPError, UnknownItemError
from localdp.formats import canonical_json
from localdp.items import _checked_one_by_one, checked_items

any_text = st.text(st.characters(exclude_categories=()), max_size=3)
"""Text of any code points, lone surrogates among them."""
alike = st.sampled_from([0, 1, 2, False, True, 0.0, -0.0, 1.0, 2.0, "1", "", np.int64(1), np.str_("1"), np.bool_(True)])
odd = (
    st.none() | st.floats() | st.binary(max_size=2) | st.sampled_from([2**53, -(2**53), 2**53 - 1, 1 - 2**53, 10**400])
)
lists_of_items = (
    st.lists(any_text)
    | st.lists(st.sampled_from("ab\0\ud800\udc00\U0001f375"))
    | st.lists(st.integers(-3, 3))
    | st.lists(st.integers())
    | st.lists(alike)
    | st.lists(alike | any_text | odd | st.integers())
)


def checked_or_error(check, items):
    try:
        found = check(items)
    except DomainError as error:
        return str(error)
    return list(map(type, found)), found


@given(lists_of_items)
def test_items_checked_at_once_are_those_that_are_checked_one_by_one(items):
    assert checked_or_error(checked_items, items) == checked_or_error(_checked_one_by_one, tuple(items))


@given(st.lists(alike, min_size=2, max_size=3), st.lists(alike, min_size=2, max_size=3))
def test_domains_are_equal_when_their_canonical_texts_are(one, other):
    try:
        pair = Domain(one), Domain(other)
    except DomainError:
        return
    texts = [canonical_json.definition(domain.to_json()) for domain in pair]
    assert (pair[0] == pair[1]) is (texts[0] == texts[1])
    if pair[0] == pair[1]:
        assert hash(pair[0]) == hash(pair[1])


def test_the_same_numbers_are_the_same_domain_but_truth_is_not_a_number():
    assert Domain([1, 2]) == Domain([1.0, 2.0]) == Domain([1, 2.0])
    assert Domain([1, 2]) != Domain([True, 2])
    assert Domain([0, -1.5]) == Domain([-0.0, -1.5])
    assert Domain([0, -1.5]) != Domain([False, -1.5])
    assert Domain(2) != Domain([0, 1])
    assert Domain(2) == Domain(np.int8(2)) != Domain(3)
    assert Domain(["a", "b"]) != ("a", "b")


def test_comparing_domains_of_strings_writes_no_json(monkeypatch):
    one, same, other = Domain(["a", "b"]), Domain(["a", "b"]), Domain(["b", "a"])
    monkeypatch.setattr(canonical_json, "dumps", None)
    assert one == same != other
    assert hash(one) == hash(same)


@pytest.mark.parametrize(
    "items", [5, np.int64(5), [1, 5, 3], ["a", "b"], np.array(["x", "y"]), [True, False], [0.5, "a", 3]]
)
def test_items_and_indices_correspond(items):
    domain = Domain(items)
    assert domain.indices(list(domain.items)).tolist() == list(range(domain.size))
    assert (
        domain.indices(np.array(domain.items)[::-1] if domain.size != 3 else list(domain.items)[::-1]).tolist()
        == list(range(domain.size))[::-1]
    )
    assert Domain(domain.to_json().get("items", domain.size)) == domain


@pytest.mark.parametrize("items", [0, 1, -3, [], ["a"], range(0)])
def test_fewer_than_two_items_are_refused(items):
    with pytest.raises(DomainError, match="at least two"):
        Domain(items)


@pytest.mark.parametrize("items", [["a", "b", "a"], [1, 2, 1.0], [1, 0, True]])
def test_an_item_twice_is_refused_by_name(items):
    with pytest.raises(DomainError, match="twice") as caught:
        Domain(items)
    assert repr(items[2]) in str(caught.value)


@pytest.mark.parametrize(
    ("items", "sentence"),
    [
        ("abc", "not the text 'abc'"),
        (b"abc", "not the text b'abc'"),
        (2.5, "a list of items or a number of items, not 2.5"),
        (None, "a list of items or a number of items, not None"),
        (True, "a list of items or a number of items, not True"),
        ([None, 1], "None cannot be an item"),
        ([float("nan"), 1], "nan cannot be an item"),
        ([float("inf"), 1], "inf cannot be an item"),
        ([(1,), 2], r"\(1,\) cannot be an item"),
        ([2**53, 1], r"a number past 2\^53 cannot be an item"),
        ([1, -(2**53)], r"a number past 2\^53 cannot be an item"),
        ([1e20, 2.0], r"a number past 2\^53 cannot be an item"),
        ([10**5000, 1], r"a number past 2\^53 cannot be an item"),
        (2**64, r"at most 2\^32 items"),
        (["a", "\ud800"], "cannot be an item: .*surrogates not allowed"),
    ],
)
def test_what_is_not_an_item_is_refused(items, sentence):
    with pytest.raises(DomainError, match=sentence):
        Domain(items)


@pytest.mark.parametrize("values", [["tea", "beer"], ["tea", None], ["tea", ["x"]], np.array(["beer"])])
def test_a_value_outside_the_domain_is_named(values):
    with pytest.raises(UnknownItemError, match="1 value not among the 2 items"):
        Domain(["tea", "coffee"]).indices(values)


@pytest.mark.parametrize("values", [[0, 7], [-1], [2**40]])
def test_an_index_outside_the_domain_is_named(values):
    with pytest.raises(UnknownItemError, match=rf"1 value not among 0\.\.6: {values[-1]}"):
        Domain(7).indices(values)


@pytest.mark.parametrize("values", [[0.0, 1.0], ["a"], [[0], [1]], [[0], [1, 2]], [True], "01", 3, None, np.array(3)])
def test_values_must_be_a_flat_list_of_indices(values):
    with pytest.raises(UnknownItemError, match=r"not among 0\.\.6|values must be a flat list"):
        Domain(7).indices(values)


def test_iterators_are_lists_too():
    assert Domain(7).indices(k for k in (3, 1)).tolist() == [3, 1]
    assert Domain(["a", "b"]).indices(k for k in "ba").tolist() == [1, 0]


@pytest.mark.parametrize("domain", [Domain(7), Domain([1, 2, 3])])
@pytest.mark.parametrize("values", [{1, 2}, {1: 6000, 2: 3000}])
def test_sets_and_mappings_are_not_values(domain, values):
    with pytest.raises(UnknownItemError, match="one item for each user"):
        domain.indices(values)


@pytest.mark.parametrize("items", [{"a", "b"}, frozenset({1, 2}), {"a": 1, "b": 2}, {"a": 1, "b": 2}.keys()])
def test_what_has_no_order_is_not_a_domain(items):
    with pytest.raises(DomainError, match="order"):
        Domain(items)


def test_the_strange_value_among_indices_is_named():
    with pytest.raises(UnknownItemError, match=r"1 value not among 0\.\.6: None"):
        Domain(7).indices([1, None])


def test_a_large_domain_prints_small():
    assert len(repr(Domain([f"item {k}" for k in range(10_000)]))) < 100


@pytest.mark.parametrize("values", [np.array("abc"), np.array([["a"]]), 5, None, "abc", b"abc"])
def test_values_must_be_a_flat_list_of_items(values):
    with pytest.raises(UnknownItemError, match="flat list"):
        Domain(["a", "b", "c"]).indices(values)


def test_domain_cannot_be_changed():
    with pytest.raises(AttributeError, match="Domain is a value"):
        Domain(["a", "b"]).items = ("b", "a")


@pytest.mark.parametrize("other", [None, "rest"])
@given(numbers=st.lists(st.integers(-(2**53) + 1, 2**53 - 1), min_size=2, max_size=12, unique=True), data=st.data())
def test_whole_numbers_are_found_at_once_as_one_by_one(other, numbers, data):
    domain = Domain(numbers, other=other)
    asked = data.draw(st.lists(st.sampled_from(numbers) | st.integers(-(2**70), 2**70), max_size=12))
    expected = [numbers.index(number) if number in numbers else len(numbers) for number in asked]
    if other is None and len(numbers) in expected:
        with pytest.raises(UnknownItemError, match="not among"):
            domain.indices(asked)
    else:
        assert domain.indices(asked).tolist() == expected
        assert domain.indices([float(number) for number in asked if abs(number) < 2**53]).tolist() == [
            place for place, number in zip(expected, asked, strict=True) if abs(number) < 2**53
        ]


def test_large_numbered_domains_are_compared_at_once():
    assert Domain(2**32) == Domain(2**32)
    assert Domain(2**32) != Domain(2**32, other=7)
    assert repr(Domain(9, other=7)) == "Domain(9, other=7)"


def test_a_table_is_refused_where_one_column_is_meant():
    """A data frame iterates over the names of its columns, so a catch-all would turn it into one answer."""
    frame = pd.DataFrame({"drink": ["tea", "coffee", "tea"]})
    for domain in (Domain(["tea", "coffee"]), Domain(["tea", "coffee"], other="none"), Domain(3, other=0)):
        for table in (frame, pa.table({"drink": ["tea"]}), [["tea"], ["coffee"]], np.array([["tea"]])):
            with pytest.raises(UnknownItemError, match="a table was given: pass one column, as in df"):
                domain.indices(table)
    with pytest.raises(UnknownItemError, match=r"as in df\['drink'\]"):
        Domain(["tea", "coffee"], other="none").indices(frame)
    with pytest.raises(DomainError, match=r"a table was given: pass one column, as in df\['drink'\]"):
        Domain(frame)
    assert Domain(["tea", "coffee"], other="none").indices(frame["drink"]).tolist() == [0, 1, 0]


DOMAINS = [
    Domain(["tea", "coffee"]),
    Domain(["tea", "coffee"], other="rest"),
    Domain(5),
    Domain(5, other=4),
    Domain([1, False, "1", 2.5]),
]


@pytest.mark.parametrize("domain", DOMAINS, ids=str)
@pytest.mark.parametrize("value", ["tea", "cocoa", "1", 1, 1.0, True, 2.5, -1, 7, np.int64(3), np.str_("tea"), None])
def test_one_index_is_that_of_a_list_of_one(domain, value):
    try:
        expected = domain.indices([value]).tolist()
    except LocalDPError as error:
        with pytest.raises(type(error), match=r"\w"):
            domain.index(value)
    else:
        assert [domain.index(value)] == expected
        assert type(domain.index(value)) is int


def test_a_list_is_not_one_value():
    with pytest.raises(UnknownItemError, match="a value is one item, not"):
        Domain(5).index([])
