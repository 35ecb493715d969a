"""Which bits and which users the next round asks: as planned for keys, and by what the rounds have shown for texts."""

from __future__ import annotations

import numpy as np
import pytest
from small_discovery import keys, small

import localdp as ldp
from localdp.discovery import schedule as module
from localdp.discovery.codes import Keys, Text
from localdp.discovery.design import CELLS, Design, best_design, split_bits
from localdp.discovery.schedule import Schedule
from localdp.errors import TooFewReportsError
from localdp.studies.places import PLACES

DESIGN = Design(shares=(60, *[60] * 14, 100), bits=(21, *[15] * 14), reach=0.012)


def schedule(code=None, users=2_000_000):
    return Schedule(code or Text(64), DESIGN, users, 0.724)


def test_keys_are_asked_as_planned():
    design = best_design(48, 2_000_000, 2.0, 20, alike=False)
    planned, used = Schedule(Keys(48), design, 2_000_000, 0.724), 0
    for number in range(4):
        position = sum(design.bits[:number])
        assert planned.bits(position, 40) == design.bits[number]
        assert planned.left(position) == 4 - number
        assert not planned.is_short(position, used, 1)
        span = planned.span(position, used, np.full(40, 0.01), short=False)
        assert span.first == used
        assert span.share == pytest.approx(design.shares[number] / 100, abs=1e-5)
        used = span.end
    last = planned.span(48, used, np.zeros(0), short=False)
    assert (last.first, last.end) == (used, PLACES)


def test_few_open_texts_are_asked_for_more_bits_and_of_few_users_first():
    planned = schedule()
    assert planned.bits(36, 100) == 15
    assert planned.bits(36, 1) == 21
    assert planned.bits(500, 1) == 12  # the planned bits are over, and somebody is followed
    assert planned.bits(500, 0) == 0
    assert planned.is_short(36, 0, 4)
    assert not planned.is_short(36, 0, 5)
    assert not planned.is_short(0, 0, 1)
    assert not schedule(users=100_000).is_short(36, 0, 1)  # a small group would be as large as a usual one
    users = planned.span(36, 0, np.ones(1), short=True).share * 2_000_000
    assert np.sqrt(0.724 / users) == pytest.approx(DESIGN.reach / 3, rel=0.01)


def test_values_beyond_the_plan_are_followed_if_that_takes_few_users():
    planned = schedule()
    end, used = sum(DESIGN.bits), PLACES * 9 // 10
    shares = np.array([0.5, 0.02, 0.001])
    assert planned.followed(end, used, shares).tolist() == [True, True, False]
    assert not planned.followed(end, PLACES * 96 // 100, shares).any()  # half of the last group is kept
    users = planned.span(end, used, shares[1:2], short=False).share * 2_000_000
    assert 0.02 / np.sqrt(0.724 / users) == pytest.approx(5.5, rel=0.01)
    keys = Schedule(Keys(48), best_design(48, 2_000_000, 2.0, 20, alike=False), 2_000_000, 0.724)
    assert not keys.followed(48, used, shares).any()


def test_users_that_short_rounds_leave_go_to_the_others():
    planned = schedule()
    usual = planned.usual(51, PLACES // 4)
    assert planned.usual(51, PLACES // 8) > usual
    assert usual * planned.left(51) <= PLACES * 3 // 4 - PLACES // 10


def test_a_short_round_counts_if_nothing_is_missing():
    planned = schedule()
    assert planned.resolved(np.array([0.9, 0.1]), np.array([0.895, 0.1]))
    assert not planned.resolved(np.array([0.9, 0.1]), np.array([0.9, 0.08]))


def test_no_place_is_asked_twice_and_short_rounds_are_asked_again_if_something_is_missing(monkeypatch):
    """Over a whole discovery of texts with a long common beginning, with rounds of 2^16 cells."""
    for name, value in (("CELLS", 1 << 16), ("SURVIVORS", 1 << 8)):
        monkeypatch.setattr(module, name, value)
    pages = [f"https://docs.example.org/en/{name}.html" for name in ("os", "sys", "json", "re")]
    others = [f"https://docs.example.org/en/{number}.html" for number in range(40)]  # each has 0.5% of the users
    values = np.random.default_rng(2).choice([*pages, *others], 60_000, p=[0.3, 0.25, 0.15, 0.1, *[0.005] * 40])
    design = Design((12, *[8] * 10, 8), (14, *[10] * 10), 0.05)
    discovery = ldp.Discovery.designed(Text(48), 4.0, 60_000, 4, "", design)
    encoded, ends, steps = discovery.code.encode(values), [0], []
    while not discovery.done:
        asked = discovery.round
        assert asked.span.first == ends[-1]
        assert asked.candidates.cells <= 1 << 16
        ends.append(asked.span.end)
        part = encoded[ends[-2] * 60_000 // PLACES : ends[-1] * 60_000 // PLACES]
        reports = asked.plan.privatize_indices(asked.candidates.indices(part), seed=discovery.number)
        following = discovery.advance(asked.plan.aggregate(reports), asked)
        steps.append((discovery._short, following._candidates.position > asked.candidates.position))
        discovery = following
    assert ends[-1] == PLACES
    assert (True, True) in steps  # a small group was enough
    assert (True, False) in steps  # it was not where the pages part, and the question was asked again
    found = discovery.result()
    assert found.items == pages
    assert found.notes == ()
    assert found.n < 60_000  # the reports of rounds that did not count are left out


def test_rounds_have_room_for_twice_the_top():
    assert split_bits(64, 4, top=20) == (21, 15, 14, 14)
    assert split_bits(64, 4, top=200) is None
    assert (CELLS - 1) >> max(best_design(64, 1_000_000, 2.0, 200, alike=True).bits[1:]) >= 400


def test_every_group_has_150_users_or_there_is_no_design():
    for users in (900, 2_000, 20_000):
        design = best_design(48, users, 4.0, 5, alike=False)
        assert min(design.shares) / sum(design.shares) * users >= 150
    with pytest.raises(TooFewReportsError, match="500 users are too few for values of 48 bits"):
        best_design(48, 500, 4.0, 5, alike=False)


def test_a_value_that_everybody_holds_is_found_with_an_interval_that_holds_everybody():
    found = ldp.discover(np.full(20_000, 40_000), epsilon=4.0, top=10, bits=16, seed=1)
    assert found.items == [40_000]
    low, high = found.interval(0.9)
    assert low[0] > 19_000
    assert high[0] == 20_000


@pytest.mark.parametrize("epsilon", [0.3, 1.0])
def test_nothing_is_invented_where_nothing_stands_out(epsilon):
    """All values differ; a list of whatever is left would have 50 values. Five runs with seeds of their own."""
    for seed in range(5):
        values = np.random.default_rng(seed).integers(0, 1 << 20, 5_000)
        assert len(ldp.discover(values, epsilon=epsilon, top=50, bits=20, seed=seed)) == 0


def test_expected_rounds_are_exact_for_keys():
    discovery = small()
    for number in range(4):
        assert discovery.expected_rounds == 4
        asked = discovery.round
        indices = asked.candidates.indices(discovery.code.encode(keys(20_000)))
        aggregate = asked.plan.aggregate(asked.plan.privatize_indices(indices, seed=number))
        discovery = discovery.advance(aggregate, asked)
    assert discovery.done
    assert discovery.expected_rounds == 4


def test_rounds_of_few_users_are_planned_for_two_words_and_those_of_many_for_one():
    """Documents that were saved keep their own design, whatever new discoveries plan."""
    few, many = (ldp.Discovery(epsilon=4.0, users=users) for users in (99_999, 100_000))
    assert (sum(few.design.bits), sum(many.design.bits)) == (78, 64)
    assert "more than about 15 letters need more" in str(few.reach)
    assert "letters" not in str(ldp.Discovery(epsilon=4.0, users=20_000, bits=48).reach)
    older = few.designed(few.code, 4.0, 20_000, 20, "", many.design)
    assert ldp.Discovery.from_json(older.to_json()).design == many.design


def test_unlikely_candidates_of_texts_are_dropped_before_the_last_planned_round_only():
    text, keys = (ldp.Discovery(epsilon=4.0, users=200_000, **kind).schedule for kind in ({}, {"bits": 48}))
    ends = np.cumsum(text.design.bits).tolist()
    assert [text.drops(end) for end in ends] == [False] * (len(ends) - 2) + [True, True]
    assert not any(keys.drops(end) for end in np.cumsum(keys.design.bits).tolist())
