"""`localdp report`: one device on the command line."""

from __future__ import annotations

import json
import subprocess

import pytest
from client.collectors import collector
from command import COMMAND, localdp

import localdp as ldp
from localdp.cli import report
from localdp.client import Delivery
from localdp.client.periods import EVERY

PLAN = ldp.Plan(["tea", "coffee", 7, True, 2.5], "grr", 1.0)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "plan.json").write_text(PLAN.to_json())
    return tmp_path


def _report(folder, *arguments, **options):
    return localdp("report", "--plan", "plan.json", "--store", "device", *arguments, cwd=folder, **options)


def test_asked_twice_the_device_prints_the_same_report(folder):
    first, second = _report(folder, "tea"), _report(folder, "tea")
    assert first.returncode == second.returncode == 0
    assert first.stdout == second.stdout
    assert len(PLAN.read(first.stdout)) == 1
    assert first.stderr == second.stderr == "spent epsilon 1 of at most 8\n"


def test_a_value_can_come_from_standard_input(folder):
    typed = _report(folder, "tea").stdout
    line = [COMMAND, "report", "--plan", "plan.json", "--store", "device", "-"]
    piped = subprocess.run(line, input="tea\n", capture_output=True, text=True, check=True, cwd=folder)  # noqa: S603
    assert piped.stdout == typed


@pytest.mark.parametrize(
    ("typed", "item"),
    [
        ("tea", "tea"),
        ("7", 7),
        ("7.0", 7),
        ("true", True),
        ("2.5", 2.5),
        ("1", "1"),
        ("cocoa", "cocoa"),
        ("[7]", "[7]"),
    ],
)
def test_numbers_and_booleans_can_be_typed(typed, item):
    assert PLAN.question.typed(typed) == item
    assert type(PLAN.question.typed(typed)) is type(item) or typed == "7.0"


@pytest.mark.parametrize(("typed", "item"), [("7", 7), ("true", "true"), ("tea", "tea"), ("4294967296", "4294967296")])
def test_numbered_items_are_found_at_once(typed, item):
    assert ldp.Choice(2**32).typed(typed) == item


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("cocoa",), "1 value not among the 5 items of the domain: 'cocoa'"),
        (("--most", "0.5", "tea"), "a new value would spend epsilon 1, and this device has spent 0 of at most 0.5"),
        (
            ("--most-epsilon", "0.5", "tea"),
            "plan.json: this plan asks for epsilon 1, and this device gives at most 0.5",
        ),
        ((), "give the value of this device, or --upload"),
        (("--once", "tea"), "--once and --every limit what is sent: give a value and --upload with them"),
        (("--every", "week", "tea"), "--once and --every limit what is sent"),
        (
            ("--upload", "http://127.0.0.1:9", "--every", "hour", "tea"),
            "--every is day, week, month or year, not 'hour'",
        ),
    ],
)
def test_refusals_are_one_line(folder, arguments, says):
    done = _report(folder, *arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert says in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_report_is_sent_now_or_later(folder):
    with collector([(503, {"Retry-After": "0"})]) as server:
        first = _report(folder, "--upload", server.url, "tea")
        assert "0 delivered, 1 waiting" in first.stdout
        assert "the server answered 503; spent epsilon 1 of at most 8" in first.stdout
        second = _report(folder, "--upload", server.url, "--wait", "20")
        assert second.stdout == "1 delivered, 0 waiting; spent epsilon 1 of at most 8\n"
    assert len({(headers["Upload-Id"], body) for _, headers, body in server.requests}) == 1


@pytest.mark.parametrize(("arguments", "sent"), [((), 3), (("--once",), 1), (("--every", "year"), 1)])
def test_a_script_that_runs_again_and_again_can_be_counted_once(folder, arguments, sent):
    with collector([]) as server:
        for value in ("tea", "coffee", "tea"):
            assert _report(folder, "--upload", server.url, *arguments, value).returncode == 0
    assert len(server.requests) == sent


def test_the_periods_are_those_of_the_client():
    assert report.EVERY == EVERY


def test_what_the_collector_refuses_for_good_is_told(folder):
    said = json.dumps({"title": "this plan is closed"}).encode()
    with collector([(409, {"said": said})]) as server:
        done = _report(folder, "--upload", server.url, "tea", environment={"LOCALDP_TOKEN": "abc"})
    assert done.returncode == 2
    assert 'can never be delivered: the server answered 409: {"title": "this plan is closed"}' in done.stderr
    assert server.requests[0][1]["Authorization"] == "Bearer abc"


def test_a_plan_that_the_collector_does_not_know_yet_makes_the_report_wait(folder):
    with collector([(404, {})]) as server:
        done = _report(folder, "--upload", server.url, "tea")
    assert done.returncode == 0
    assert "0 delivered, 1 waiting" in done.stdout
    assert "the server answered 404" in done.stdout


@pytest.mark.parametrize(
    ("done", "says"),
    [
        (Delivery(2, 0), "2 delivered, 0 waiting"),
        (Delivery(0, 3, 9.6, (), "no"), "0 delivered, 3 waiting (next attempt in 10 s): no"),
        (Delivery(1, 2, elsewhere=2), "1 delivered, 2 waiting (2 of them for a collector of another plan)"),
    ],
)
def test_the_outcome_is_one_line(done, says):
    assert report._outcome(done) == says
