"""What is published for SQL and in the feed: what a reader may see, and nothing else, in both databases."""

from __future__ import annotations

import time
from datetime import UTC, datetime

import pytest
from running import running

import localdp as ldp

DAY = 86_400
MONDAY = int(datetime(2026, 11, 2, tzinfo=UTC).timestamp())


@pytest.fixture
def collector(database_url):
    with running(database_url, publish_every=0.0) as started:
        yield started


def rows(collector, sql="SELECT * FROM latest_estimates ORDER BY study, part, item"):
    with collector.service.database.reading() as session:
        return session.execute(sql)


def feed(collector, **query):
    return collector.ask("GET", "/v1/feed", "read", params=query).json()["items"]


def publish(collector, now=None):
    for one in collector.service.collections.every():
        assert collector.service.folder.fold_all(one, time.monotonic() + 60)
    collector.service.publishing.publish(now)


def test_the_view_has_what_a_reader_is_told(collector):
    plan = collector.collection(title="Drinks", question="What?", minimum=100)
    collector.upload(plan, plan.privatize(["tea"] * 60).to_bytes())
    publish(collector)
    assert (rows(collector), feed(collector)) == ([], [])
    collector.upload(plan, plan.privatize(["tea"] * 140 + ["milk"] * 100).to_bytes())
    publish(collector)
    told = collector.ask("GET", f"/v1/plans/{plan.fingerprint}/estimates", "read").json()
    columns = "item, frequency, low, high, share, share_low, share_high, reports, title, notes"
    seen = rows(collector, f"SELECT {columns} FROM latest_estimates ORDER BY item")  # noqa: S608
    items = told["items"]
    names = sorted(range(4), key=items["item"].__getitem__)
    assert [row[0] for row in seen] == [items["item"][place] for place in names]
    for number, column in enumerate(("frequency", "low", "high", "share", "share_low", "share_high"), 1):
        assert [row[number] for row in seen] == pytest.approx([items[column][place] for place in names], abs=1e-3)
    assert {row[7:9] for row in seen} == {(told["n"], "Drinks")}
    assert seen[0][9] == "\n".join(dict.fromkeys((*told["warnings"], *told["notes"])))
    (event,) = feed(collector)
    assert (event["title"], event["tags"]) == ("Drinks has its first estimates, from 300 reports", ["minimum"])
    collector.upload(plan, plan.privatize(["tea"] * 50).to_bytes())  # held back: fewer than the minimum
    publish(collector)
    assert {row[0] for row in rows(collector, "SELECT reports FROM latest_estimates")} == {300}
    collector.upload(plan, plan.privatize(["tea"] * 50).to_bytes())
    publish(collector)
    assert {row[0] for row in rows(collector, "SELECT reports FROM latest_estimates")} == {400}
    assert len(feed(collector)) == 1


def test_it_is_refreshed_only_if_something_changed_and_follows_words_and_withdrawals(collector):
    plan = collector.collection(title="Before", minimum=10)
    collector.upload(plan, plan.privatize(["tea"] * 15).to_bytes())
    start = time.time()
    publish(collector, start)
    first = rows(collector)
    publish(collector, start + 5)
    assert rows(collector) == first
    collector.ask("PATCH", f"/v1/studies/{plan.fingerprint}", json={"title": "After"})
    publish(collector, start + 10)
    assert {row[2] for row in rows(collector)} == {"After"}
    listed = collector.ask("GET", f"/v1/plans/{plan.fingerprint}/uploads?standing=counted").json()["uploads"]
    back = {"take": "back", "uploads": [one["upload"] for one in listed]}
    assert collector.ask("POST", f"/v1/plans/{plan.fingerprint}/uploads", json=back).json() == {"moved": 1}
    publish(collector, start + 15)
    assert rows(collector) == []


def test_a_trial_and_a_draft_are_not_published_and_a_deleted_study_is_gone(collector):
    plan = collector.collection(title="Real")
    study = collector.ask("GET", f"/v1/studies/{plan.fingerprint}").json()
    trial = collector.ask("POST", f"/v1/studies/{study['id']}/trial", json={}).json()
    for name in (plan.fingerprint, trial["fingerprint"]):
        asked = ldp.Plan.from_json(collector.client.get(f"/v1/plans/{name}/document").content)
        assert collector.upload(asked, asked.privatize(["tea"] * 300).to_bytes()).status_code == 201
    publish(collector)
    assert {row[0] for row in rows(collector)} == {study["id"]}
    assert [event["_localdp"]["study"] for event in feed(collector)] == [study["id"]]
    collector.ask("POST", f"/v1/studies/{study['id']}/close")
    collector.ask("DELETE", f"/v1/studies/{study['id']}")
    assert (rows(collector), feed(collector)) == ([], [])
    for table in ("publications", "published", "happened"):
        assert rows(collector, f"SELECT * FROM {table}") == []  # noqa: S608


def test_a_questionnaire_is_published_with_its_tables(collector):
    asked = {
        "kind": "questionnaire",
        "questions": {"a": ["yes", "no"], "b": ["yes", "no"]},
        "epsilon": 4.0,
        "minimum": 10,
    }
    study = collector.ask("POST", "/v1/studies", json=asked).json()
    form = ldp.Questionnaire.from_json(collector.client.get(f"/v1/studies/{study['id']}/document").content)
    for part in form.parts():
        reports = part.privatize([{"a": "yes", "b": "no"}] * 150, seed=1)
        answer = collector.client.post(
            f"/v1/studies/{study['id']}/parts/{part.fingerprint}/reports",
            content=reports.to_bytes(),
            headers={"Upload-Id": part.fingerprint[:32]},
        )
        assert answer.status_code == 201, answer.text
    publish(collector)
    seen = rows(collector, "SELECT part, item, share, share_low, share_high, frequency FROM latest_estimates")
    yes = next(row for row in seen if row[:2] == ("a", "yes"))
    assert yes[3] <= yes[2] <= yes[4] <= 1
    assert yes[2] > 0.8
    assert yes[5] is None


def test_a_study_that_cannot_be_published_stops_no_other(collector, monkeypatch):
    for title in ("Broken", "Sound"):
        plan = collector.collection(title=title, epsilon=1.0 if title == "Broken" else 2.0)
        collector.upload(plan, plan.privatize(["tea"] * 300).to_bytes())
    results = collector.service.publishing._results
    of = results.of

    def broken(kept):
        return 1 / 0 if kept.terms.title == "Broken" else of(kept)

    monkeypatch.setattr(results, "of", broken)
    publish(collector)
    assert {row[2] for row in rows(collector)} == {"Sound"}


def test_whoever_asks_for_what_came_next_misses_nothing(collector):
    for title in ("One", "Two", "Three", "Four"):
        plan = collector.collection(title=title, epsilon=1 + len(feed(collector)) / 8)
        collector.upload(plan, plan.privatize(["tea"] * 5).to_bytes())
        publish(collector)
    every = feed(collector)
    assert [one["id"] for one in feed(collector, most=2)] == [one["id"] for one in every[:2]]
    assert feed(collector, after=every[-1]["id"], most=2) == every[1:3]
    assert feed(collector, after=every[1]["id"], most=2) == every[:1]


def test_weeks_of_the_same_people_are_compared_no_more_than_once(collector, monkeypatch):
    plan = collector.collection(items=list(range(400)), mechanism="oue", epsilon=1.0, minimum=100)
    first = plan.simulate([20] * 400, seed=1)
    for week, aggregate in enumerate((first, plan.simulate([1] * 400, seed=2).merge(first))):
        day = datetime.fromtimestamp(MONDAY + week * 7 * DAY, UTC).date()
        body = ldp.Aggregate(plan, aggregate.counts, aggregate.n).to_bytes()
        path = f"/v1/plans/{plan.fingerprint}/aggregates?day={day}"
        headers = {"Upload-Id": f"{week:032x}"}
        assert collector.ask("POST", path, content=body, headers=headers).status_code == 201
        publish(collector, MONDAY + week * 7 * DAY + 3600)
    answering, asked = collector.service.answering, []
    difference = answering.difference
    monkeypatch.setattr(answering, "difference", lambda *some: asked.append(some) or difference(*some))
    for later in (1, 2):
        publish(collector, MONDAY + 14 * DAY + later * 3600)
    assert len(asked) == 1
    assert [event["tags"] for event in feed(collector)] == [["minimum"]]


def test_the_feed_tells_once_which_items_changed_from_week_to_week(collector):
    plan = collector.collection(title="Drinks", epsilon=4.0, minimum=100)
    for week, shares in enumerate(([3000, 1000, 500, 500], [1000, 3000, 500, 500])):
        day = datetime.fromtimestamp(MONDAY + week * 7 * DAY, UTC).date()
        aggregate = plan.simulate(shares, seed=week)
        headers = {"Upload-Id": f"{week:032x}"}
        path = f"/v1/plans/{plan.fingerprint}/aggregates?day={day}"
        assert collector.ask("POST", path, content=aggregate.to_bytes(), headers=headers).status_code == 201
        publish(collector, MONDAY + week * 7 * DAY + 3600)
    assert [event["tags"] for event in feed(collector)] == [["minimum"]]
    for later in (1, 2, 3):
        publish(collector, MONDAY + 14 * DAY + later * 3600)
    newest, first = feed(collector)
    assert newest["tags"] == ["changed"]
    assert newest["title"].startswith("Drinks: changed in the week to 2026-11-15: ")
    assert "coffee +" in newest["title"]
    assert "tea -" in newest["title"]
    assert "milk" not in newest["title"]
    assert feed(collector, after=first["id"]) == [newest]
    publish(collector, MONDAY + 21 * DAY)  # a week without reports says nothing
    assert len(feed(collector)) == 2


def test_the_thread_publishes_by_itself(tmp_path):
    with running(tmp_path / "x.db", publish_every=0.05) as collector:
        plan = collector.collection()
        collector.upload(plan, plan.privatize(["tea"] * 5).to_bytes())
        deadline = time.monotonic() + 60
        while not feed(collector):
            assert time.monotonic() < deadline
            time.sleep(0.05)


@pytest.mark.parametrize("query", ["after=x", "after=-1", "most=0", "most=1001", "since=1"])
def test_questions_to_the_feed_that_make_no_sense(collector, query):
    assert collector.ask("GET", f"/v1/feed?{query}", "read").status_code == 422
