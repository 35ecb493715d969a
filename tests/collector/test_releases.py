"""What readers can subtract: every difference of two answers is of at least the minimum of reports."""

from __future__ import annotations

import itertools
import time

import numpy as np
import pytest
from running import running

import localdp as ldp
from audits import recount
from localdp.collector import releases
from localdp.collector.storage import aggregates, open_database
from localdp.collector.storage.aggregates import COUNTED, SUSPECT, TAKEN_BACK, Day
from localdp.collector.storage.database import Where

DAY = 86_400


def row(day, n, *, released=False, block=None, changes=None, standing=COUNTED, segment=""):
    return Day(day, standing, released, block, n, 0, n if changes is None else changes, 1, segment)


def days_of(change):
    return tuple(day for _, day in change.cells)


def test_days_with_enough_are_blocks_and_thin_days_wait_for_others():
    rows = [row(1, 100), row(2, 60), row(3, 500), row(4, 30), row(5, 20), row(6, 99)]
    found = {(change.block, days_of(change)) for change in releases.due(rows, 100, today=6)}
    assert found == {(1, (1,)), (3, (3,)), (2, (2, 4, 5))}  # day 6 is not over
    assert releases.due(rows[5:], 100, today=6) == []
    assert releases.due([row(5, 60), row(6, 60)], 100, today=6) == []  # together they have enough, and day 6 goes on
    assert releases.due(rows[5:], 100, today=7) == []
    assert [days_of(change) for change in releases.due(rows[5:], 1, today=6)] == [(6,)]


def test_a_block_changes_only_by_the_minimum_and_is_withdrawn_below_it():
    seen = [row(1, 100, released=True, block=1, changes=0), row(2, 50, released=True, block=1, changes=0)]
    assert releases.due([*seen, row(1, 60), row(2, 39)], 100, 9) == []
    (change,) = releases.due([*seen, row(1, 60), row(2, 40)], 100, 9)
    assert (days_of(change), change.withdraws) == ((1, 2), False)
    (change,) = releases.due([*seen, row(1, -80, changes=100)], 100, 9)  # 70 are left
    assert change.withdraws
    (change,) = releases.due([*seen, row(1, -100, changes=100), row(2, -50, changes=50)], 100, 9)
    assert not change.withdraws  # nothing is left, so nothing is told


def test_few_reports_of_a_segment_wait_for_their_own_and_then_join_those_of_others():
    few = [row(1, 60, segment="ios"), row(1, 70, segment="android"), row(2, 50, segment="ios"), row(2, 20)]
    (change,) = releases.due(few, 100, today=3)
    assert change.cells == (("ios", 1), ("ios", 2))
    left = [few[1], few[3]]
    assert releases.due(left, 80, today=9) == []
    (change,) = releases.due(left, 80, today=10)
    assert (change.cells, change.block) == ((("android", 1), ("", 2)), releases.MIXED + 1)
    assert releases.due(left, 91, today=10) == []
    seen = {"released": True, "block": change.block}
    mixed = (row(1, 70, segment="android", **seen), row(2, 20, **seen))
    assert releases.segment_of(mixed) == ""
    own = (row(2, 100, released=True, block=2, segment="ios"),)
    assert releases.segment_of(own) == "ios"
    assert releases.by_days([own, mixed]) == {(1, 2): {("ios", 2), ("", change.block)}}
    assert releases.whole_blocks([*mixed, *own], 2, 2, COUNTED) == [own]  # a part of the mixed one is outside


@pytest.mark.parametrize("seed", range(16))
def test_every_way_to_subtract_gives_the_minimum_or_nothing(seed, tmp_path, monkeypatch):
    """Random additions and removals in random segments and days; after each, everything is asked for and compared."""
    rng = np.random.default_rng(seed)
    minimum, where = int(rng.integers(2, 40)), Where(1)
    segments = ("",) if seed < 6 else ("", "ios", "android")
    monkeypatch.setattr(releases, "PATIENCE", 1)  # so that there are mixed blocks within six days
    database = open_database(str(tmp_path / "x.db"))
    live: dict[tuple[str, int, int], list[int]] = {}  # by segment, day and standing: a column for each report
    shown: list[frozenset[tuple[int, int, int]]] = [frozenset()]
    names = itertools.count()
    for today in range(6):
        for _ in range(int(rng.integers(1, 8))):
            day, standing = int(rng.integers(0, today + 1)), int(rng.choice([COUNTED, COUNTED, SUSPECT]))
            segment = str(rng.choice(segments))
            column = live.setdefault((segment, day, standing), [])
            size, counts = int(rng.integers(1, 30)), np.zeros(4_000, np.int64)
            if rng.random() < 0.3 and len(column) > size:
                gone = [column.pop(int(rng.integers(0, len(column)))) for _ in range(size)]
                counts[gone] = -1
                size = -size
            else:
                new = [next(names) for _ in range(size)]
                column.extend(new)
                counts[new] = 1
            with database.writing() as session:
                place = where._replace(segment=segment)
                aggregates.add(session, place, day, size, counts, standing=standing)
                for change in releases.due(aggregates.days(session, where), minimum, today):
                    for one, of_day in change.cells:
                        block = None if change.withdraws else change.block
                        aggregates.move(session, where._replace(segment=one), of_day, change.standing, block)
            with database.reading() as session:
                rows = aggregates.days(session, where)
                for standing, first, last in itertools.product((COUNTED, SUSPECT), range(today + 1), range(today + 1)):
                    blocks = releases.whole_blocks(rows, first, last, standing)
                    for asked in (None, *segments):
                        some = [one for block in blocks if asked in (None, releases.segment_of(block)) for one in block]
                        n, counts = aggregates.merged(session, where, some, 4_000)
                        assert counts.sum() == n
                        assert set(np.unique(counts)) <= {0, 1}
                        shown.append(frozenset((standing, 0, int(place)) for place in np.flatnonzero(counts)))
    for one, two in itertools.combinations(set(shown), 2):
        if one <= two:  # what only a subtraction tells
            assert not one ^ two or len(one ^ two) >= minimum
    database.close()


@pytest.fixture(scope="module")
def collector(tmp_path_factory):
    with running(tmp_path_factory.mktemp("releases") / "x.db") as started:
        yield started


def estimates(collector, plan, **asked):
    return collector.ask("GET", f"/v1/plans/{plan.fingerprint}/estimates", "read", params=asked)


def test_polling_between_uploads_shows_nothing_until_the_minimum_has_come(collector):
    plan = collector.collection(epsilon=1.1, minimum=20)
    seen = []
    for _ in range(70):
        collector.upload(plan, plan.privatize(["tea"]).to_bytes())
        answer = estimates(collector, plan)
        seen.append(answer.json()["n"] if answer.status_code == 200 else 0)
    assert sorted(set(seen)) == [0, 20, 40, 60]
    document = answer.json()
    assert document["released"]["held_back"] == 10
    progress = collector.state(plan)["progress"]
    assert (progress["released"], progress["reports"]) == (True, 70)


def test_the_default_minimum_and_what_is_said_below_it(collector):
    made = collector.ask("POST", "/v1/plans", json={"items": ["a", "b"], "epsilon": 1.0}).json()
    assert made["minimum"] == 100
    plan = ldp.Plan.from_json(collector.client.get(f"/v1/plans/{made['fingerprint']}/document").content)
    for _ in range(2):
        collector.upload(plan, plan.privatize(["a"] * 60).to_bytes())
    yesterday = collector.service.collections.find(plan.fingerprint)
    with collector.service.database.reading() as session:
        assert aggregates.days(session, yesterday.where) is not None
    assert estimates(collector, plan).json()["n"] == 120  # of one day


def test_a_thin_day_is_shown_with_others_or_not_at_all(collector):
    plan = collector.collection(epsilon=1.3, minimum=50)
    for ago, users in ((3, 60), (2, 30), (1, 35), (0, 10)):
        day = time.strftime("%Y-%m-%d", time.gmtime(time.time() - ago * DAY))
        path = f"/v1/plans/{plan.fingerprint}/aggregates?day={day}"
        content = plan.simulate([users, 0, 0, 0], seed=ago).to_bytes()
        headers = {"Upload-Id": f"{ago}" * 32}
        assert collector.ask("POST", path, content=content, headers=headers).status_code == 201
    days = [time.strftime("%Y-%m-%d", time.gmtime(time.time() - ago * DAY)) for ago in (3, 2, 1, 0)]
    assert estimates(collector, plan).json()["n"] == 125
    assert estimates(collector, plan, **{"from": days[1], "to": days[2]}).json()["n"] == 65
    assert estimates(collector, plan, **{"from": days[0], "to": days[1]}).json()["n"] == 60
    alone = estimates(collector, plan, **{"from": days[1], "to": days[1]})
    assert (alone.status_code, alone.json()["code"]) == (409, "too-few-reports")
    history = collector.ask("GET", f"/v1/plans/{plan.fingerprint}/history", "read").json()
    assert history["periods"]["status"] == ["estimated", "withheld", "withheld", "withheld"]
    assert history["periods"]["n"] == [60, 30, 35, 10]
    assert "3 periods are withheld" in history["notes"][0]


def test_uploads_are_taken_back_and_in_exactly_and_the_answer_follows_by_the_minimum(database_url):
    with running(database_url) as collector:
        plan = collector.collection(items=None, size=64, mechanism="llh", epsilon=1.0, minimum=30)
        honest = plan.privatize(list(range(50)), seed=1)
        collector.upload(plan, honest.to_bytes())
        forged = ldp.Reports(plan, np.repeat(plan.privatize([7]).rows, 200, axis=0))
        collector.upload(plan, forged.to_bytes())
        few = plan.privatize([1] * 10, seed=2)
        collector.upload(plan, few.to_bytes())
        collector.fold(plan)
        path = f"/v1/plans/{plan.fingerprint}/uploads"
        (suspect,) = collector.ask("GET", path).json()["uploads"]
        assert (suspect["reports"], suspect["standing"]) == (200, "suspect")
        first, small = collector.ask("GET", path, params={"standing": "counted"}).json()["uploads"]
        whole = plan.aggregate(plan.read(honest.to_bytes()))
        whole.merge(plan.aggregate(few))

        def take(which, *numbers):
            answer = collector.ask("POST", path, json={"take": which, "uploads": list(numbers)})
            assert answer.status_code == 200, answer.text
            return answer.json()["moved"]

        def shown(**asked):
            return np.array(estimates(collector, plan, **asked).json()["items"]["raw"])

        def expected(aggregate):
            return np.round(aggregate.estimate().frequencies, 3)

        assert np.allclose(shown(), expected(whole))
        assert take("back", small["upload"]) == 1
        assert take("back", small["upload"]) == 0
        assert np.allclose(shown(), expected(whole))  # ten reports are fewer than the minimum
        assert take("in", small["upload"]) == 1
        assert take("in", suspect["upload"]) == 1
        all_of_it = plan.aggregate(forged)
        all_of_it.merge(whole)
        assert np.allclose(shown(), expected(all_of_it))
        assert estimates(collector, plan).json()["released"]["suspect"] == 0
        assert take("back", suspect["upload"], first["upload"]) == 2
        assert recount.differences(collector.service.database) == []
        refused = estimates(collector, plan)  # ten are left, fewer than the minimum
        assert (refused.status_code, refused.json()["code"]) == (409, "too-few-reports")
        state = collector.state(plan)
        assert (state["counted"], state["suspect"], state["taken_back"]) == (10, 0, 250)
        assert take("in", first["upload"]) == 1
        assert np.allclose(shown(), expected(whole))
        assert recount.differences(collector.service.database) == []
        unknown = collector.ask("POST", path, json={"take": "in", "uploads": [999_999]})
        assert (unknown.status_code, unknown.json()["code"]) == (404, "no-such-upload")
        assert collector.ask("POST", path, json={"take": "away", "uploads": [1]}).status_code == 422


def test_what_retention_dropped_stays_where_it_is(tmp_path):
    with running(tmp_path / "x.db", keep_days=0) as collector:
        plan = collector.collection()
        collector.upload(plan, plan.privatize(["tea"] * 5).to_bytes())
        collector.fold(plan)
        assert collector.service.retention.drop(now=time.time() + 2 * DAY) == 1
        path = f"/v1/plans/{plan.fingerprint}/uploads"
        (one,) = collector.ask("GET", path, params={"standing": "counted"}).json()["uploads"]
        answer = collector.ask("POST", path, json={"take": "back", "uploads": [one["upload"]]})
        assert (answer.status_code, answer.json()["code"]) == (409, "dropped")
        with collector.service.database.reading() as session:
            assert session.execute("SELECT SUM(kept), SUM(taken) FROM usage") == [(64, 69)]
            assert session.execute("SELECT COUNT(*) FROM uploads WHERE standing = ?", (TAKEN_BACK,)) == [(0,)]
