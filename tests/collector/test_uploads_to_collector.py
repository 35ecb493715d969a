"""Uploads are stored once whatever happens, counted once, and refused with a code when they are not valid."""

from __future__ import annotations

import importlib.util
import json
import logging
import secrets
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from paths import ROOT
from running import ITEMS, running

import localdp as ldp
from audits import recount
from localdp.collector.storage import open_database, uploads


@pytest.fixture(scope="module")
def collector(tmp_path_factory):
    with running(tmp_path_factory.mktemp("uploads") / "x.db") as started:
        yield started


@pytest.fixture(scope="module")
def plan(collector):
    return collector.collection()


def test_thirty_two_concurrent_uploads_of_one_id_store_one(database_url):
    with running(database_url) as collector:
        plan = collector.collection()
        body, name = plan.privatize(["tea"] * 10).to_bytes(), secrets.token_hex(16)
        with ThreadPoolExecutor(32) as pool:
            answers = list(pool.map(lambda _: collector.upload(plan, body, name).status_code, range(32)))
        assert sorted(answers) == [200] * 31 + [201]
        assert collector.state(plan)["reports"] == 10
        collector.fold(plan)
        assert collector.state(plan)["counted"] == 10
        assert recount.differences(collector.service.database) == []


def test_replaying_all_traffic_changes_nothing(database_url):
    with running(database_url) as collector:
        plan = collector.collection()
        traffic = [(plan.privatize(ITEMS * 5).to_bytes(), secrets.token_hex(16)) for _ in range(30)]
        assert {collector.upload(plan, *one).status_code for one in traffic} == {201}
        collector.fold(plan)
        before = collector.state(plan)
    with running(database_url) as collector:
        assert {collector.upload(plan, *one).status_code for one in traffic} == {200}
        collector.fold(plan)
        assert collector.state(plan) == before
        assert before["counted"] == 600
        assert recount.differences(collector.service.database) == []


def test_a_batch_may_be_binary_or_json_and_is_counted_as_the_library_counts(collector):
    plan = collector.collection(epsilon=3.0)
    reports = plan.privatize(np.random.default_rng(1).choice(ITEMS, 500))
    assert collector.upload(plan, reports[:250].to_bytes()).status_code == 201
    assert collector.upload(plan, reports[250:].to_json()).status_code == 201
    collector.fold(plan)
    (stored,) = (
        collector.service.database.reading()
        .__enter__()
        .execute(
            "SELECT counts FROM aggregates WHERE collection = ?",
            (collector.service.collections.find(plan.fingerprint).id,),
        )
    )
    assert np.array_equal(np.frombuffer(stored[0], "<i8"), plan.aggregate(reports).counts)


def test_an_id_that_was_used_tells_nothing_about_what_was_sent(collector):
    """The answer for the body that was sent and for one that was not is the same, to the byte."""
    plan = collector.collection(epsilon=4.0)
    name = secrets.token_hex(16)
    sent, other = plan.privatize(["tea"]).to_bytes(), plan.privatize(["milk"] * 3).to_bytes()
    assert collector.upload(plan, sent, name).status_code == 201
    same, different = collector.upload(plan, sent, name), collector.upload(plan, other, name)
    assert same.status_code == different.status_code == 200
    assert same.content == different.content
    drop = {"date"}
    assert {k: v for k, v in same.headers.items() if k not in drop} == {
        k: v for k, v in different.headers.items() if k not in drop
    }
    assert collector.state(plan)["reports"] == 1
    assert collector.upload(plan, b"not a batch", name).status_code == 400  # checked before the id is looked at


def test_an_id_belongs_to_one_plan(collector, plan):
    other, name = collector.collection(epsilon=1.5), secrets.token_hex(16)
    assert collector.upload(plan, plan.privatize(["tea"]).to_bytes(), name).status_code == 201
    assert collector.upload(other, other.privatize(["tea"]).to_bytes(), name).status_code == 201


def test_upper_and_lower_case_are_one_id(collector, plan):
    name, body = "ABCDEF0123456789" * 2, plan.privatize(["tea"]).to_bytes()
    assert collector.upload(plan, body, name).status_code == 201
    assert collector.upload(plan, body, name.lower()).status_code == 200


@pytest.mark.parametrize("name", ["", "12", "x" * 32, "ab" * 17])
def test_an_upload_needs_an_id(collector, plan, name):
    answer = collector.upload(plan, plan.privatize(["tea"]).to_bytes(), name)
    assert (answer.status_code, answer.json()["code"]) == (400, "bad-upload-id")


def _damaged(plan):
    good = plan.privatize(["tea", "milk"]).to_bytes()
    other = ldp.Plan(ITEMS, "grr", 1.0)
    return {
        "bad-magic": (400, b"LDP2" + good[4:]),
        "unknown-plan": (422, other.privatize(["tea"]).to_bytes()),
        "truncated": (400, good[:-1]),
        "trailing-bytes": (400, good + b"\0"),
        "empty-batch": (400, good[:20] + bytes(4)),
        "nonzero-padding": (422, good[:-1] + b"\xf0"),
        "bad-json": (400, b"{"),
        "bad-base64": (400, json.dumps({"plan": plan.fingerprint, "reports": ["?"]}).encode()),
        "wrong-length": (422, json.dumps({"plan": plan.fingerprint, "reports": ["AAAA"]}).encode()),
    }


def test_what_is_not_a_batch_is_refused_with_its_code(collector, plan):
    before = collector.state(plan)["reports"]
    for code, (status, body) in _damaged(plan).items():
        answer = collector.upload(plan, body)
        assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert collector.upload(plan, b"").status_code == 400
    assert collector.state(plan)["reports"] == before


def test_a_bad_report_does_not_take_the_others_of_its_group_with_it(collector):
    plan = collector.collection(size=5, items=None, epsilon=1.0)
    good, bad = plan.privatize([1]).to_bytes(), plan.privatize([1]).to_bytes()[:-1] + b"\x07"
    bodies = [bad if place % 7 == 3 else good for place in range(64)]
    with ThreadPoolExecutor(32) as pool:
        answers = list(pool.map(lambda body: collector.upload(plan, body), bodies))
    codes = [answer.json().get("code") for answer in answers]
    assert codes == ["symbol-out-of-range" if body is bad else None for body in bodies]
    assert collector.state(plan)["reports"] == bodies.count(good)


def test_two_thousand_mutated_bodies_are_answered_as_the_library_reads_them(collector):
    """201 for exactly those that `Plan.read` takes; anything else is a 400 or 422 with the same code."""
    spec = importlib.util.spec_from_file_location("hostile_requests", ROOT / "audits" / "hostile_requests.py")
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    rng, seen = np.random.default_rng(18), set()
    plans = [collector.collection(mechanism=name, epsilon=1.25) for name in ("grr", "oue", "ss", "llh")]
    for case in range(2_000):
        plan = plans[case % len(plans)]
        body = program.damaged(plan, rng)
        code = program.expected(plan, body)
        answer = collector.upload(plan, body)
        assert program.finding(answer.status_code, answer.content, code) is None
        seen.add(code)
    assert len(seen) >= 8
    assert collector.service.metrics.value("internal_errors") == 0


def test_a_plan_that_is_closed_takes_no_more(collector):
    plan = collector.collection(epsilon=0.5)
    body, name = plan.privatize(["tea"]).to_bytes(), secrets.token_hex(16)
    assert collector.upload(plan, body, name).status_code == 201
    closed = collector.ask("POST", f"/v1/plans/{plan.fingerprint}/close")
    assert closed.json()["state"] == "closed"
    for again in (name, secrets.token_hex(16)):
        answer = collector.upload(plan, body, again)
        assert (answer.status_code, answer.json()["code"]) == (409, "plan-closed")
    assert collector.ask("POST", f"/v1/plans/{plan.fingerprint}/close").json()["closed"] == closed.json()["closed"]


def test_a_plan_that_another_collector_closed_takes_no_more(postgres):
    database_url = postgres()
    with running(database_url) as one, running(database_url) as two:
        plan = one.collection()
        body = plan.privatize(["tea"]).to_bytes()
        assert two.upload(plan, body).status_code == 201
        one.ask("POST", f"/v1/plans/{plan.fingerprint}/close")
        assert two.upload(plan, body).status_code == 409
        assert two.state(plan)["state"] == "closed"


def test_dates_are_kept(collector):
    tomorrow = time.strftime("%Y-%m-%d", time.gmtime(time.time() + 86_400))
    early = collector.collection(epsilon=0.7, opens=tomorrow)
    answer = collector.upload(early, early.privatize(["tea"]).to_bytes())
    assert (answer.status_code, answer.json()["code"]) == (403, "plan-not-open")
    assert 0 < int(answer.headers["retry-after"]) <= 86_400
    late = collector.created_long_ago(epsilon=0.8, closes="2020-01-31")
    assert collector.upload(late, late.privatize(["tea"]).to_bytes()).status_code == 409
    now = collector.collection(epsilon=0.9, opens="2020-01-31", closes=tomorrow)
    assert collector.upload(now, now.privatize(["tea"]).to_bytes()).status_code == 201


def test_no_address_is_stored_or_logged(collector, plan, caplog):
    with caplog.at_level(logging.DEBUG):
        collector.upload(plan, plan.privatize(["tea"]).to_bytes())
        collector.upload(plan, b"bad")
    mine = [record.getMessage() for record in caplog.records if not record.name.startswith(("httpx", "httpcore"))]
    assert not any("127.0.0.1" in line for line in mine)
    stored = b"".join(path.read_bytes() for path in collector.service.database.path.parent.iterdir())
    assert b"127.0.0.1" not in stored


def test_upload_ids_are_not_stored(collector, plan):
    name = secrets.token_bytes(16)
    assert collector.upload(plan, plan.privatize(["tea"]).to_bytes(), name.hex()).status_code == 201
    stored = b"".join(path.read_bytes() for path in collector.service.database.path.parent.iterdir())
    assert name not in stored
    assert uploads.key_of(bytes.fromhex(plan.fingerprint), name) in stored


def test_two_collectors_on_one_postgresql_count_everything_once(postgres):
    url = postgres()
    with running(url) as one, running(url) as two:
        plan = one.collection()
        bodies = [plan.privatize(ITEMS).to_bytes() for _ in range(60)]
        with ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(lambda n: (one, two)[n % 2].upload(plan, bodies[n]).status_code, range(60)))
        assert set(answers) == {201}
        one.fold(plan)
        assert one.state(plan)["counted"] == two.state(plan)["counted"] == 240
    database = open_database(url)
    assert recount.differences(database) == []
    database.close()
