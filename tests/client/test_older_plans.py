"""Reports that still wait under an older plan are sent to the address they were made for, counted, and bounded."""

from __future__ import annotations

import time

import pytest
from client.collectors import collector

import localdp as ldp
from localdp.client import pauses
from localdp.client.addresses import by_http
from localdp.errors import OutboxFullError

OLD = ldp.Plan(["tea", "coffee", "water"], "grr", 0.5)
NEW = ldp.Plan(["tea", "coffee", "water", "milk"], "grr", 0.5)


@pytest.fixture(autouse=True)
def _this_machine_and_short_pauses(monkeypatch):
    monkeypatch.setattr(pauses, "SHORTEST", 1e-6)
    monkeypatch.setattr(pauses, "LONGEST", 1e-5)
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)


def _route(plan):
    return f"/v1/plans/{plan.fingerprint}/reports"


def test_reports_under_an_older_plan_are_sent_to_its_address(tmp_path):
    with collector([(503, {})]) as server:
        ldp.Client(OLD, store=tmp_path, upload=server.url).send("tea")
        client = ldp.Client(NEW, store=tmp_path, upload=server.url, token="t0ken")  # noqa: S106
        assert client.waiting == 1
        done = client.send("milk")
        done = client.flush(wait=5).after(done)
        assert (done.delivered, done.waiting, done.elsewhere) == (2, 0, 0)
    (old, *_), (new, *_), (again, headers, body) = server.requests
    assert (old, new, again) == (_route(OLD), _route(NEW), _route(OLD))
    assert (headers["Upload-Id"], body) == (server.requests[0][1]["Upload-Id"], server.requests[0][2])
    assert headers["Authorization"] == "Bearer t0ken"


def test_a_whole_address_of_an_older_plan_is_remembered(tmp_path):
    with collector([(503, {})]) as server:
        ldp.Client(OLD, store=tmp_path, upload=f"{server.url}/in?plan=old").send("tea")
        assert ldp.Client(NEW, store=tmp_path, upload=server.url).flush(wait=5).delivered == 1
    assert [path for path, *_ in server.requests] == ["/in?plan=old"] * 2


def test_reports_for_another_collector_are_not_sent_to_this_one_and_are_told(tmp_path, monkeypatch):
    with collector([(503, {})]) as first, collector() as second:
        ldp.Client(OLD, store=tmp_path, upload=first.url).send("tea")
        client = ldp.Client(NEW, store=tmp_path, upload=second.url)
        done = client.send("milk")
        assert (done.delivered, done.waiting, done.elsewhere) == (1, 1, 1)
        assert client.waiting == 1
        with monkeypatch.context() as waiting:  # it does not wait for what it cannot send
            waiting.setattr("localdp.client.client.time.sleep", lambda _: pytest.fail("waited"))
            assert client.flush(wait=60).elsewhere == 1
        assert [path for path, *_ in second.requests] == [_route(NEW)]
        assert ldp.Client(OLD, store=tmp_path, upload=first.url).flush(wait=5).delivered == 1


def test_a_function_gets_reports_of_its_own_plan_only(tmp_path):
    ldp.Client(OLD, store=tmp_path, upload=lambda *_: 503).send("tea")
    seen = []
    client = ldp.Client(NEW, store=tmp_path, upload=lambda body, _: seen.append(body))
    done = client.send("milk")
    assert (done.delivered, done.waiting, done.elsewhere) == (1, 1, 1)
    assert [len(NEW.read(body)) for body in seen] == [1]
    with collector() as server:
        assert ldp.Client(NEW, store=tmp_path, upload=server.url).flush().elsewhere == 1
    assert ldp.Client(OLD, store=tmp_path, upload=lambda *_: None).flush(wait=5).delivered == 1


def test_reports_for_a_function_are_not_sent_to_an_address_that_was_used_before(tmp_path):
    with collector([(503, {})]) as server:
        ldp.Client(OLD, store=tmp_path, upload=server.url).send("tea")
        ldp.Client(OLD, store=tmp_path, upload=lambda *_: 503).send("tea")
        assert ldp.Client(NEW, store=tmp_path, upload=server.url).flush(wait=0.1).elsewhere == 2
    assert len(server.requests) == 1


def test_the_bound_holds_for_all_plans_together(tmp_path):
    for value in ("tea", "coffee"):
        ldp.Client(OLD, store=tmp_path, upload=lambda *_: 503).send(value)
    client = ldp.Client(NEW, store=tmp_path, upload=lambda *_: 503, most_waiting=3)
    client.send("tea")
    spent = client.spent
    with pytest.raises(OutboxFullError, match=r"3 reports are waiting to be sent \(2 of them under other plans\)"):
        client.send("milk")
    assert client.spent == spent


def test_an_older_plan_that_is_gone_does_not_hold_up_the_new_one(tmp_path):
    """404 says something about one plan. The other reports of the same server are sent."""
    with collector([(404, {})] * 3) as server:
        old = ldp.Client(OLD, store=tmp_path, upload=server.url)
        old.send("tea")
        server.answers = iter([(201, {}), (404, {}), (201, {}), (404, {})])
        client = ldp.Client(NEW, store=tmp_path, upload=server.url)
        for _ in range(2):
            done = client.send("milk")
            assert (done.delivered, done.waiting) == (1, 1)
            assert "404" in done.trouble
            time.sleep(1e-3)


def test_a_busy_server_is_left_alone_under_all_plans(tmp_path):
    with collector([(503, {}), (429, {"Retry-After": "50"})]) as server:
        ldp.Client(OLD, store=tmp_path, upload=server.url).send("tea")
        client = ldp.Client(NEW, store=tmp_path, upload=server.url)
        assert client.send("milk").pause > 45
        assert client.flush().waiting == 2
        assert ldp.Client(OLD, store=tmp_path, upload=server.url).flush().pause > 45
    assert [path for path, *_ in server.requests] == [_route(OLD), _route(NEW)]


@pytest.mark.parametrize(
    ("address", "same"),
    [
        ("https://c.example/v1/other", True),
        ("https://C.example:443/x", True),
        ("https://c.example:444/x", False),
        ("http://c.example/x", False),
        ("https://d.example/x", False),
        ("https://c.example@d.example/x", False),
        ("https://c.example:x/", False),
        ("\ufffd", False),
        ("", False),
    ],
)
def test_the_same_server_has_the_same_scheme_host_and_port(address, same):
    other = by_http("https://c.example", OLD.fingerprint, "t0ken").at(address)
    assert (other is not None) == same
    assert other is None or other.address == address


def test_the_token_is_not_shown():
    assert "t0ken" not in repr(by_http("https://c.example", OLD.fingerprint, "t0ken"))
