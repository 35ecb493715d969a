"""Scales: which cell a number counts for, what is no number, and what a plan says about it."""

import json
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import localdp as ldp
from localdp.errors import InvalidInputError, PlanError, UnknownItemError


def cells(scale, values):
    return scale.read(values).items.tolist()


def test_whole_numbers_are_cells_and_ends_take_what_lies_beyond():
    scale = ldp.Scale(1, 5)
    assert list(scale.cells.items) == [1, 2, 3, 4, 5]
    assert cells(scale, [1, 2, 5, 6, 1e300, np.inf, 0, -7, -np.inf]) == [0, 1, 4, 4, 4, 4, 0, 0, 0]
    assert cells(scale, [17.9 - 15, 4.999, 10**400, -(10**400)]) == [1, 3, 4, 0]


def test_bins_begin_with_their_start_and_the_last_has_its_end():
    scale = ldp.Scale(0, 120, step=5)
    assert scale.cells.size == 24 == scale.ordered
    assert scale.cells.items[0] == "0 to 5"
    assert scale.cells.items[-1] == "115 to 120"
    assert cells(scale, [0, 4.999, 5, 9, 115, 120, 121]) == [0, 0, 1, 1, 23, 23, 23]


@pytest.mark.parametrize(("low", "high", "step"), [(0, 1, 0.1), (-0.3, 0.9, 0.3), (2.5, 7.25, 0.05), (1e6, 1e6 + 3, 1)])
def test_every_edge_begins_its_own_bin(low, high, step):
    """Edges are decimal numbers: 0.3 begins the bin from 0.3, although 3 * 0.1 is a little more."""
    scale = ldp.Scale(low, high, step)
    exact = [Fraction(str(low)) + k * Fraction(str(step)) for k in range(scale.ordered)]
    assert cells(scale, [float(edge) for edge in exact]) == list(range(scale.ordered))
    below = [np.nextafter(float(edge), -np.inf) for edge in exact[1:]]
    assert cells(scale, below) == list(range(scale.ordered - 1))


def test_what_is_missing_or_no_number_has_a_cell_of_its_own():
    scale = ldp.Scale(1, 5, other="no answer")
    assert list(scale.cells.items) == [1, 2, 3, 4, 5, "no answer"]
    assert scale.takes_everything
    strange = [None, float("nan"), "tea", "", "1_000", "nan", "0x10", True, b"3", [3], pd.NA, Decimal("NaN"), 2j]
    assert cells(scale, [*strange, 3]) == [5] * len(strange) + [2]
    assert cells(scale, np.ma.array([3, 4], mask=[True, False])) == [5, 3]
    assert cells(scale, np.array([True, False])) == [5, 5]


def test_numbers_of_every_kind_are_read():
    scale = ldp.Scale(1, 5, other="no answer")
    assert cells(scale, ["3", " 4.5 ", "+2e0", ".5", Decimal("2.5"), Fraction(9, 2)]) == [2, 3, 1, 0, 1, 3]
    for column in (
        np.array([3, 5], np.uint8),
        np.array([3.2, 5.0], np.float32),
        pd.Series([3.0, 5.0]),
        pa.array([3, 5]),
        iter([3, 5]),
    ):
        assert cells(scale, column) == [2, 4]
    assert cells(scale, pd.Series([3, None], dtype="Int64")) == [2, 5]
    assert cells(scale, pa.array([3, None])) == [2, 5]


def test_without_a_cell_for_it_a_missing_value_is_an_error():
    with pytest.raises(UnknownItemError, match=r"1 of 3 values is missing or no number; give the scale a cell"):
        ldp.Scale(1, 5).read([1, None, 3])
    for values in ("12345", {1, 2}, 3, [[1, 2], [3, 4]], pd.DataFrame({"a": [1]})):
        with pytest.raises(UnknownItemError, match="flat list"):
            ldp.Scale(1, 5).read(values)


@pytest.mark.parametrize(
    "question",
    [
        ldp.Scale(1, 5),
        ldp.Scale(0, 120, 5, other="none"),
        ldp.Scale(-1, 1, 0.25),
        ldp.Scale(0.5, 3.5),
        ldp.Scale(0, 100),
    ],
)
def test_a_plan_with_a_scale_is_read_again(question):
    plan = ldp.Plan(question, epsilon=1.0)
    again = ldp.Plan.from_json(plan.to_json())
    assert again == plan
    assert again.question == question
    assert json.loads(plan.to_json())["question"]["name"] == "scale"
    assert "domain" not in json.loads(plan.to_json())
    assert ldp.Scale(1.0, 5.0).document() == ldp.Scale(np.int64(1), 5).document()


@pytest.mark.parametrize(
    "given",
    [
        (5, 1),
        (1, 1),
        (0, 1),
        (0, 10, 3),
        (0, 10, 0),
        (0, 10, -5),
        (0, 10, 10),
        (0, 1, 1e-7),
        (0, float("inf")),
        (float("nan"), 5),
        (0, 2**60),
        (0, 1e6),
        ("0", 5),
        (True, 5),
        (1, 5, 1, 3),
        (0, 10, 5, "0 to 5"),
    ],
)
def test_what_is_no_scale_is_refused(given):
    if given == (0, 1):  # two cells are the fewest
        assert ldp.Scale(*given).ordered == 2
        return
    with pytest.raises(InvalidInputError):
        ldp.Scale(*given)


@pytest.mark.parametrize(
    "change",
    [
        {"low": "1"},
        {"high": None},
        {"step": [1]},
        {"extra": 1},
        {"other": None},
        {"other": 3},
        {"step": 1e-6},
        {"low": 2},
    ],
)
def test_a_plan_with_an_altered_scale_is_refused(change):
    document = json.loads(ldp.Plan(ldp.Scale(1, 5), "grr", 1.0).to_json())
    document["question"].update(change)
    with pytest.raises(PlanError):
        ldp.Plan.from_json(json.dumps(document))


def test_the_order_is_known_without_asking():
    plan = ldp.Plan(ldp.Scale(0, 20), "oue", 1.0)
    estimate = plan.simulate(np.arange(21) * 50, seed=3).estimate()
    by_itself, told = estimate.calibrate(), estimate.calibrate(structure=ldp.Ordered())
    np.testing.assert_allclose(by_itself.frequencies, told.frequencies)
    assert estimate.calibrate("smooth").structured is None
    assert repr(ldp.Scale(0, 20, other="none").structure) == "Ordered(apart=1)"


def test_ends_in_single_precision_are_the_numbers_they_are_written_as():
    """The document had 0.10000000149011612, which `from_json` refuses."""
    plan = ldp.Plan(ldp.Scale(np.float32(0.1), 1, step=np.float32(0.1)), epsilon=1.0)
    assert plan == ldp.Plan(ldp.Scale(0.1, 1, step=0.1), epsilon=1.0)
    assert ldp.Plan.from_json(plan.to_json()) == plan
