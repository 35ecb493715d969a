"""Domains: what may be an item, and what is said about what may not."""

from __future__ import annotations

import numpy as np
import pytest

from localdp import Domain
from localdp.errors import DomainError, UnknownItemError


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
    "items",
    [
        "abc",
        b"abc",
        2.5,
        None,
        [None, 1],
        [float("nan"), 1],
        [float("inf"), 1],
        [(1,), 2],
        [2**53, 1],
        [1e20, 2.0],
        [10**5000, 1],
        2**64,
        ["\ud800", "a"],
    ],
)
def test_what_is_not_an_item_is_refused(items):
    with pytest.raises(DomainError):
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
    with pytest.raises(UnknownItemError):
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
    with pytest.raises(AttributeError):
        Domain(["a", "b"]).items = ("b", "a")
