"""Uploads to a real server on this machine, with the standard library alone."""

from __future__ import annotations

import socket
import time
from types import SimpleNamespace

import pytest
from client.collectors import Drip, collector

import localdp as ldp
from localdp.client import http_post, pauses, upload
from localdp.errors import InvalidInputError

PLAN = ldp.Plan(["tea", "coffee", "water"], "grr", 2.0, once=0.5)


@pytest.fixture(autouse=True)
def _this_machine_and_short_pauses(monkeypatch):
    monkeypatch.setattr(pauses, "SHORTEST", 1e-6)
    monkeypatch.setattr(pauses, "LONGEST", 1e-5)
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)


def test_a_server_that_says_503_five_hundred_times_sees_one_body_and_one_upload_id(tmp_path):
    with collector([(503, {})] * 500) as server:
        client = ldp.Client(PLAN, store=tmp_path, upload=server.url)
        client.send("tea")
        done = client.flush(wait=120)
    assert (done.delivered, done.waiting) == (1, 0)
    assert len(server.requests) == 501
    assert len({(headers["Upload-Id"], body) for _, headers, body in server.requests}) == 1
    path, headers, body = server.requests[0]
    assert path == f"/v1/plans/{PLAN.fingerprint}/reports"
    assert len(bytes.fromhex(headers["Upload-Id"])) == 16
    assert headers["Content-Type"] == "application/octet-stream"
    assert len(PLAN.read(body)) == 1
    assert "Authorization" not in headers


def test_a_whole_address_is_used_as_it_is_and_the_token_is_sent(tmp_path):
    with collector() as server:
        client = ldp.Client(PLAN, store=tmp_path, upload=f"{server.url}/in?from=app", token="t0ken")  # noqa: S106
        assert client.send("tea").delivered == 1
    assert server.requests[0][0] == "/in?from=app"
    assert server.requests[0][1]["Authorization"] == "Bearer t0ken"


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirection_is_not_followed_and_not_taken_for_success(tmp_path, status):
    with collector([(status, {"Location": "/elsewhere"})]) as server:
        client = ldp.Client(PLAN, store=tmp_path, upload=server.url)
        done = client.send("tea")
        assert (done.delivered, done.waiting) == (0, 1)
        assert client.flush(wait=60).delivered == 1
    assert len({path for path, _, _ in server.requests}) == 1


def test_what_the_server_says_is_told_on_one_line(tmp_path):
    said = b'{"detail": "this plan\nis closed\x1b[31m"}'
    with collector([(409, {"said": said})]) as server:
        done = ldp.Client(PLAN, store=tmp_path, upload=server.url).send("tea")
    assert done.dropped[0].endswith('the server answered 409: {"detail": "this plan is closed [31m"}')


def test_a_server_may_ask_to_be_left_alone(tmp_path):
    with collector([(429, {"Retry-After": "50"})]) as server:
        client = ldp.Client(PLAN, store=tmp_path, upload=server.url)
        assert 45 < client.send("tea").pause < 65
        assert client.flush(wait=1).waiting == 1
        assert ldp.Client(PLAN, store=tmp_path, upload=server.url).send("tea").waiting == 2
    assert len(server.requests) == 1


@pytest.mark.parametrize("text", ["Wed, 21 Oct 2026 07:28:00 GMT", "", "nan", "inf", "٣"])
def test_a_date_or_nonsense_to_wait_for_is_ignored(text):
    assert upload._seconds(text) is None
    assert upload._seconds(None) is None


@pytest.mark.parametrize("answer", [None, b"SSH-2.0 something else\r\n", b"HTTP/1.1 abc\r\n\r\n"])
def test_a_server_that_breaks_off_or_talks_nonsense_is_tried_again(tmp_path, answer):
    with collector([answer]) as server:
        client = ldp.Client(PLAN, store=tmp_path, upload=server.url)
        done = client.send("tea")
        assert done.waiting == 1
        assert "there was no answer" in done.trouble
        assert client.flush(wait=60).delivered == 1
    assert len({headers["Upload-Id"] for _, headers, _ in server.requests}) == 1


def test_offline_the_report_waits(tmp_path):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))  # and does not listen, so nobody else can either
        client = ldp.Client(PLAN, store=tmp_path, upload=f"http://127.0.0.1:{unused.getsockname()[1]}")
        done = client.send("tea")
    assert (done.delivered, done.waiting) == (0, 1)
    assert "there was no answer" in done.trouble


@pytest.mark.parametrize(
    "url",
    [
        *("ftp://example.org", "file:///etc/passwd", "example.org", "http://", "https://example.org?key=1", ""),
        *("http://[::1", "http://host:99999", "http://host:a/x", "http://host/a b", "http://host/ä"),
    ],
)
def test_only_addresses_of_the_web_are_taken(tmp_path, url):
    with pytest.raises(InvalidInputError, match="reports are uploaded to an http:// or https:// address, not to"):
        ldp.Client(PLAN, store=tmp_path, upload=url)


def test_a_password_in_an_address_is_refused_and_not_repeated(tmp_path):
    for url in ("https://me:hunter2@example.org", "https://:hunter2@example.org"):
        with pytest.raises(InvalidInputError, match="no user name and no password") as caught:
            ldp.Client(PLAN, store=tmp_path, upload=url)
        assert "hunter2" not in str(caught.value)


def test_a_token_is_not_sent_in_the_clear(tmp_path):
    with pytest.raises(InvalidInputError, match="a token is sent to https:// addresses only"):
        ldp.Client(PLAN, store=tmp_path, upload="http://example.org", token="secret")  # noqa: S106
    ldp.Client(PLAN, store=tmp_path, upload="http://127.0.0.1:9", token="secret")  # noqa: S106


def test_a_token_cannot_smuggle_in_a_header(tmp_path):
    with pytest.raises(InvalidInputError, match="a token is visible ASCII"):
        ldp.Client(PLAN, store=tmp_path, upload="https://example.org", token="a\r\nX: b")  # noqa: S106


@pytest.mark.parametrize(
    "beginning",
    [b"", b"HTTP/1.1 ", b"HTTP/1.1 201 Created\r\nX: ", b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 100 Continue\r\nX: "],
)
def test_a_server_that_answers_a_byte_at_a_time_is_hung_up_on(tmp_path, monkeypatch, beginning):
    """The timeout of a socket starts anew with every byte, so there is a deadline for the whole request."""
    monkeypatch.setattr(http_post, "DEADLINE", 0.15)
    drip = Drip(beginning)
    with collector([drip]) as server:
        client = ldp.Client(PLAN, store=tmp_path, upload=server.url)
        started = time.monotonic()
        done = client.send("tea")
        assert time.monotonic() - started < 25  # the bytes go on for more than thirty
        assert (done.delivered, done.waiting) == (0, 1)
        assert done.trouble == "there was no answer (the server did not answer within 0.15 seconds)"
        assert drip.ended.wait(60)  # nothing goes on in the background
        monkeypatch.setattr(http_post, "DEADLINE", 60.0)
        assert client.flush(wait=60).delivered == 1


def test_a_refusal_that_is_explained_a_byte_at_a_time_is_a_refusal(tmp_path, monkeypatch):
    monkeypatch.setattr(http_post, "DEADLINE", 2.0)
    drip = Drip(b"HTTP/1.1 409 Conflict\r\nContent-Length: 300\r\nConnection: close\r\n\r\nclosed")
    with collector([drip]) as server:
        done = ldp.Client(PLAN, store=tmp_path, upload=server.url).send("tea")
        assert "the server answered 409" in done.dropped[0]
        assert drip.ended.wait(60)


def test_a_connection_that_comes_too_late_is_not_used():
    request = http_post._Watched("http://127.0.0.1:9")
    request.hang_up()
    ours, theirs = socket.socketpair()
    with ours, theirs:
        request.connection = SimpleNamespace(sock=ours)
        request.connected()
        assert theirs.recv(1) == b""


def test_while_python_ends_reports_are_still_sent(tmp_path):
    """Programs send what is waiting at their end, where no thread can be started for the deadline."""
    with collector() as server:
        client = ldp.Client(PLAN, store=tmp_path, upload=server.url)
        with pytest.MonkeyPatch.context() as ending:
            ending.setattr(http_post.Timer, "start", _no_threads)
            assert client.send("tea").delivered == 1


def _no_threads(_):
    raise RuntimeError("can't create new thread at interpreter shutdown")
