"""The catch-all item: every value that is not listed is reported as that item, and nobody has to stay silent."""

from __future__ import annotations

import json
from enum import IntEnum

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import localdp as ldp
from localdp import files
from localdp.errors import DataFileError, DomainError, PlanError, UnknownItemError

OTHER = "something else"
DRINKS = ldp.Plan(["tea", "coffee"], epsilon=1.0, other=OTHER)


def test_the_catch_all_is_the_last_item_unless_it_is_listed():
    assert list(DRINKS.domain.items) == ["tea", "coffee", OTHER]
    listed = ldp.Plan(["tea", OTHER, "coffee"], epsilon=1.0, other=OTHER)
    assert list(listed.domain.items) == ["tea", OTHER, "coffee"]
    assert listed.domain.indices(["cocoa", "coffee"]).tolist() == [1, 2]
    assert list(ldp.Plan(["tea"], epsilon=1.0, other=OTHER).domain.items) == ["tea", OTHER]


@pytest.mark.parametrize(
    "strange", ["cocoa", "", None, float("nan"), 7, ["tea"], {"tea": 1}, b"tea", ("tea",), object()]
)
def test_every_value_that_is_not_listed_is_the_catch_all(strange):
    assert DRINKS.domain.indices(["tea", strange, OTHER]).tolist() == [0, 2, 2]


def test_masked_values_are_the_catch_all_or_refused_but_never_counted_as_values():
    values = np.ma.array([1, 0, 1], mask=[False, True, False])
    with pytest.raises(UnknownItemError, match="masked"):
        ldp.Plan(2, "grr", 1.0).privatize(values)
    assert ldp.Domain(4, other=3).indices(values).tolist() == [1, 3, 1]
    words = np.ma.array(["tea", "tea"], mask=[True, False])
    with pytest.raises(UnknownItemError, match="not among the 2 items"):
        ldp.Plan(["tea", "coffee"], "grr", 1.0).privatize(words)
    assert DRINKS.domain.indices(words).tolist() == [2, 0]
    unmasked = np.ma.array([1, 0], mask=False)
    assert ldp.Domain(2).indices(unmasked).tolist() == [1, 0]


@given(st.lists(st.integers(-(2**70), 2**70), max_size=20))
def test_numbered_items_take_one_of_their_numbers(values):
    domain = ldp.Domain(10, other=4)
    assert domain.indices(values).tolist() == [value if 0 <= value < 10 else 4 for value in values]


@pytest.mark.parametrize("strange", ["1", 1.5, None, float("nan"), float("inf"), [1], True, np.bool_(True), 2**80, -1])
def test_whatever_is_not_a_number_of_an_item_is_the_catch_all(strange):
    assert ldp.Domain(10, other=4).indices([3, strange]).tolist() == [3, 4]


def test_whole_floats_are_the_numbers_they_equal():
    assert ldp.Domain(10, other=4).indices(np.array([1.0, np.nan, 2.5, 9.0, 10.0])).tolist() == [1, 4, 4, 9, 4]


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64])
@pytest.mark.parametrize(("size", "other"), [(300, 261), (70_000, 65_541), (1000, 999), (100, 99)])
def test_narrow_arrays_neither_wrap_round_nor_fail(kind, size, other):
    most = np.iinfo(kind).max
    values = np.array([3, most, np.iinfo(kind).min], kind)
    expected = [value if 0 <= value < size else other for value in values.tolist()]
    assert ldp.Domain(size, other=other).indices(values).tolist() == expected
    masked = np.ma.array(values, mask=[True, False, False])
    assert ldp.Domain(size, other=other).indices(masked).tolist() == [other, *expected[1:]]


def test_true_is_not_one():
    assert ldp.Domain([1, 2], other="rest").indices([True, 1, 1.0, np.int8(2)]).tolist() == [2, 0, 0, 1]
    for items, other in (([1, 2], True), ([True, False], 1), ([0, 5], False)):
        with pytest.raises(DomainError, match="is in the domain twice"):
            ldp.Domain(items, other=other)


@pytest.mark.parametrize("other", [10, -1, "rest", 2.0, True])
def test_numbered_items_have_no_other_catch_all(other):
    with pytest.raises(DomainError, match=r"one of their numbers, 0\.\.9"):
        ldp.Domain(10, other=other)


@pytest.mark.parametrize("other", [float("nan"), ["rest"], {"rest": 1}, b"rest", 2**60])
def test_the_catch_all_must_be_an_item(other):
    with pytest.raises(DomainError, match=r"cannot be an item|past 2\^53"):
        ldp.Domain(["tea", "coffee"], other=other)


@pytest.mark.parametrize(
    "plan", [DRINKS, ldp.Plan(9, epsilon=1.0, other=3), ldp.Plan([1, 2], epsilon=1.0, other="more")]
)
def test_the_catch_all_travels_with_the_plan(plan):
    again = ldp.Plan.from_json(plan.to_json())
    assert again == plan
    assert again.domain.other == plan.domain.other
    assert json.loads(plan.to_json())["domain"]["other"] == plan.domain.other
    without = ldp.Plan(list(plan.domain.items), plan.mechanism.name, 1.0)
    assert without != plan
    assert without.domain != plan.domain
    assert "other" not in json.loads(without.to_json())["domain"]


@pytest.mark.parametrize(
    "domain",
    [
        {"items": ["tea", "coffee"], "other": "rest"},
        {"items": ["tea", "coffee"], "other": None},
        {"items": ["tea", "coffee"], "other": 1},
        {"size": 3, "other": 3},
        {"size": 3, "other": "0"},
        {"size": 3, "items": ["a", "b"], "other": 1},
        {"other": 1},
        {"items": [1, 2, True], "other": True},
        {"items": [1, 2], "other": 1.0},
        {"items": [1, 2], "other": True},
    ],
)
def test_a_catch_all_that_is_not_as_it_is_written_is_refused(domain):
    document = json.loads(DRINKS.to_json()) | {"domain": domain}
    with pytest.raises(PlanError):
        ldp.Plan.from_json(json.dumps(document))


def test_a_domain_can_be_given_a_catch_all_later():
    assert ldp.Plan(ldp.Domain(["tea", "coffee"]), epsilon=1.0, other=OTHER).domain == DRINKS.domain
    assert ldp.Plan(ldp.Domain(5), epsilon=1.0, other=2).domain.other == 2
    assert ldp.Plan(DRINKS.domain, epsilon=1.0).domain.other == OTHER


def test_the_estimate_counts_everybody():
    values = ["tea"] * 4000 + ["cocoa"] * 3000 + ["milk"] * 3000
    plan = ldp.Plan(["tea", "coffee"], "grr", 8.0, other=OTHER)
    estimate = plan.aggregate(plan.privatize(values, seed=1)).estimate()
    assert estimate.n == 10_000
    assert abs(estimate.frequencies - [4000, 0, 6000]).max() < 6 * estimate.std_error_at(6000) + 1


@pytest.mark.parametrize("ending", ["csv", "parquet", "arrow"])
def test_files_know_the_catch_all(tmp_path, ending):
    path = tmp_path / f"values.{ending}"
    files.write_table(ldp.Table({"drink": ["tea", "cocoa", "coffee", OTHER, ""]}), path)
    (found,) = files.indices(path, "drink", DRINKS.domain)
    assert found.tolist() == [0, 2, 1, 2, 2]


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_a_catch_all_need_not_have_the_type_of_the_column(tmp_path, ending):
    path = tmp_path / f"values.{ending}"
    files.write_table(ldp.Table({"number": np.array([2, 7, 1])}), path)
    (found,) = files.indices(path, None, ldp.Domain([1, 2], other="more"))
    assert found.tolist() == [1, 2, 0]
    with pytest.raises(DataFileError, match="text"):
        list(files.indices(path, None, ldp.Domain(["a", "b"], other="more")))


def test_the_error_recommends_it_and_says_why():
    with pytest.raises(UnknownItemError, match=r"catch-all item .* other='something else'.* would tell that"):
        ldp.Plan(["tea", "coffee"], epsilon=1.0).privatize(["cocoa"])


@pytest.mark.parametrize("ending", ["csv", "parquet", "arrow"])
@pytest.mark.parametrize(("other", "rest"), [(None, files.UNKNOWN), (7, 7)])
def test_numbered_items_of_any_number_are_found_in_files(tmp_path, ending, other, rest):
    """A table of 2^32 numbers would not fit into memory."""
    path = tmp_path / f"values.{ending}"
    files.write_table(ldp.Table({"number": np.array([0, 2**32 - 1, 2**32, 5, -1])}), path)
    (found,) = files.indices(path, None, ldp.Domain(2**32, other=other))
    assert found.tolist() == [0, 2**32 - 1, rest, 5, rest]


def test_a_number_in_a_csv_file_is_written_in_one_way(tmp_path):
    (tmp_path / "v.csv").write_text("n,x\n7,\n07,\n+7,\n7.0,\n 7,\n99999999999,\nseven,\n")
    (found,) = files.indices(tmp_path / "v.csv", "n", ldp.Domain(10, other=9))
    assert found.tolist() == [7, 9, 9, 9, 9, 9, 9]


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_unsigned_numbers_do_not_wrap_round(tmp_path, ending):
    path = tmp_path / f"values.{ending}"
    files.write_table(ldp.Table({"number": np.array([2**64 - 1, 5, 2**63], np.uint64)}), path)
    for domain, expected in ((ldp.Domain([-1, 5], other="more"), [2, 1, 2]), (ldp.Domain(9, other=8), [8, 5, 8])):
        (found,) = files.indices(path, None, domain)
        assert found.tolist() == expected


def test_other_kinds_of_values_are_what_they_equal_or_refused():
    class Answer(IntEnum):
        YES = 1

    assert ldp.Domain(3, other=2).indices([Answer.YES, 0]).tolist() == [1, 0]
    assert DRINKS.domain.indices(pa.array(["tea", "cocoa", None])).tolist() == [0, 2, 2]
    for kind in ("m8[s]", "M8[ns]"):
        for domain in (ldp.Domain(5), ldp.Domain([1, 2]), ldp.Domain(5, other=4)):
            with pytest.raises(UnknownItemError, match="times and durations"):
                domain.indices(np.array([1, "NaT"], kind))


@pytest.mark.parametrize("other", [np.int64(3), np.float64(0.5), np.str_("rest")])
def test_a_numpy_scalar_is_a_catch_all_like_any_other(other):
    plan = ldp.Plan([1, 2, "a"], "grr", 1.0, other=other)
    assert ldp.Plan.from_json(plan.to_json()) == plan
