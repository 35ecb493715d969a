"""Requests that are made to harm: endless, doubled or oddly written, by somebody without a token or by mistake."""

from __future__ import annotations

import secrets
import time

import pytest
from running import ITEMS, running

from localdp.collector import workers


@pytest.fixture(scope="module")
def collector(tmp_path_factory):
    with running(tmp_path_factory.mktemp("hostile") / "x.db") as started:
        yield started


@pytest.fixture(scope="module")
def plan(collector):
    return collector.collection()


@pytest.mark.parametrize("beginning", [b"0\r\nX: ", b"1;"], ids=["trailer", "extension of a chunk"])
def test_endless_lines_of_a_chunked_body_are_cut_off(collector, plan, beginning):
    head = f"POST /v1/plans/{plan.fingerprint}/reports HTTP/1.1\r\nHost: x\r\nUpload-Id: {secrets.token_hex(16)}\r\n"
    request = head.encode() + b"Transfer-Encoding: chunked\r\n\r\n1\r\nL\r\n" + beginning
    assert collector.answer_to_endless(request, b"y" * 16_384).startswith(b"HTTP/1.1 431 ")
    collector.let_go()


def test_a_body_in_tiny_chunks_is_no_endless_line(collector, plan):
    body = plan.privatize(["tea"] * 40_000).to_bytes()
    chunks = b"".join(b"1\r\n%c\r\n" % byte for byte in body)
    head = f"POST /v1/plans/{plan.fingerprint}/reports HTTP/1.1\r\nHost: x\r\nUpload-Id: {secrets.token_hex(16)}\r\n"
    with collector.connection() as connection:
        connection.sendall(head.encode() + b"Transfer-Encoding: chunked\r\n\r\n" + chunks + b"0\r\nX: y\r\n\r\n")
        assert connection.recv(65_536).startswith(b"HTTP/1.1 201 ")


@pytest.mark.parametrize("path", ["/v1/tokens/" + "9" * 5_000, "/v1/tokens?id=" + "9" * 5_000, "/v1/tokens?id=%D9%A1"])
def test_a_token_is_named_by_a_number_of_some_digits(collector, path):
    answer = collector.ask("DELETE", path)
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid-request")


def test_an_id_that_is_given_twice_revokes_nothing(collector):
    first, second = (collector.ask("POST", "/v1/tokens", json={"scope": "read"}).json()["id"] for _ in range(2))
    answer = collector.ask("DELETE", f"/v1/tokens?id={first}&id={second}")
    assert answer.status_code == 422
    assert "given twice" in answer.json()["detail"]
    listed = {one["id"]: one for one in collector.ask("GET", "/v1/tokens").json()["tokens"]}
    assert listed[first]["revoked"] is None
    assert listed[second]["revoked"] is None


def test_headers_that_decide_something_come_once(collector, plan):
    path, body = f"/v1/plans/{plan.fingerprint}/reports", plan.privatize(["tea"]).to_bytes()
    for values in (("bad", "3" * 32), ("1" * 32, "2" * 32), ("4" * 32, "4" * 32)):
        answer = collector.client.post(path, content=body, headers=[("Upload-Id", one) for one in values])
        assert (answer.status_code, answer.json()["code"]) == (400, "bad-upload-id")
    guarded = collector.collection(write_token=True, epsilon=1.0)
    twice = [("Authorization", f"Bearer {collector.tokens[scope]}") for scope in ("admin", "read")]
    for method, where in (("GET", "/v1/plans"), ("POST", f"/v1/plans/{guarded.fingerprint}/reports")):
        answer = collector.client.request(method, where, headers=[*twice, ("Upload-Id", "5" * 32)])
        assert (answer.status_code, answer.json()["code"]) == (400, "bad-authorization")


def test_paths_and_queries_are_taken_by_the_letter(collector, plan):
    reports = f"/v1/plans/{plan.fingerprint}/reports"
    body, upload = plan.privatize(["tea"]).to_bytes(), {"Upload-Id": secrets.token_hex(16)}
    assert collector.client.get("/healthz%0a").status_code == 404
    assert collector.client.post(f"{reports}%0a", content=body, headers=upload).status_code == 404
    refused = collector.client.post(f"{reports}?x=1", content=body, headers=upload)
    assert (refused.status_code, refused.json()["code"]) == (422, "invalid-request")
    assert collector.client.post(reports, content=body, headers=upload).status_code == 201


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        (b'{"size": ' + b"9" * 5_000 + b"}", "has thousands of digits"),
        (b"[" * 100_000, "nested too deeply"),
        (b"\xef\xbb\xbf{}", "begins with a byte order mark"),
        (b'{"items": [[1], [2]], "epsilon": 1}', '"items" is a flat list'),
        (b'{"size": 5, "epsilon": 1, "minimum": 9007199254740993}', "from 0 to 9,007,199,254,740,991"),
        (b'{"size": 5, "epsilon": 1, "title": "\\u0000"}', "without control characters"),
        (b'{"size": -5, "epsilon": 1}', "at least 2, not -5"),
    ],
)
def test_refusals_are_words_for_whoever_asked_by_http(collector, body, sentence):
    answer = collector.ask("POST", "/v1/plans", content=body)
    assert answer.status_code in (400, 422)
    assert sentence in answer.json()["detail"]
    assert not any(word in answer.text for word in ("sys.", "recursion", "utf-8-sig", "df["))


def test_a_date_in_the_past_does_not_use_up_the_plan(collector):
    asked = {"items": ITEMS, "epsilon": 1.25, "mechanism": "grr"}
    refused = collector.ask("POST", "/v1/plans", json={**asked, "closes": "2020-01-01"})
    assert refused.status_code == 422
    assert '"closes" is in the past' in refused.json()["detail"]
    assert collector.ask("POST", "/v1/plans", json={**asked, "closes": "2999-01-01"}).status_code == 201
    other = collector.ask("POST", "/v1/plans", json={**asked, "closes": "2999-01-02"})
    assert (other.status_code, other.json()["code"]) == (409, "plan-exists")
    assert "a slightly different epsilon" in other.json()["detail"]


def test_a_plan_that_has_ended_is_still_found_by_the_same_request(collector):
    asked = {"items": ITEMS, "epsilon": 1.75, "mechanism": "grr", "closes": "2020-01-01", "minimum": 1}
    collector.created_long_ago(**asked)
    again = collector.ask("POST", "/v1/plans", json=asked)
    assert (again.status_code, again.json()["state"]) == (200, "closed")


def test_counting_rests_for_some_seconds_at_most():
    assert workers.rest(0.01, 0.5, behind=False) == 0.5
    assert workers.rest(0.1, 0.5, behind=False) == pytest.approx(2.0)
    assert workers.rest(0.1, 0.5, behind=True) == 0.2
    assert workers.rest(30.0, 0.5, behind=False) == workers.rest(30.0, 0.5, behind=True) == 5.0
    assert workers.rest(1.0, 60.0, behind=False) == 60.0


def test_malformed_requests_are_counted(collector):
    def counted():
        lines = collector.client.get("/metrics").text.splitlines()
        return sum(int(line.rsplit(" ", 1)[1]) for line in lines if 'responses_total{status="400"}' in line)

    before = counted()
    with collector.connection() as connection:
        connection.sendall(b"SOMETHING ELSE\r\n\r\n")
        assert connection.recv(65_536).startswith(b"HTTP/1.1 400 ")
    assert counted() == before + 1


def test_pages_see_why_they_must_wait(tmp_path):
    with running(tmp_path / "x.db", rate=1.0) as limited:
        path = f"/v1/plans/{'0' * 64}/reports"
        answer = next(one for one in (limited.client.post(path) for _ in range(50)) if one.status_code == 429)
        assert answer.headers["access-control-allow-origin"] == "*"
        assert answer.headers["access-control-expose-headers"] == "Retry-After"
        assert answer.headers.get_list("cross-origin-resource-policy") == ["cross-origin"]
        assert "access-control-allow-origin" not in limited.client.get("/v1/plans").headers


def test_each_open_route_allows_its_own_method(collector, plan):
    for name, method in (("reports", "POST"), ("document", "GET")):
        answer = collector.client.options(f"/v1/plans/{plan.fingerprint}/{name}")
        assert answer.headers["access-control-allow-methods"] == method


def test_readiness_is_tried_once_a_second_whoever_asks(collector, monkeypatch):
    tried = []
    call = collector.service.writer.call

    async def counting(job):
        tried.append(job)
        return await call(job)

    monkeypatch.setattr(collector.service.writer, "call", counting)
    started = time.monotonic()
    assert {collector.client.get("/readyz").status_code for _ in range(20)} == {200}
    assert len(tried) <= 1 + (time.monotonic() - started)
