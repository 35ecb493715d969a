"""The snippets of the dashboard, run as they are: in a page, in Python, and in a shell."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from command import COMMAND
from js.chromium import browser, driver, needs_chromium
from running import running
from test_dashboard import another_site, sign_in

pytestmark = needs_chromium
FIRST = "a \"quoted\" <item> with 'both' and </script>"


@pytest.fixture(scope="module")
def chromium():
    with driver() as playwright, browser(playwright) as started:
        yield started


@pytest.fixture(scope="module")
def collector(tmp_path_factory):
    with running(tmp_path_factory.mktemp("snippets") / "x.db") as started:
        yield started


@pytest.fixture(scope="module", params=[{}, {"set_size": 2}], ids=["one item", "sets"])
def plan(collector, request):
    return collector.collection(items=[FIRST, "tea", "milk"], epsilon=5.0, **request.param)


@pytest.fixture(scope="module")
def texts(chromium, collector, plan):
    """The snippets as the page shows them."""
    context = chromium.new_context()
    page = context.new_page()
    page.goto(f"{collector.url}/#/plan/{plan.fingerprint[:16]}/send")
    sign_in(page, collector.tokens["read"])
    found = {}
    for name in ("Web", "Python", "curl", "Try it"):
        page.get_by_role("tab", name=name).click()
        found[name] = page.locator("pre code").inner_text()
    context.close()
    return found


def _one_more(collector, plan, send, more=1):
    before = collector.state(plan)["reports"]
    send()
    assert collector.state(plan)["reports"] == before + more


def test_the_snippet_for_the_web_sends_a_report(chromium, collector, plan, texts):
    def send():
        with another_site(chromium, f"<!doctype html><title>shop</title>{texts['Web']}") as page:
            page.wait_for_function(
                """performance.getEntriesByType("resource").some(
                    (one) => one.name.endsWith("/reports") && one.responseStatus === 201)"""
            )

    _one_more(collector, plan, send)


def test_the_snippet_with_the_question_draws_it(chromium, collector):
    asked = {"items": [FIRST, "tea"], "other": "something else", "question": "Which </main> one?", "epsilon": 2.0}
    plan = collector.collection(**asked)
    context = chromium.new_context()
    page = context.new_page()
    page.goto(f"{collector.url}/#/plan/{plan.fingerprint[:16]}/send")
    sign_in(page, collector.tokens["read"])
    page.get_by_role("tab", name="Question").click()
    text = page.locator("pre code").inner_text()
    context.close()
    with another_site(chromium, f"<!doctype html><title>shop</title><main>{text}</main>") as page:
        page.locator("localdp-question").get_by_text("something else").wait_for()
        assert "Which </main> one?" in page.locator("localdp-question").inner_text()


def test_the_snippets_of_a_survey_with_segments_name_one(chromium, collector):
    plan = collector.collection(items=[FIRST, "tea"], epsilon=2.0, segments=["web", "app"])
    context = chromium.new_context()
    page = context.new_page()
    page.goto(f"{collector.url}/#/plan/{plan.fingerprint[:16]}/send")
    sign_in(page, collector.tokens["read"])
    page.get_by_text("So is the segment: there are web, app.").wait_for()
    texts = {}
    for name in ("Question", "Web", "Python", "curl", "Try it", "Privacy notice"):
        page.get_by_role("tab", name=name).click()
        texts[name] = page.locator("pre code").inner_text()
    context.close()
    assert 'store="localdp-device", upload=server, segment="web")' in texts["Python"]
    assert "-H 'Segment: web'" in texts["curl"]
    assert 'headers["Segment"] = "web"' in texts["Try it"]
    assert "not blurred (web, app)" in texts["Privacy notice"]
    for name in ("Question", "Web"):
        with another_site(chromium, "<!doctype html><title>shop</title>") as page:
            with page.expect_request(re.compile("/reports$")) as sent:
                page.set_content(texts[name])
                if name == "Question":
                    page.get_by_label("tea").check()
                    page.get_by_role("button", name="Send").click()
            assert sent.value.headers["segment"] == "web"


def test_a_browser_refuses_a_client_that_was_altered(chromium, collector, plan, texts):
    altered = texts["Web"].replace('integrity="sha384-', 'integrity="sha384-AAAA')
    assert altered != texts["Web"]
    before = collector.state(plan)["reports"]
    with another_site(chromium, f"<!doctype html><title>shop</title>{altered}") as page:
        page.wait_for_function("document.readyState === 'complete'")
        page.wait_for_timeout(200)
    assert collector.state(plan)["reports"] == before


@pytest.mark.parametrize(("name", "more"), [("Python", 1), ("curl", 1), ("Try it", 2_000)])
def test_the_snippets_for_programs_send_reports(collector, plan, texts, name, more, tmp_path):
    if name == "curl" and not (shutil.which("curl") and shutil.which("openssl")):
        pytest.skip("curl or openssl is not installed")
    command = [sys.executable, "-c", texts[name]] if name != "curl" else ["sh", "-e", "-c", texts[name]]
    path = os.pathsep.join([str(Path(COMMAND).parent), os.environ["PATH"]])

    def send():
        subprocess.run(command, cwd=tmp_path, check=True, timeout=180, env={**os.environ, "PATH": path})  # noqa: S603

    _one_more(collector, plan, send, more)


def test_the_snippets_of_a_study_name_what_devices_check(chromium, collector, tmp_path):
    """With the id of the study alone, a collector could serve every device another one, and be answered by it."""
    asked = {"diet": {"items": ["vegan", "any"]}, "age": {"low": 1, "high": 9}}
    made = collector.ask("POST", "/v1/studies", json={"kind": "questionnaire", "questions": asked, "epsilon": 2}).json()
    context = chromium.new_context()
    page = context.new_page()
    page.goto(f"{collector.url}/#/questionnaire/{made['id']}/send")
    sign_in(page, collector.tokens["read"])
    for name in ("Question", "Web", "Python"):
        page.get_by_role("tab", name=name).click()
        text = page.locator("pre code").inner_text()
        assert made["fingerprint"] in text
        assert made["id"] not in text
    context.close()
    for snippet, reports in ((text.replace(f'"{made["fingerprint"]}"', '"another"'), 0), (text, 1)):
        done = subprocess.run([sys.executable, "-c", snippet], cwd=tmp_path, timeout=180)  # noqa: S603
        parts = collector.ask("GET", f"/v1/studies/{made['id']}").json()["parts"]
        assert (done.returncode == 0, sum(part["reports"] for part in parts)) == (bool(reports), reports)
