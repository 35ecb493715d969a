"""dBitFlip: which items a user answers for, and with which bits."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

import localdp as ldp
from localdp.checks.tapes import Tapes
from localdp.errors import FrequencyError, InvalidInputError, WireError
from localdp.formats import bitstrings
from localdp.kernels.subsets import draw_items
from localdp.mechanisms import MECHANISMS, DBitFlip
from localdp.randomness.keystream import seeded


@pytest.mark.parametrize(("size", "count", "width"), [(2, 1, 1), (4, 2, 4), (4, 3, 4), (4, 4, 4), (6, 2, 5), (5, 3, 4)])
def test_every_set_of_items_is_equally_likely(size, count, width):
    """Over all random inputs without a rejected draw, every set comes equally often."""
    length = width * (count - (count == size))  # the last draw of all items reads nothing
    tapes = Tapes(np.arange(1 << length, dtype=np.uint64), length, width)
    items = draw_items(tapes, 1 << length, size, count)
    found = Counter(map(tuple, items[~tapes.spilled].tolist()))
    assert sorted(found) == list(combinations(range(size), count))
    assert len(set(found.values())) == 1


@pytest.mark.parametrize("bits", [1, 3, 8, 13, 33, 57])
@pytest.mark.parametrize("count", [1, 2, 7, 40])
def test_fields_are_read_back_from_the_bits_they_were_written_to(count, bits):
    fields = seeded(bits).words(5 * count).reshape(5, count) & np.uint64((1 << bits) - 1)
    rows = bitstrings.from_fields(fields, bits)
    whole = [sum(int(field) << place * bits for place, field in enumerate(row)) for row in fields]
    assert [row.tobytes() for row in rows] == [number.to_bytes(-(-count * bits // 8), "little") for number in whole]
    assert np.array_equal(bitstrings.to_fields(rows, count, bits), fields)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0, 16.0])
@pytest.mark.parametrize(("size", "answers"), [(2, 2), (10, 3), (50_000, 8), (10, 1), (2, 1)])
def test_p_and_q_are_those_of_asking_everything_times_the_share_that_is_asked(size, answers, epsilon):
    mechanism, share = DBitFlip(size, epsilon, answers=answers), Fraction(answers, size)
    whole = MECHANISMS["oue"](size, epsilon)
    assert mechanism.p == share * (whole.p if answers > 1 else 1 - whole.q)
    assert mechanism.q == share * whole.q
    assert 0.999 * epsilon < mechanism.epsilon <= epsilon


@pytest.mark.parametrize("answers", [1, 2, 3, 5])
@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 2.0, 4.0])
def test_symmetric_bits_as_published_would_have_more_variance(answers, epsilon):
    half, share = math.exp(epsilon / 2), answers / 5
    p, q = share * half / (1 + half), share / (1 + half)
    assert DBitFlip(5, epsilon, answers=answers).variance(1) < q * (1 - q) / (p - q) ** 2


@pytest.mark.parametrize("answers", [1, 2, 3, 4])
def test_the_channel_has_the_stated_ratio(answers):
    mechanism = DBitFlip(4, 1.0, answers=answers)
    assert mechanism.channel().ratio == mechanism.ratio
    assert [sum(row) for row in mechanism.channel().probabilities] == [1] * 4


def test_answers_are_half_of_the_items_and_at_most_eight_unless_given():
    assert [DBitFlip(size, 1.0).answers for size in (2, 3, 5, 16, 17, 1000)] == [1, 2, 3, 8, 8, 8]
    for answers in (0, 11, 2.5, True, "2"):
        with pytest.raises(InvalidInputError, match="answers, the number of items that each user answers for, must be"):
            DBitFlip(10, 1.0, answers=answers)
    with pytest.raises(InvalidInputError, match="must be a whole number from 1 to 4096, not 5000"):
        DBitFlip(10_000, 1.0, answers=5000)


@pytest.mark.parametrize(
    ("fields", "code"),
    [([[3, 3]], "wrong-order"), ([[4, 3]], "wrong-order"), ([[0, 10]], "symbol-out-of-range"), ([[3, 4 | 16]], None)],
)
def test_reports_that_no_client_sends_are_refused(fields, code):
    plan = ldp.Plan(10, "dbit", 1.0, answers=2)
    rows = bitstrings.from_fields(np.array(fields, np.uint64), 5)
    batch = plan.privatize([1]).to_bytes()[:24] + rows.tobytes()
    if code is None:
        assert plan.aggregate(plan.read(batch)).counts.tolist() == [0, 0, 0, 0, 1, 0, 0, 0, 0, 0]
        return
    with pytest.raises(WireError, match=code):
        plan.read(batch)


def test_counts_that_no_reports_can_have_are_refused():
    plan = ldp.Plan(4, "dbit", 1.0, answers=2)
    ldp.Aggregate(plan, np.array([5, 5, 5, 5]), 10)
    with pytest.raises(FrequencyError, match="they add up to 21, and 10 reports support at most 20 items, since each"):
        ldp.Aggregate(plan, np.array([5, 5, 5, 6]), 10)


def test_a_plan_carries_the_number_of_answers():
    plan = ldp.Plan(100, "dbit", 1.0, answers=4)
    assert plan.to_json().startswith('{"answers":4,"domain":')
    assert ldp.Plan.from_json(plan.to_json()).mechanism == plan.mechanism
    assert plan != ldp.Plan(100, "dbit", 1.0, answers=5)
    with pytest.raises(ldp.errors.PlanError, match=r"must be a whole number from 1 to 100, not 4\.5"):
        ldp.Plan.from_json(plan.to_json().replace('"answers":4', '"answers":4.5'))
