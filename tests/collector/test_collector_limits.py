"""What a collector does when too much comes: too long, too slow, too many, or more than the disk takes."""

from __future__ import annotations

import resource
import secrets
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from running import ITEMS, new_client, running

from audits import recount
from localdp.collector.bodies import Body, Memory
from localdp.collector.problems import Problem
from localdp.collector.rates import Rate
from localdp.collector.storage.sqlite import SqliteDatabase

MEBIBYTE = 1 << 20
UPLOAD = b"POST /v1/plans/PLAN/reports HTTP/1.1\r\nHost: x\r\nUpload-Id: " + b"ab" * 16 + b"\r\n"


def _raw(collector, data):
    """Send bytes as they are, and return all that comes back until the connection is closed."""
    with collector.connection() as connection:
        connection.sendall(data)
        received = b""
        while True:
            part = connection.recv(65_536)
            if not part:
                return received
            received += part


def test_64_megabytes_in_chunks_are_refused_before_they_are_held(tmp_path):
    with running(tmp_path / "x.db", most_body=MEBIBYTE) as collector:
        plan = collector.collection()
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        sent = 0

        def chunks():
            nonlocal sent
            for _ in range(64):
                sent += MEBIBYTE
                yield b"x" * MEBIBYTE

        try:
            answer = collector.upload(plan, chunks())
            assert (answer.status_code, answer.json()["code"]) == (413, "too-long")
        except httpx.TransportError:
            pass  # the collector closed the connection while the client was still sending
        assert sent < 64 * MEBIBYTE
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 32 * 1024
        collector.let_go()
        declared = {"Content-Length": str(64 * MEBIBYTE)}
        head = f"POST /v1/plans/{plan.fingerprint}/reports HTTP/1.1\r\nHost: x\r\nUpload-Id: {'ab' * 16}\r\n"
        said = _raw(collector, (head + f"Content-Length: {declared['Content-Length']}\r\n\r\n").encode())
        assert said.startswith(b"HTTP/1.1 413 ")
        assert b"connection: close" in said.lower()
        assert collector.upload(plan, plan.privatize(["tea"]).to_bytes()).status_code == 201


def test_a_body_may_be_as_long_as_the_limit(tmp_path):
    with running(tmp_path / "x.db", most_body=1024 + 24) as collector:
        plan = collector.collection()
        assert collector.upload(plan, plan.privatize(["tea"] * 1024).to_bytes()).status_code == 201
        assert collector.upload(plan, plan.privatize(["tea"] * 1025).to_bytes()).status_code == 413
        for users, status in ((1024, 201), (1025, 413)):  # in chunks, so that no length is declared
            body = plan.privatize(["tea"] * users).to_bytes()
            assert collector.upload(plan, iter([body[:500], body[500:]])).status_code == status


@pytest.mark.parametrize("beginning", [b"", b"POST /v1/plans HT", UPLOAD + b"Content-Length: 30\r\n\r\nLDP1"])
def test_slow_clients_are_told_and_let_go(tmp_path, beginning):
    with running(tmp_path / "x.db", request_time=0.3) as collector:
        plan = collector.created_long_ago()  # by HTTP, this test could be too slow itself
        started = time.monotonic()
        said = _raw(collector, beginning.replace(b"PLAN", plan.fingerprint.encode()))
        assert said.startswith(b"HTTP/1.1 408 ")
        assert b"too-slow" in said
        assert b"x-content-type-options: nosniff" in said
        assert time.monotonic() - started > 0.2
        healthy = b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
        # On a busy machine, this test may be a slow client itself now and then.
        assert any(_raw(collector, healthy).startswith(b"HTTP/1.1 200 ") for _ in range(20))


def test_an_answer_that_comes_before_the_body_is_not_followed_by_another(tmp_path):
    with running(tmp_path / "x.db", request_time=1.0) as collector:
        said = _raw(collector, b"POST /v1/plans HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc")
        assert said.startswith(b"HTTP/1.1 401 ")
        assert said.count(b"HTTP/1.1") == 1


def _trickle(connection):
    """Send a little now and then, for three quarters of a minute if nobody stops it."""
    for _ in range(900):
        time.sleep(0.05)
        connection.sendall(b"x")


def test_a_client_that_sends_a_little_now_and_then_is_let_go_too(tmp_path):
    with running(tmp_path / "x.db", request_time=0.5) as collector:
        plan = collector.created_long_ago()
        with collector.connection() as connection:
            head = f"POST /v1/plans/{plan.fingerprint}/reports HTTP/1.1\r\nHost: x\r\nUpload-Id: {'ab' * 16}\r\n"
            connection.sendall(head.encode() + b"Content-Length: 1000\r\n\r\n")
            with pytest.raises(ConnectionError):
                _trickle(connection)
        collector.let_go()


def test_many_requests_on_one_connection_are_not_slow(tmp_path):
    with running(tmp_path / "x.db", request_time=1.0) as collector:
        until = time.monotonic() + 1.5
        with new_client(base_url=collector.url) as client:
            while time.monotonic() < until:
                assert client.get("/healthz").status_code == 200
                time.sleep(0.05)


def test_what_is_not_http_is_refused_with_the_headers(tmp_path):
    with running(tmp_path / "x.db") as collector:
        said = _raw(collector, b"SOMETHING ELSE\r\n\r\n")
        assert said.startswith(b"HTTP/1.1 400 ")
        assert b"default-src 'none'" in said


def test_too_many_connections_are_refused(tmp_path):
    with running(tmp_path / "x.db", most_connections=5) as collector:
        idle = [socket.create_connection(("127.0.0.1", collector.port)) for _ in range(6)]
        try:
            with new_client(base_url=collector.url) as client:
                answer = client.get("/healthz")
                assert answer.status_code == 503
                assert "default-src 'none'" in answer.headers["content-security-policy"]
        finally:
            for one in idle:
                one.close()


class Slow(SqliteDatabase):
    """A database whose transactions wait until they are let go."""

    def __init__(self, path):
        self.go_on = threading.Event()
        self.go_on.set()
        super().__init__(path)

    def writing(self):
        self.go_on.wait(30)
        return super().writing()


def test_a_full_queue_is_told_and_nothing_acknowledged_is_lost(tmp_path):
    database = Slow(tmp_path / "x.db")
    with running(database, most_waiting=10, fold_every=1e6) as collector:
        plan = collector.collection()
        bodies = [plan.privatize(["tea"]).to_bytes() for _ in range(40)]
        database.go_on.clear()

        def send(body):
            with new_client() as client:
                url = f"{collector.url}/v1/plans/{plan.fingerprint}/reports"
                return client.post(url, content=body, headers={"Upload-Id": secrets.token_hex(16)})

        with ThreadPoolExecutor(40) as pool:
            waiting = [pool.submit(send, body) for body in bodies]
            while sum(one.done() for one in waiting) < 20:  # those that were refused
                time.sleep(0.01)
            database.go_on.set()
            answers = [one.result() for one in waiting]
        statuses = [answer.status_code for answer in answers]
        assert set(statuses) == {201, 429}
        assert all(answer.headers["retry-after"] == "1" for answer in answers if answer.status_code == 429)
        assert collector.state(plan)["reports"] == statuses.count(201)


def test_bodies_together_take_no_more_than_their_memory(tmp_path):
    memory = Memory(4 * 100_000)
    first, second, third = (Body(memory, 1 << 30) for _ in range(3))
    memory.take(first, 200_000)
    with pytest.raises(Problem, match="as many bytes as it can"):
        memory.take(second, 100_001)  # a quarter is for small bodies
    memory.take(third, 60_000)
    memory.give_back(first)
    memory.take(second, 300_000)
    assert memory.taken == 360_000
    with running(tmp_path / "x.db", most_memory=4000) as collector:
        plan = collector.collection()
        answer = collector.upload(plan, plan.privatize(["tea"] * 2000).to_bytes())
        assert (answer.status_code, answer.json()["code"]) == (429, "busy")
        assert collector.upload(plan, plan.privatize(["tea"]).to_bytes()).status_code == 201


def test_a_full_disk_is_told_and_nothing_acknowledged_is_lost(tmp_path):
    with running(tmp_path / "x.db", fold_every=1e6) as collector:
        plan = collector.collection()
        writer = collector.service.database._writer
        pages = collector.service.writer.run(lambda session: session.execute("PRAGMA page_count")[0][0])
        writer.execute(f"PRAGMA max_page_count = {pages + 40}")
        stored, refused = 0, 0
        for _ in range(60):
            answer = collector.upload(plan, plan.privatize(["tea"] * 5_000).to_bytes())
            assert answer.status_code in (201, 507)
            stored += answer.status_code == 201
            refused += answer.status_code == 507
        assert stored
        assert refused
        assert answer.json()["code"] == "disk-full"
        ready = collector.client.get("/readyz")  # a single row would fit, and uploads do not
        assert (ready.status_code, ready.json()["code"]) == (507, "disk-full")
        assert collector.client.get("/healthz").status_code == 200
        assert collector.ask("POST", "/v1/tokens", json={"scope": "read"}).status_code in (201, 507)
        writer.execute("PRAGMA max_page_count = 1000000")
        assert collector.upload(plan, plan.privatize(["tea"] * 5_000).to_bytes()).status_code == 201
        collector.fold(plan)
        assert collector.state(plan)["counted"] == 5_000 * (stored + 1)
        assert recount.differences(collector.service.database) == []


def test_a_database_that_fails_is_told_and_comes_back(tmp_path):
    database = Slow(tmp_path / "x.db")
    with running(database) as collector:
        plan = collector.collection()
        body, name = plan.privatize(["tea"]).to_bytes(), secrets.token_hex(16)
        collector.service.writer.run(lambda session: session.execute("ALTER TABLE uploads RENAME TO elsewhere"))
        answer = collector.upload(plan, body, name)
        assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")
        assert answer.headers["retry-after"]
        collector.service.writer.run(lambda session: session.execute("ALTER TABLE elsewhere RENAME TO uploads"))
        assert collector.upload(plan, body, name).status_code == 201
        assert collector.client.get("/readyz").json() == {"status": "ready"}
        collector.service.writer.run(lambda session: session.execute("DROP TABLE probes"))
        time.sleep(1.1)  # the outcome is remembered for a second
        assert collector.client.get("/readyz").status_code == 503
        assert collector.client.get("/healthz").status_code == 200


def test_a_head_without_end_is_refused(tmp_path):
    with running(tmp_path / "x.db") as collector:
        said = collector.answer_to_endless(b"GET /healthz HTTP/1.1\r\n", b"X-Long: y\r\n" * 1_000)
        assert said.startswith(b"HTTP/1.1 431 ")
        trailers = b"".join(b"X-%d: y\r\n" % place for place in range(2_000))
        chunked = UPLOAD.replace(b"PLAN", b"0" * 64) + b"Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n0\r\n"
        assert _raw(collector, chunked + trailers + b"\r\n").startswith(b"HTTP/1.1 404 ")


def test_a_request_that_stops_waiting_does_not_stop_the_writer(tmp_path):
    database = Slow(tmp_path / "x.db")
    with running(database) as collector:
        writer = collector.service.writer
        database.go_on.clear()
        first, second = writer.queue(lambda _: 1), writer.queue(lambda _: 2)
        assert second.cancel()
        first.cancel()
        database.go_on.set()
        assert writer.run(lambda _: 3) == 3


def test_the_database_is_readable_for_its_owner_only(tmp_path):
    with running(tmp_path / "x.db") as collector:
        collector.collection()
        modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()}
    assert set(modes) >= {"x.db", "x.db-wal"}
    assert set(modes.values()) == {0o600}


def test_the_rate_of_an_address_is_limited():
    rate = Rate(2.0)
    assert [rate.wait("a", now=0.0) for _ in range(20)] == [0] * 20
    assert rate.wait("a", now=0.0) >= 1
    assert rate.wait("b", now=0.0) == 0
    assert rate.wait("a", now=0.5) == 0
    assert rate.wait("a", now=0.5) >= 1
    assert "a" not in str(rate._buckets)


def test_an_address_that_asks_too_often_gets_429(tmp_path):
    with running(tmp_path / "x.db", rate=0.2) as collector:  # two at once, and then one in five seconds
        answers = [collector.client.get("/healthz") for _ in range(15)]
        assert [answer.status_code for answer in answers].count(429) >= 3
        refused = next(answer for answer in answers if answer.status_code == 429)
        assert refused.headers["retry-after"]
        assert "default-src 'none'" in refused.headers["content-security-policy"]


def test_an_encoded_body_is_refused(tmp_path):
    with running(tmp_path / "x.db") as collector:
        plan = collector.collection()
        answer = collector.upload(plan, plan.privatize(ITEMS).to_bytes(), **{"Content-Encoding": "gzip"})
        assert (answer.status_code, answer.json()["code"]) == (415, "encoded")


def test_a_stranger_sends_only_so_many_reports_at_once(tmp_path):
    with running(tmp_path / "x.db", most_reports=50) as collector:
        plan = collector.collection()
        for users, status in ((50, 201), (51, 413)):
            reports = plan.privatize(["tea"] * users)
            for body in (reports.to_bytes(), reports.to_json()):
                answer = collector.upload(plan, body)
                assert answer.status_code == status
        assert answer.json()["code"] == "too-many-reports"
        assert "at most 50 reports, not 51" in answer.json()["detail"]
        assert answer.headers["access-control-allow-origin"] == "*"
        guarded = collector.collection(write_token=True, epsilon=1.0)
        body = guarded.privatize(["tea"] * 51).to_bytes()
        assert collector.upload(guarded, body, **collector.bearer("write")).status_code == 201
        assert collector.state(plan)["reports"] == 100


def test_uploads_do_not_wait_for_analysts(tmp_path):
    with running(tmp_path / "x.db", threads=1) as collector:
        plan = collector.collection(write_token=True)
        large = plan.privatize(["tea"] * 30_000).to_json()
        go_on = threading.Event()
        collector.service.pools._analysts.submit(go_on.wait, 60)  # an answer that takes long
        collector.service.tokens.forget()  # so that the database is asked for the token
        answer = collector.upload(plan, large, **collector.bearer("write"))
        assert collector.client.get(f"/v1/plans/{'0' * 16}/document").status_code == 404
        assert not go_on.is_set()
        go_on.set()
        assert answer.status_code == 201


@pytest.mark.parametrize(
    ("address", "same", "other"),
    [
        ("2001:db8:1:2::1", "2001:db8:1:2:ffff:ffff:ffff:ffff", "2001:db8:1:3::1"),
        ("::ffff:192.0.2.1", "192.0.2.1", "::ffff:192.0.2.2"),
        ("fe80::1%eth0", "fe80::2%eth1", "not: an address"),
    ],
)
def test_the_rate_counts_a_network_of_ipv6_as_one_sender(address, same, other):
    rate = Rate(0.1)  # one request
    assert rate.wait(address, 0.0) == 0
    assert rate.wait(same, 0.0) > 0
    assert rate.wait(other, 0.0) == 0
