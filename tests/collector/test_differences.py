"""What changed between two ranges of days: the route, what it may not show, and the card of the dashboard."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from js.chromium import needs_chromium
from running import running
from visiting import serious

import localdp as ldp

ITEMS = ["tea", "coffee", "water", "milk", "<b>cocoa</b>"]
BEFORE, AFTER = [0.4, 0.3, 0.15, 0.1, 0.05], [0.4, 0.22, 0.23, 0.1, 0.05]


def _day(ago):
    return (datetime.now(UTC).date() - timedelta(days=ago)).isoformat()


@pytest.fixture(scope="module")
def collector(tmp_path_factory):
    with running(tmp_path_factory.mktemp("differences") / "x.db") as started:
        yield started


@pytest.fixture(scope="module")
def plan(collector):
    """Two weeks with 800 people a day, of which the second is another population; and a thin day before."""
    made = collector.collection(items=ITEMS, epsilon=3.0, minimum=100, title="Drinks")
    rng = np.random.default_rng(1)
    for ago in [*range(14), 20]:
        held = rng.multinomial(800 if ago < 14 else 30, AFTER if ago < 7 else BEFORE)
        path = f"/v1/plans/{made.fingerprint}/aggregates?day={_day(ago)}"
        headers = {"Upload-Id": f"{ago:032x}"}
        sent = collector.ask("POST", path, content=made.simulate(held, seed=ago).to_bytes(), headers=headers)
        assert sent.status_code == 201, sent.text
    return made


def _asked(collector, plan, **query):
    return collector.ask("GET", f"/v1/plans/{plan.fingerprint}/difference", "read", params=query)


def test_the_last_week_is_compared_with_the_one_before(collector, plan):
    found = _asked(collector, plan).json()
    assert found["before"] == {"from": _day(13), "to": _day(7), "n": 5_600}
    assert found["after"] == {"from": _day(6), "to": _day(0), "n": 5_600}
    assert found["p_value"] < 0.001
    items = found["items"]
    assert set(items["item"][:2]) == {"coffee", "water"}
    assert items["changed"][:2] == [1, 1]
    assert found["changed"] == sum(items["changed"])
    for place, item in enumerate(items["item"]):
        true = AFTER[ITEMS.index(item)] - BEFORE[ITEMS.index(item)]
        assert items["low"][place] - 0.02 < true < items["high"][place] + 0.02


def test_the_numbers_are_those_of_the_library(collector, plan):
    found = _asked(collector, plan, before=f"{_day(10)}..{_day(8)}", after=_day(1), level="0.8", top="3").json()
    sides = []
    for first, last in ((10, 8), (1, 1)):
        export = {"from": _day(first), "to": _day(last)}
        estimate = collector.ask("GET", f"/v1/plans/{plan.fingerprint}/estimates", "read", params=export).json()
        raw = dict(zip(estimate["items"]["item"], estimate["items"]["raw"], strict=True))
        sides.append((np.array([raw[item] for item in ITEMS]), estimate["n"]))
    # The estimates as the collector gives them: with their n they are counts up to rounding.
    p, q = plan.mechanism.p_star, plan.mechanism.q_star
    counts = [np.rint(raw * (p - q) + n * q).astype(np.int64) for raw, n in sides]
    change = ldp.difference(*(ldp.Aggregate(plan, one, n) for one, (_, n) in zip(counts, sides, strict=True)))
    low, high = change.interval(0.8)
    for place, item in enumerate(found["items"]["item"]):
        index = ITEMS.index(item)
        shown = [found["items"][name][place] for name in ("change", "low", "high")]
        assert shown == pytest.approx([change.shares[index], low[index], high[index]], abs=1e-8)
    assert len(found["items"]["item"]) == 3
    assert found["p_value"] == change.p_value


def test_csv_has_notes(collector, plan):
    lines = _asked(collector, plan, format="csv").text.splitlines()
    assert lines[0].replace('"', "").startswith("item,before,after,change,low,high,probability_up,changed,note")
    assert "more than chance" in lines[1]


@pytest.mark.parametrize(
    ("query", "status", "sentence"),
    [
        ({"before": 20, "after": 1}, 409, "released from 100 on"),
        ({"before": 3, "after": 3}, 422, "days in common"),
        ({"before": 3}, 422, "days in common"),
        ({"after": "0001-01-01"}, 422, "not as many days"),
        ({"before": "yesterday"}, 422, "before is a day in UTC"),
        ({"before": "2026-11-01.."}, 422, "before is a day in UTC"),
        ({"fdr": "2"}, 422, "fdr"),
        ({"from": "2026-01-01"}, 422, "no parameter"),
    ],
)
def test_what_cannot_be_compared(collector, plan, query, status, sentence):
    asked = {name: _day(value) if isinstance(value, int) else value for name, value in query.items()}
    answer = _asked(collector, plan, **asked)
    assert answer.status_code == status
    assert sentence in answer.json()["detail"]


def test_an_interval_without_ends_has_none(collector, plan):
    raw = _asked(collector, plan, level="0.9999999999999999").json()["raw"]
    assert set(raw["low"]) == {None}
    assert None not in raw["change"]


@needs_chromium
def test_the_card_shows_what_changed_and_the_lines_agree_with_the_table(collector, plan, visit):
    page = visit(path=f"/#/plan/{plan.fingerprint[:16]}")
    card = page.locator(".changing")
    card.get_by_text("changed, between").wait_for()
    assert card.locator("circle").count() == len(ITEMS)
    assert card.locator("circle:not(.unsure)").count() >= 2
    card.get_by_text("The numbers as a table").click()
    assert "<b>cocoa</b>" in card.locator("table").inner_text()
    assert serious(page) == []
    history = collector.ask("GET", f"/v1/plans/{plan.fingerprint}/history", "read").json()
    table = collector.ask("GET", f"/v1/plans/{plan.fingerprint}/estimates", "read").json()["items"]
    for line in history["series"]:
        both = zip(line["share"], history["periods"]["n"], strict=True)
        shares, people = np.array([(share, n) for share, n in both if share is not None]).T
        whole = table["share"][table["item"].index(line["item"])]
        assert shares @ people / people.sum() == pytest.approx(whole, abs=1e-4)
