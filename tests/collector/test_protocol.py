"""What the HTTP protocol of the collector adds to uvicorn's: whole answers, and refusals before the application."""

from __future__ import annotations

import secrets
from types import SimpleNamespace

import pytest
from running import running

from localdp.collector.guard import CORS, HEADERS
from localdp.collector.metrics import Metrics
from localdp.collector.protocol import Whole, protocol


@pytest.fixture(scope="module")
def collector(tmp_path_factory):
    with running(tmp_path_factory.mktemp("protocol") / "x.db") as started:
        yield started


@pytest.fixture(scope="module")
def plan(collector):
    return collector.collection()


def _upload(plan, upload_id=None, **headers):
    body = plan.privatize(["tea"]).to_bytes()
    given = {"Host": "x", "Upload-Id": upload_id or secrets.token_hex(16), "Content-Length": len(body), **headers}
    lines = "".join(f"{name}: {value}\r\n" for name, value in given.items())
    return f"POST /v1/plans/{plan.fingerprint}/reports HTTP/1.1\r\n{lines}\r\n".encode() + body


def _said(collector, *parts):
    """Everything that comes back until the connection is closed."""
    received = b""
    with collector.connection() as connection:
        for part in parts:
            connection.sendall(part)
        while part := connection.recv(65_536):
            received += part
    return received


def test_an_answer_in_one_go_is_the_answer_that_uvicorn_would_send(collector, plan, monkeypatch):
    name = secrets.token_hex(16)
    first = collector.client.post(
        f"/v1/plans/{plan.fingerprint}/reports",
        content=plan.privatize(["tea"]).to_bytes(),
        headers={"Upload-Id": name},
    )
    monkeypatch.setattr("localdp.collector.routes.uploads.WHOLE", "not there")
    again = collector.client.post(
        f"/v1/plans/{plan.fingerprint}/reports",
        content=plan.privatize(["tea"]).to_bytes(),
        headers={"Upload-Id": name},
    )
    monkeypatch.undo()
    third = collector.upload(plan, plan.privatize(["tea"]).to_bytes(), name)
    assert (first.status_code, again.status_code, third.status_code) == (201, 200, 200)
    assert again.content == third.content == b'{"status":"stored before"}'
    for answer in (first, again, third):
        given = {key: value for key, value in answer.headers.items() if key not in ("date", "content-length")}
        expected = {"content-type": "application/json", **{k.decode(): v.decode() for k, v in (*HEADERS, *CORS)}}
        assert given == expected
        assert "date" in answer.headers
        assert int(answer.headers["content-length"]) == len(answer.content)


def test_whole_answers_are_counted_and_end_the_connection_if_asked(collector, plan):
    def counted():
        lines = collector.client.get("/metrics").text.splitlines()
        return sum(int(line.rsplit(" ", 1)[1]) for line in lines if 'responses_total{status="201"}' in line)

    before = counted()
    said = _said(collector, _upload(plan, Connection="close"))
    assert said.startswith(b"HTTP/1.1 201 ")
    assert b"\r\nconnection: close\r\n" in said
    assert counted() == before + 1


def test_uploads_one_after_the_other_without_waiting_are_all_answered(collector, plan):
    before = collector.state(plan)["reports"]
    said = _said(collector, b"".join([*(_upload(plan) for _ in range(29)), _upload(plan, Connection="close")]))
    assert said.count(b"HTTP/1.1 201 ") == 30
    assert collector.state(plan)["reports"] == before + 30


@pytest.mark.parametrize("hindrance", ["reads nothing", "sent more", "was answered"])
def test_an_answer_that_has_to_wait_is_left_to_uvicorn(hindrance):
    """Somebody who reads nothing would otherwise fill the memory with answers."""
    kind, scope, written = protocol(1.0, 1, Metrics()), {}, []
    one = object.__new__(kind)
    one.transport = SimpleNamespace(write=written.append)
    one.cycle = SimpleNamespace(
        scope={"another": 1} if hindrance == "sent more" else scope,
        flow=SimpleNamespace(write_paused=hindrance == "reads nothing"),
        response_started=hindrance == "was answered",
    )
    assert not one._whole(scope, Whole.of(201, b"", ()))
    assert written == []


@pytest.mark.parametrize("after", [b"\x00\x01garbage\r\n\r\n", b"GET / HTTP/1.1\r\nContent-Length: x\r\n\r\n"])
def test_what_follows_an_upload_is_never_taken_for_its_answer(collector, plan, after):
    """An upload that was stored must not hear 400 because of what was sent behind it: no answer is better."""
    said = _said(collector, _upload(plan) + after)
    assert not said.startswith(b"HTTP/1.1 400")


@pytest.mark.parametrize(
    ("request_line", "shown"),
    [
        (b"POST /v1/plans/PLAN/reports HTTP/1.1\r\nContent-Length: x\r\n\r\n", True),
        (b"GET /v1/plans/PLAN/document?x=1 HTTP/1.1\r\nContent-Length: x\r\n\r\n", True),
        (b"GET /v1/plans HTTP/1.1\r\nContent-Length: x\r\n\r\n", False),
        (b"GET /v1/plans/PLAN/estimates HTTP/1.1\r\nContent-Length: x\r\n\r\n", False),
        (b"\x01\x02\r\n\r\n", True),  # there is no path, and nothing to hide
    ],
)
def test_pages_of_other_sites_may_read_why_an_upload_was_refused(collector, plan, request_line, shown):
    said = _said(collector, request_line.replace(b"PLAN", plan.fingerprint.encode()))
    assert said.startswith(b"HTTP/1.1 400 ")
    assert (b"access-control-allow-origin: *" in said) == shown
    assert (b"cross-origin-resource-policy: cross-origin" in said) == shown
    assert said.count(b"cross-origin-resource-policy") == 1


def test_an_upload_that_is_too_slow_can_be_read_by_its_page(tmp_path):
    with running(tmp_path / "x.db", request_time=0.3) as impatient:
        said = _said(impatient, _upload(impatient.created_long_ago())[:-1])
    assert said.startswith(b"HTTP/1.1 408 ")
    assert b"access-control-allow-origin: *" in said


@pytest.mark.parametrize(("method", "path"), [("PUT", "reports"), ("DELETE", "document"), ("GET", "reports")])
def test_a_wrong_method_of_an_open_route_is_open_too(collector, plan, method, path):
    answer = collector.client.request(method, f"/v1/plans/{plan.fingerprint}/{path}")
    assert answer.status_code == 405
    assert answer.headers["access-control-allow-origin"] == "*"
    assert collector.client.request(method, "/v1/plans/x/history").headers.get("access-control-allow-origin") is None


def test_headers_without_control_characters():
    with pytest.raises(ValueError, match="control character"):
        Whole.of(200, b"", ((b"x", b"a\r\nb: c"),))
