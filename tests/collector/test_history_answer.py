"""How items moved: all periods estimated together, gaps shown, thin periods withheld."""

from __future__ import annotations

import json
from datetime import date

import numpy as np
import pytest

import localdp as ldp
from localdp.collector.answers.fitted import Remembering, fit, merged
from localdp.collector.answers.history import answer_history as answer_blocks
from localdp.collector.answers.queries import HistoryQuery
from localdp.collector.answers.released import Blocks
from localdp.errors import InvalidInputError, TooFewReportsError, UnknownItemError

PLAN = ldp.Plan(["tea", "milk", 7, True], "oue", 3.0)


def answer_history(plan, days, query=None, minimum=1, **options):
    """The history of single days, each of which is a block by itself."""
    reported = {day: aggregate.n for day, aggregate in days.items()}
    blocks = tuple((day,) for day, n in reported.items() if n)
    return answer_blocks(
        plan, Blocks(blocks, lambda block: days[block[0]], reported), query or HistoryQuery(), minimum, **options
    )


def _day(day, month=11, year=2026):
    return date(year, month, day)


@pytest.fixture(scope="module")
def days():
    """Full days, a thin one (the 3rd), an empty one (the 4th) and one that is missing (the 5th)."""
    full = {_day(day): PLAN.simulate([600, 300, 80, 20], seed=day) for day in (1, 2, 6, 9)}
    return full | {_day(3): PLAN.simulate([3, 1, 1, 0], seed=0), _day(4): ldp.Aggregate(PLAN)}


def test_every_day_of_the_range_is_there_and_thin_days_are_withheld(days):
    asked = []

    def spied(aggregate, prior):
        asked.append(aggregate.n)
        return fit(aggregate, prior)

    answer = answer_history(PLAN, days, minimum=100, fit=spied)
    overview = answer.overview()
    assert overview["period"] == [f"2026-11-0{day}" for day in range(1, 10)]
    full, none = "estimated", "no reports"
    assert overview["status"] == [full, full, "withheld", none, none, full, none, none, full]
    assert overview["n"].tolist() == [1_000, 1_000, 5, 0, 0, 1_000, 0, 0, 1_000]
    assert asked == [4_005, 4_000]  # the whole range for its top items, and all periods that are shown
    series = json.loads(answer.rendered("json").body)["series"]
    for item in series:
        for name, values in item.items():
            if name != "item":
                assert [value is None for value in values] == [status != full for status in overview["status"]]


def test_the_numbers_of_a_period_are_those_of_the_joint_history(days):
    answer = answer_history(PLAN, days, HistoryQuery(items=("milk", "true", "7"), level=0.8), minimum=100)
    assert answer.items == ["milk", True, 7]
    empty = ldp.Aggregate(PLAN)
    shown = [days[_day(day)] if day in (1, 2, 6, 9) else empty for day in range(1, 10)]
    second = ldp.history(shown)[1]
    low, high = second.interval(0.8)
    series = answer.content()["series"][0]
    assert series["frequency"][1] == pytest.approx(second.frequencies[1], abs=6e-4)
    assert (series["low"][1], series["high"][1]) == pytest.approx((low[1], high[1]), abs=6e-4)
    assert series["share"][1] == pytest.approx(second.shares[1], abs=6e-7)
    assert series["raw"][1] == pytest.approx(days[_day(2)].estimate().frequencies[1], abs=6e-4)


def test_the_lines_agree_with_the_table_of_the_same_reports(days):
    full = {day: aggregate for day, aggregate in days.items() if aggregate.n == 1_000}
    series = answer_history(PLAN, full, minimum=100).content()["series"]
    whole = merged(PLAN, full.values())
    shares = dict(zip(PLAN.domain.items, whole.estimate().calibrate(warn=False).shares, strict=True))
    for line in series:
        shown = [share for share in line["share"] if share is not None]
        assert np.mean(shown) == pytest.approx(shares[line["item"]], abs=1e-5)


def test_days_of_the_same_people_are_recognised_by_their_noise():
    plan = ldp.Plan(60, "oue", 1.0)
    day = plan.simulate([50] * 60, seed=1)
    answer = answer_history(plan, {_day(1): day, _day(2): day, _day(3): day}, minimum=100)
    assert "same people" in answer.remarks[0]
    widths = np.array(answer.content()["series"][0]["share_high"]) - answer.content()["series"][0]["share_low"]
    low, high = day.estimate().calibrate(warn=False).interval(0.9)
    assert widths.mean() > 0.8 * float((high - low).mean()) / day.n


def test_what_was_fitted_is_remembered_until_counts_change_or_others_take_its_place(days):
    kept = Remembering(most=2)
    first, second = days[_day(1)], days[_day(2)]
    one = kept(first)
    assert kept(first) is one
    assert kept(ldp.Aggregate(PLAN, first.counts, first.n)) is one
    assert kept(first, "smooth").calibrated.prior.name == "smooth"
    changed = ldp.Aggregate(PLAN, first.counts, first.n).add(PLAN.privatize(["tea"], seed=1))
    assert kept(changed) is not one
    assert kept(second).n == 1_000
    assert kept(first) is not one  # three others came after it
    answer = answer_history(PLAN, days, minimum=100, fit=Remembering())
    assert answer.rendered("json") == answer_history(PLAN, days, minimum=100).rendered("json")


def test_without_items_the_most_frequent_are_shown(days):
    assert answer_history(PLAN, days, HistoryQuery(top=2)).items == ["tea", "milk"]


def test_weeks_merge_their_days_and_are_cut_at_the_ends_of_the_range(days):
    answer = answer_history(PLAN, days, HistoryQuery.read({"by": "week"}), minimum=100)
    overview = answer.overview()
    assert overview["period"] == ["2026-W44", "2026-W45", "2026-W46"]
    assert overview["from"] == ["2026-11-01", "2026-11-02", "2026-11-09"]
    assert overview["to"] == ["2026-11-01", "2026-11-08", "2026-11-09"]
    assert overview["n"].tolist() == [1_000, 2_005, 1_000]
    raw = answer.content()["series"][0]["raw"][1]
    whole = sum(days[_day(day)].estimate().frequencies[0] for day in (2, 3, 6))
    assert raw == pytest.approx(whole, abs=6e-4)


def test_the_turn_of_the_year_follows_the_iso_calendar():
    some = PLAN.simulate([60, 30, 8, 2], seed=1)
    turn = {_day(31, 12, 2026): some, _day(1, 1, 2027): some, _day(4, 1, 2027): some}
    overview = answer_history(PLAN, turn, HistoryQuery(by="week")).overview()
    assert overview["period"] == ["2026-W53", "2027-W01"]
    assert overview["n"].tolist() == [200, 100]


def test_a_range_wider_than_the_reports_shows_gaps_at_its_ends(days):
    query = HistoryQuery.read({"from": "2026-10-30", "to": "2026-11-02"})
    overview = answer_history(PLAN, days, query).overview()
    assert overview["status"] == ["no reports", "no reports", "estimated", "estimated"]


def test_a_range_with_too_few_reports_is_refused(days):
    with pytest.raises(TooFewReportsError, match="there are 5 reports in this range of days"):
        answer_history(PLAN, days, HistoryQuery(first=_day(3), last=_day(5)), minimum=100)


def test_a_table_has_a_row_for_each_period_and_item(days):
    table = answer_history(PLAN, days, HistoryQuery(items=("tea", "7")), minimum=100).table()
    assert len(table) == 18
    assert table["item"][:4] == ["tea", 7, "tea", 7]
    assert np.isnan(table["frequency"]).sum() == 10
    for kind in ("csv", "arrow"):
        assert answer_history(PLAN, days, minimum=100).rendered(kind).body


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ([("by", "month")], InvalidInputError, "by is day or week, not 'month'"),
        ([("item", "cocoa")], UnknownItemError, "'cocoa' is not an item of this plan"),
        ([("item", "Tea")], UnknownItemError, "differs from an item only in spaces, capitals"),
        ([("from", "1900-01-01")], InvalidInputError, "at most 1,000 periods, .* 46,334: ask for .* by=week"),
        ([("to", "9999-12-31"), ("by", "week")], InvalidInputError, "ask for fewer days$"),
        ([("top", "101")], InvalidInputError, "top is at most 100, not 101"),
        ([("item", "tea"), ("top", "1")], InvalidInputError, "leave one of them out"),
        ([("threshold", "5")], InvalidInputError, "there is no parameter 'threshold': there are by, from, to, item"),
    ],
)
def test_histories_that_cannot_be_given_are_sentences(days, parameters, error, message):
    with pytest.raises(error, match=message):
        answer_history(PLAN, days, HistoryQuery.read(parameters))
