"""Attacks that once stopped a collector, made small: each is refused or bounded, and others are answered rightly."""

from __future__ import annotations

import asyncio
import logging
import re
import secrets
import socket
import threading
import time

import numpy as np
import pytest
from command import localdp
from running import running

import localdp as ldp
from localdp.collector import bodies, folding, pools, sending
from localdp.collector.bodies import Body, Memory
from localdp.collector.metrics import Metrics
from localdp.collector.problems import Problem
from localdp.collector.rates import Rate
from localdp.collector.storage import open_database
from localdp.errors import InvalidInputError

# Readers who do not read


def _paced(body, reads, seconds=1e6):
    """Send a body to a reader who takes so many pieces; the pieces, and whether the connection was cut."""
    taken, cut, metrics = [], [], Metrics()

    async def send(message):
        if len(taken) >= reads:
            await asyncio.Event().wait()
        taken.append(message)

    async def whole():
        scope = {"extensions": {sending.ABORT: {"cut": lambda: cut.append(1)}}}
        paced = sending.Paced(send, scope, seconds, metrics)
        await paced({"type": "http.response.start", "status": 200, "headers": []})
        await paced({"type": "http.response.body", "body": body})

    asyncio.run(whole())
    return taken[1:], bool(cut), metrics.value("readers_cut")


def test_a_long_body_is_sent_in_pieces_and_all_of_it():
    body = secrets.token_bytes(5 * sending.PIECE + 17)
    pieces, cut, _ = _paced(body, 1_000)
    assert b"".join(piece["body"] for piece in pieces) == body
    assert [piece["more_body"] for piece in pieces] == [True] * 5 + [False]
    assert max(len(piece["body"]) for piece in pieces) == sending.PIECE
    assert not cut


def test_a_reader_who_stops_is_cut_off():
    pieces, cut, counted = _paced(bytes(5 * sending.PIECE), 3, seconds=0.01)
    assert (len(pieces), cut, counted) == (2, True, 1)


def test_connections_that_never_read_hold_a_piece_each(tmp_path, monkeypatch):
    monkeypatch.setattr(sending, "LEAST_RATE", 1 << 30)
    with running(tmp_path / "x.db", read_time=1.5) as collector:
        plan = collector.collection(items=[f"item {'x' * 100} {n}" for n in range(20_000)], mechanism="llh")
        request = f"GET /v1/plans/{plan.fingerprint}/document HTTP/1.1\r\nHost: x\r\n\r\n".encode()
        silent = []
        for _ in range(8):
            connection = collector.connection()
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.sendall(request)
            silent.append(connection)
        whole = collector.client.get(f"/v1/plans/{plan.fingerprint}/document")
        assert whole.text == plan.to_json()
        deadline = time.monotonic() + 60
        while collector.service.metrics.value("readers_cut") < 8 and time.monotonic() < deadline:
            time.sleep(0.05)
        assert collector.service.metrics.value("readers_cut") == 8
        for connection in silent:
            connection.close()


def test_one_address_holds_half_of_the_connections_at_most(tmp_path):
    with running(tmp_path / "x.db", most_connections=8) as collector:
        assert collector.client.get("/healthz").status_code == 200
        held = [collector.connection() for _ in range(3)]
        with collector.connection() as fifth:
            fifth.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
            assert fifth.recv(65_536).startswith(b"HTTP/1.1 503 ")
        for connection in held:
            connection.close()


# Uploads that stall


def test_the_oldest_body_gives_way_and_small_ones_never_wait(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(bodies.time, "monotonic", lambda: now[0])
    memory = Memory(1_000_000)
    stalled = [Body(memory, 1 << 30) for _ in range(3)]
    for body in stalled:
        memory.take(body, 250_000)
    newcomer = Body(memory, 1 << 30)
    with pytest.raises(Problem, match="as many bytes as it can"):
        memory.take(newcomer, 100_000)  # all are young
    small = Body(memory, 1 << 30)
    memory.take(small, 1_000)
    now[0] = 2.0
    memory.take(newcomer, 100_000)
    assert [body.taken for body in stalled] == [0, 250_000, 250_000]
    memory.arrived(stalled[1])  # what is whole waits for the disk, and does not give way
    memory.take(newcomer, 200_000)
    assert [body.taken for body in stalled] == [0, 250_000, 0]
    assert memory.taken == 551_000


def test_stalled_uploads_are_ended_for_others(tmp_path, monkeypatch):
    monkeypatch.setattr(bodies, "_YOUNG", 0.0)
    with running(tmp_path / "x.db", most_memory=4 << 20) as collector:
        plan = collector.collection()
        head = f"POST /v1/plans/{plan.fingerprint}/reports HTTP/1.1\r\nHost: x\r\nContent-Length: 1500000\r\n"
        stalled = []
        for _ in range(2):
            connection = collector.connection()
            connection.sendall(f"{head}Upload-Id: {secrets.token_hex(16)}\r\n\r\n".encode() + bytes(1_499_999))
            stalled.append(connection)
        while collector.service.memory.taken < 2 * 1_499_999:
            time.sleep(0.01)
        assert collector.upload(plan, plan.privatize(["tea"]).to_bytes()).status_code == 201
        large = plan.privatize(["tea"] * 90_000).to_json()
        assert collector.upload(plan, large).status_code == 201
        answer = stalled[0].recv(65_536)
        assert answer.startswith(b"HTTP/1.1 429 ")
        assert b"connection: close" in answer.lower()
        for connection in stalled:
            connection.close()
        while collector.service.memory.taken:
            time.sleep(0.01)


# Counting


def test_one_part_that_is_being_counted_does_not_stop_the_others(tmp_path):
    with running(tmp_path / "x.db", fold_every=1e6, answer_time=0.1) as collector:
        slow, other = collector.collection(epsilon=1.0), collector.collection(epsilon=2.0)
        for plan in (slow, other):
            collector.upload(plan, plan.privatize(["tea"] * 10).to_bytes())
        held = collector.service.collections.find(slow.fingerprint)
        with collector.service.folder._one_at_a_time[held.id, held.part]:
            answer = collector.ask("GET", f"/v1/plans/{other.fingerprint}/estimates", "read")
            assert answer.json()["n"] == 10
            assert answer.json()["released"]["counted_until"] is None
            late = collector.ask("GET", f"/v1/plans/{slow.fingerprint}/estimates", "read")
            assert late.status_code == 409
        assert collector.ask("GET", f"/v1/plans/{slow.fingerprint}/estimates", "read").json()["n"] == 10
        collector.upload(slow, slow.privatize(["tea"] * 10).to_bytes())
        with collector.service.folder._one_at_a_time[held.id, held.part]:
            older = collector.ask("GET", f"/v1/plans/{slow.fingerprint}/estimates", "read").json()
        assert older["n"] == 10
        assert re.fullmatch(r"20\d\d-.*Z", older["released"]["counted_until"])
        assert "are missing here" in older["warnings"][0]


@pytest.mark.parametrize(("name", "size"), [("olh", 500), ("blh", 20), ("oue", 500)])
def test_counts_in_slices_are_the_counts(name, size, monkeypatch):
    plan = ldp.Plan(size, name, 1.0)
    reports = plan.privatize(np.arange(333) % size, seed=1)
    monkeypatch.setattr(folding, "PIECE_PAIRS", 7 * size)
    assert folding.at_once(plan) == (7 if plan.mechanism.counts_pairs else folding.PIECE_BYTES // reports.rows.shape[1])
    assert np.array_equal(folding.aggregated(plan, reports).counts, plan.aggregate(reports).counts)


def test_a_plan_that_costs_too_much_to_count_is_refused_when_it_is_made(tmp_path):
    with running(tmp_path / "x.db") as collector:
        asked = {"size": 20_001, "epsilon": 1.0, "mechanism": "olh"}
        refused = collector.ask("POST", "/v1/plans", json=asked)
        assert (refused.status_code, refused.json()["code"]) == (422, "too-costly")
        assert "take auto, or llh" in refused.json()["detail"]
        assert collector.ask("POST", "/v1/plans", json={**asked, "size": 20_000}).status_code == 201
        assert collector.ask("POST", "/v1/plans", json={**asked, "mechanism": "auto"}).status_code == 201


# Slow questions


def test_slow_questions_hold_one_thread_and_others_go_on():
    async def ask():
        threads, go_on, running_now = pools.Pools(2, 60.0), threading.Event(), []

        def slow():
            running_now.append(1)
            go_on.wait(30)
            return "slow"

        asked = [asyncio.create_task(threads.for_analysts("one plan", slow)) for _ in range(5)]
        while not running_now:
            await asyncio.sleep(0.01)
        answers = [await threads.for_analysts("another plan", lambda: "quick") for _ in range(3)]
        answers += [await threads.for_devices(lambda: "device"), await threads.for_operators(lambda: "operator")]
        assert len(running_now) == 1
        go_on.set()
        answers += await asyncio.gather(*asked)
        threads.shutdown()
        assert not threads._turns
        return answers

    assert asyncio.run(ask()) == ["quick"] * 3 + ["device", "operator"] + ["slow"] * 5


def test_a_question_that_takes_too_long_is_stopped():
    async def ask():
        threads, stopped = pools.Pools(1, 0.05), []

        def endless():
            try:
                while True:
                    time.sleep(0.001)
            finally:
                stopped.append(1)

        with pytest.raises(Problem, match="takes longer than") as caught:
            await threads.for_analysts("a plan", endless)
        assert (caught.value.status, caught.value.code, stopped) == (503, "takes-too-long", [1])
        threads._seconds = 60.0
        return await threads.for_analysts("a plan", lambda: "next")

    assert asyncio.run(ask()) == "next"


def test_too_many_questions_are_refused(monkeypatch):
    monkeypatch.setattr(pools, "MOST_QUESTIONS", 0)

    async def ask():
        await pools.Pools(1, 1.0).for_analysts("a plan", lambda: None)

    with pytest.raises(Problem, match="too many questions"):
        asyncio.run(ask())


# Quotas and rates


@pytest.mark.parametrize("quota", ["day_bytes", "plan_bytes", "database_bytes"])
def test_a_quota_is_kept_and_told(database_url, quota):
    limits = {quota: 1_000 if quota != "database_bytes" else 1 << 40}
    with running(database_url, **limits) as collector:
        plan, other = collector.collection(epsilon=1.0), collector.collection(epsilon=2.0)
        quotas = collector.service.writer._quotas
        if quota == "database_bytes":
            with collector.service.database.reading() as session:
                quotas._in_all = collector.service.database.used(session) + 1_000
        codes = []
        for _ in range(12):
            answer = collector.upload(plan, plan.privatize(["tea"] * 100).to_bytes())
            codes.append(answer.status_code)
        assert codes.count(201) == codes.index(507) <= 6
        assert (answer.json()["code"], answer.headers["retry-after"]) == ("quota-full", "600")
        if quota != "database_bytes":
            assert collector.upload(other, other.privatize(["tea"]).to_bytes()).status_code == 201
        stored = codes.count(201)
    if quota != "database_bytes":
        with running(database_url, **limits) as collector:  # it is known after a restart
            assert collector.state(plan)["reports"] == 100 * stored
            assert collector.upload(plan, plan.privatize(["tea"] * 100).to_bytes()).status_code == 507


def test_a_round_takes_a_limited_number_of_reports(tmp_path, monkeypatch):
    from localdp.collector import quotas
    from localdp.discovery.rounds import Round

    monkeypatch.setattr(quotas, "ROUND_FACTOR", 1)
    with running(tmp_path / "x.db") as collector:
        asked = {"bits": 16, "epsilon": 4.0, "users": 2_000, "top": 3}
        made = collector.ask("POST", "/v1/discoveries", json=asked).json()
        path = f"/v1/discoveries/{made['fingerprint']}"
        current = Round.from_json(collector.client.get(f"{path}/round").content)
        body = current.plan.privatize_indices(np.zeros(made["round"]["needed"] // 2, int)).to_bytes()
        codes = []
        for _ in range(3):
            headers = {"Upload-Id": secrets.token_hex(16)}
            answer = collector.client.post(
                f"{path}/rounds/{current.fingerprint}/reports", content=body, headers=headers
            )
            codes.append(answer.status_code)
        assert codes == [201, 201, 409]
        assert answer.json()["code"] == "round-full"


def test_long_bodies_count_as_several_requests(tmp_path):
    rate = Rate(1.0)  # ten at once
    assert rate.wait("192.0.2.1", 0.0, cost=6) == 0
    assert rate.wait("192.0.2.1", 0.0, cost=6) == 2
    assert rate.wait("192.0.2.2", 0.0, cost=6) == 0
    assert rate.wait("192.0.2.1", 2.5, cost=6) == 0
    assert rate.wait("192.0.2.3", 0.0, cost=1_000) == 0  # one that is longer than all may come once
    assert rate.wait("192.0.2.3", 5.0, cost=1) == 0
    with running(tmp_path / "x.db", rate=1.6) as collector:
        plan = collector.created_long_ago(write_token=True)
        body = plan.privatize(["tea"] * 1_000_000).to_bytes()  # counts as 16
        codes = [collector.upload(plan, body, **collector.bearer("write")).status_code for _ in range(2)]
        assert codes == [201, 429]


# Operating


def test_a_file_of_sqlite_is_for_one_collector_and_is_missed_when_it_is_gone(tmp_path, caplog):
    with running(tmp_path / "x.db") as collector:
        done = localdp("serve", "--port", "0", "--db", "x.db", cwd=tmp_path)
        assert done.returncode == 2
        assert "another collector uses x.db" in done.stderr
        plan = collector.collection()
        body = plan.privatize(["tea"]).to_bytes()
        assert collector.upload(plan, body).status_code == 201
        (tmp_path / "x.db").unlink()
        with caplog.at_level(logging.ERROR):
            assert collector.upload(plan, body).status_code == 503
        assert "was removed or replaced" in caplog.text
        ready = collector.client.get("/readyz")
        assert (ready.status_code, ready.json()["detail"]) == (503, "uploads cannot be stored")
        metrics = collector.client.get("/metrics")
        assert metrics.status_code == 200
        assert re.search(r"^localdp_start_time_seconds \d{10}\.?\d*$", metrics.text, re.MULTILINE)
    with pytest.raises(Exception, match=r"the database at .*nowhere/x\.db failed: unable to open"):
        open_database(str(tmp_path / "nowhere" / "x.db"))


@pytest.mark.parametrize("token", ["a" * 40, "0123" * 12, "abcdefg" * 7, "aabbccddaabbccddaabbccddaabbccdd"])
def test_a_token_that_can_be_guessed_is_refused(token):
    from localdp.collector.tokens import checked_token

    with pytest.raises(InvalidInputError, match="can be guessed"):
        checked_token(token)
    assert checked_token(secrets.token_hex(32))


def test_a_revoked_token_in_the_environment_is_told(tmp_path, monkeypatch, caplog):
    token = secrets.token_hex(32)
    monkeypatch.setenv("LOCALDP_ADMIN_TOKEN", token)
    with running(tmp_path / "x.db") as collector:
        assert collector.service.first_token() is None
        collector.service.tokens.forget()
        (mine,) = [one for one in collector.ask("GET", "/v1/tokens").json()["tokens"] if "LOCALDP" in one["name"]]
        assert collector.service.first_token() is None
        assert "was revoked" not in caplog.text
        assert collector.ask("DELETE", f"/v1/tokens/{mine['id']}").status_code == 204
        assert collector.service.first_token() is None
        assert "was revoked and stays so" in caplog.text


@pytest.mark.parametrize("bad", ["te\u202ea", "te\u200ba", "\u2066tea", "tea\x07", "te\xada", "\ufefftea"])
def test_items_that_cannot_be_seen_are_refused(bad):
    from localdp.collector.requests import requested_plan
    from localdp.collector.settings import Settings

    with pytest.raises(Problem, match="cannot be seen") as caught:
        requested_plan({"items": ["tea", bad], "epsilon": 1.0}, Settings())
    assert caught.value.code == "invisible-characters"
    plan, _ = requested_plan(
        {"items": ["tea", "👩\u200d🌾", "\u0645\u06cc\u200c\u062e\u0648", "line\nbreak"], "epsilon": 1.0}, Settings()
    )
    assert plan.domain.size == 4


# Tables


def test_tables_hold_no_formulas_and_all_remarks(tmp_path):
    import io

    import pyarrow as pa

    items = ["=HYPERLINK(1)", "+1", "@x", "\tx", "-2", "tea"]
    with running(tmp_path / "x.db") as collector:
        plan = collector.collection(items=items)
        collector.upload(plan, plan.privatize(items * 20).to_bytes())
        path = f"/v1/plans/{plan.fingerprint}"
        document = collector.ask("GET", f"{path}/estimates", "read").json()
        text = collector.ask("GET", f"{path}/estimates", "read", params={"format": "csv"}).text
        cells = [line.split(",")[0] for line in text.splitlines()[1:]]
        assert cells == [f'"\'{item}"' for item in items[:5]] + ['"tea"']
        said = document["warnings"] + document["notes"]
        assert said
        assert all(note in text for note in document["warnings"])
        assert "quote share" in text
        arrow = collector.ask("GET", f"{path}/estimates", "read", params={"format": "arrow"}).content
        with pa.ipc.open_file(io.BytesIO(arrow)) as file:
            assert file.schema.metadata[b"localdp-notes"].decode().count('"') == 2 * len(said)
            assert file.read_all()["item"].to_pylist() == items
        history = collector.ask("GET", f"{path}/history", "read", params={"item": ["'=HYPERLINK(1)", "+1"]})
        assert [one["item"] for one in history.json()["series"]] == items[:2]
