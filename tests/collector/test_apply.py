"""`localdp apply`, `localdp studies`: a collector gets the surveys of a file, and twice changes nothing."""

from __future__ import annotations

import json

import pytest
from command import localdp
from running import running

from localdp.collector.storage import trail

FILE = """
[surveys.theme]
title = "Theme"
items = ["dark", "light"]
epsilon = 1.5

[surveys.food]
kind = "questionnaire"
epsilon = 2.0
questions = { diet = ["vegan", "any"], tea = ["yes", "no"] }
state = "draft"
"""


@pytest.fixture
def collector(tmp_path):
    with running(tmp_path / "x.db") as started:
        yield started


@pytest.fixture
def apply(collector, tmp_path):
    def run(text, *options, scope="admin"):
        (tmp_path / "surveys.toml").write_text(text)
        known = ("--url", collector.url, "--token", collector.tokens[scope])
        return localdp("apply", "surveys.toml", *known, *options, cwd=tmp_path)

    return run


def studies(collector):
    return {one["survey"]: one for one in collector.ask("GET", "/v1/studies").json()["studies"]}


def changes(collector):
    with collector.service.database.reading() as session:
        return len(trail.newest(session, 1_000))


def test_twice_changes_nothing(collector, apply):
    shown = apply(FILE, "--dry-run")
    assert shown.returncode == 0, shown.stderr
    assert "theme: create a plan with epsilon 1.5" in shown.stdout
    assert studies(collector) == {}
    assert apply(FILE).returncode == 2  # nobody can be asked
    assert studies(collector) == {}
    assert apply(FILE, "--yes").stdout.endswith("2 changes made\n")
    assert {name: one["state"] for name, one in studies(collector).items()} == {"theme": "open", "food": "planned"}
    before = changes(collector)
    shown = apply(FILE, "--yes")
    assert (shown.returncode, shown.stdout) == (0, "nothing to change: 2 surveys are as the file says\n")
    assert changes(collector) == before


def test_words_and_states_follow_the_file(collector, apply):
    apply(FILE, "--yes")
    text = FILE.replace('"Theme"', '"Looks"\narchived = true\nlabels = { dark = "Night" }\nstate = "closed"')
    text = text.replace('state = "draft"', "")
    shown = apply(text, "--yes")
    assert shown.stdout.splitlines() == [
        "theme: title 'Theme' becomes 'Looks'; labels {} becomes {'dark': 'Night'}; archived False becomes True",
        "theme: close it",
        "food: begin it, and delete its trials",
        "3 changes made",
    ]
    theme = studies(collector)["theme"]
    assert (theme["title"], theme["labels"], theme["archived"]) == ("Looks", {"dark": "Night"}, True)
    assert {name: one["state"] for name, one in studies(collector).items()} == {"theme": "closed", "food": "open"}
    assert apply(text, "--yes").stdout.startswith("nothing to change")
    again = apply(text.replace('state = "closed"', ""), "--yes")
    assert again.stdout.splitlines()[0] == "theme: open it again"


def test_another_question_is_another_study_and_the_old_one_is_closed(collector, apply):
    apply(FILE, "--yes")
    old = studies(collector)["theme"]
    shown = apply(FILE.replace('"light"', '"light", "system"'), "--yes")
    assert f"theme: close {old['id']}, which asks something else under this name" in shown.stdout
    assert collector.ask("GET", f"/v1/studies/{old['id']}").json()["state"] == "closed"
    assert studies(collector)["theme"]["state"] in ("open", "closed")
    assert apply(FILE.replace('"light"', '"light", "system"'), "--yes").stdout.startswith("nothing to change")
    shown = apply(FILE[: FILE.index("[surveys.food]")], "--dry-run")
    assert "food: not in the file, and left as it is" in shown.stdout


def test_what_is_never_changed_and_who_may_not(collector, apply):
    apply(FILE, "--yes")
    before = changes(collector)
    shown = apply(FILE.replace('title = "Theme"', "minimum = 7"), "--yes")
    assert (shown.returncode, shown.stderr.count("\n")) == (2, 1)
    assert "theme has begun with minimum 100" in shown.stderr
    shown = apply(FILE.replace("epsilon = 1.5", "epsilon = 1.25"), "--yes", scope="read")
    assert shown.returncode == 2
    assert "this needs the scope admin" in shown.stderr
    assert apply(FILE, scope="write").returncode == 2
    assert changes(collector) == before
    shown = localdp("apply", "surveys.toml", "--url", "ftp://x", "--token", "x", cwd=".")
    assert shown.returncode == 2
    shown = localdp("studies", "--url", "http://127.0.0.1:9", "--token", "x", cwd=".")
    assert (shown.returncode, shown.stderr.count("\n")) == (1, 1)


def test_studies_are_tried_begun_shared_and_deleted_from_the_command_line(collector, tmp_path):
    plan = collector.collection(title="Drinks", draft=True)

    def run(*arguments, code=0):
        known = ("--url", collector.url, "--token", collector.tokens["admin"])
        shown = localdp("studies", *arguments, *known, cwd=tmp_path)
        assert shown.returncode == code, shown.stderr
        return shown.stdout

    assert "planned" in run()
    (study,) = json.loads(run("list", "--json"))
    assert "Trial: Drinks" in run("trial", study["id"])
    assert "Other drinks" in run("clone", plan.fingerprint, "--title", "Other drinks")
    assert len(json.loads(run("list", "--json"))) == 3
    assert "open" in run("begin", study["id"])
    assert len(json.loads(run("list", "--json"))) == 2
    assert "New title" in run("correct", study["id"], "--title", "New title", "--question", "Why?")
    run("correct", study["id"], code=2)
    token = run("share", study["id"], "--days", "3").strip().rpartition("/")[2]
    shared = collector.client.get(f"/v1/studies/{study['id']}", headers={"Authorization": f"Bearer {token}"})
    assert shared.status_code == 200
    assert "is for studies" not in run("archive", study["id"])
    run("delete", study["id"], "--yes", code=2)  # it is open
    assert "closed" in run("close", study["id"])
    assert "open" in run("reopen", study["id"])
    run("close", study["id"])
    run("delete", study["id"], code=2)  # nobody can be asked
    assert "deleted" in run("delete", study["id"], "--yes")
    for wrong in (("dance", study["id"]), ("trial",), ("list", study["id"]), ("trial", "../x")):
        run(*wrong, code=2)
