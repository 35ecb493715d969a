"""Rounds of discoveries and of surveys of sets are privatized and counted on every engine, as plans are."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import localdp as ldp
from localdp.engines import connect
from localdp.errors import InvalidInputError
from localdp.sets import Survey
from localdp.sets.rounds import Round
from localdp.studies import part_of

BASKETS = [["tea", "milk"], ["milk"], ["bread", "milk", "tea"], []]


def table(values):
    return pa.table({"value": values, "day": ["mon", "tue"] * (len(values) // 2)})


def parts():
    """A part of each kind, the values of 2,000 people, and for some cells how many of them hold it."""
    words = ldp.Discovery(epsilon=4.0, users=10_000, most_bytes=8).round
    cell = words.question.read(["tea"]).items[0]
    yield "texts", words, ["tea"] * 1_200 + ["milk", None] * 400, {cell: 1_200}
    keys = ldp.Discovery(bits=12, epsilon=4.0, users=10_000).round
    yield "keys", keys, [77] * 1_500 + [4_000, None] * 250, {77: 1_500, 4_000: 250, 4_096: 250}
    survey = Survey(["tea", "milk", "bread"], epsilon=4.0, users=4_000, top=2)
    yield "sizes", survey.round, BASKETS * 500, {0: 500, 1: 500, 2: 500, 3: 500}
    sets = Round.of_sets(survey.fingerprint, 1, None, 3, 4.0, 3).within(survey.domain, survey.spans[1])
    yield "sets", sets, BASKETS * 500, {0: 1_000, 1: 1_500, 2: 500}
    baskets = [["tea"], ["tea", "milk"]] * 1_000
    yield "plan of sets", ldp.Plan(["tea", "milk"], epsilon=4.0, set_size=2), baskets, {0: 2_000, 1: 1_000}
    yield "asked again", ldp.Plan(["tea", "milk"], epsilon=4.0, once=2.0), ["tea"] * 2_000, {0: 2_000}


PARTS = {name: rest for name, *rest in parts()}


@pytest.mark.parametrize("engine", ["local", "dask"])
@pytest.mark.parametrize("name", PARTS)
def test_a_part_goes_through_an_engine(name, engine, tmp_path):
    """Estimates are within 6 deviations of the truth, which a right one misses once in 5e8 times."""
    part, values, truth = PARTS[name]
    with connect(engine) as used:
        whole = table(values)
        frame = used.frame([whole.slice(0, 1_001), whole.slice(1_001)])
        made = used.privatize(frame, part, out=str(tmp_path / "out"), keep=["day"])
        days = used.aggregate(made, part, by="day")
        total = used.aggregate(made, part)
        counted = used.aggregate_files(sorted((tmp_path / "out").glob("*.parquet")), part)
    plan = part_of(part).plan
    assert total.plan == plan
    assert total == days["mon"].merge(days["tue"]) == counted
    assert total.n == len(values)
    estimate = total.estimate()
    for cell, holders in truth.items():
        deviation = np.sqrt(estimate.variance + max(estimate.excess_variance, 0) * holders)
        assert abs(estimate.frequencies[cell] - holders) < 6 * deviation


def test_a_value_that_cannot_be_read_is_refused_and_not_shown(tmp_path):
    with connect("local") as engine, pytest.raises(InvalidInputError, match="cannot be read") as caught:
        engine.privatize(table(["sesame", "open"]), PARTS["keys"][0], out=str(tmp_path / "out"))
    assert "sesame" not in str(caught.value)
    assert not (tmp_path / "out").exists()


def test_what_is_neither_a_plan_nor_a_part_is_refused(tmp_path):
    with connect("local") as engine, pytest.raises(InvalidInputError, match="expected a plan, or a part of a study"):
        engine.privatize(table(["a", "b"]), ldp.Discovery(bits=12, epsilon=4.0, users=10_000), out=str(tmp_path / "o"))
