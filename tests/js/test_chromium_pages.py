"""The example page in a real Chromium, and a browser that blocks storage."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from js.chromium import ANSWERS, BLOCKED, browser_of, kill, needs_chromium, opened, site
from paths import DOCS

import localdp as ldp

pytestmark = needs_chromium
PLAN = ldp.Plan(ANSWERS, "grr", 1.0)


@pytest.fixture
def server():
    with site(PLAN) as running:
        yield running


def _serious(page):
    """What axe-core finds that would keep people from using the page."""
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page).response["violations"]
    return [(each["id"], each["help"]) for each in found if each["impact"] in ("serious", "critical")]


@pytest.mark.parametrize(("width", "scheme"), [(1200, "light"), (400, "dark")])
def test_the_example_page_asks_explains_sends_and_shows(chromium, server, width, scheme):
    context = chromium.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
    page = opened(context, server, "/")
    assert page.get_by_role("button").is_disabled()
    page.get_by_label("Badly").check()
    assert "“Badly”" in page.locator("#draw").inner_text()
    shares = [int(text) for text in page.locator(".share").all_inner_texts()]
    assert shares == [15, 15, 15, 40, 15]
    assert "each was 20% likely. Now they can be 40% sure" in page.locator("#reveals").inner_text()
    assert server.uploads == []
    page.get_by_role("button").click()
    page.locator("#after").wait_for()
    ((_, body),) = server.uploads
    assert page.locator("#bytes").inner_text() == body.hex(" ")
    assert page.locator("#says").inner_text() == f"“{ANSWERS[body[-1]]}”"
    assert page.locator("#spent").inner_text() == "1 of 2"
    assert page.evaluate("document.activeElement.id") == "after"
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert _serious(page) == []
    assert page.complaints == []
    context.close()


def test_the_page_says_when_nothing_is_sent_any_more(chromium, server):
    context = chromium.new_context()
    page = opened(context, server, "/")
    for answer in ANSWERS[:3]:
        page.get_by_label(answer, exact=True).check()
        page.get_by_role("button").click()
        page.get_by_role("button", disabled=False).wait_for()
    page.get_by_text("spent all the privacy").wait_for()
    assert len(server.uploads) == 2
    context.close()


def test_the_page_can_be_used_with_the_keyboard_alone(chromium, server):
    context = chromium.new_context()
    page = opened(context, server, "/")
    page.locator(".choice").first.wait_for()
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.locator("#after").wait_for()
    assert len(server.uploads) == 1
    context.close()


def test_a_browser_that_blocks_storage_reports_nothing_unless_the_page_chooses_to_forget(playwright, server, tmp_path):
    with browser_of(playwright, tmp_path / "profile", BLOCKED) as context:
        page = opened(context, server)
        assert page.evaluate("() => code(client().report('Well'))") == "storage-blocked"
        assert page.evaluate("() => code(client({ upload: location.origin }).send('Well'))") == "storage-blocked"
        assert server.uploads == []
        reports, spent, delivery = page.evaluate(
            """async () => {
                const own = client({ withoutStorage: "forget", upload: location.origin });
                const reports = [hex(await own.report("Well")), hex(await own.report("Well"))];
                return [reports, await own.spent(), await own.send("Well")];
            }"""
        )
        assert reports[0] == reports[1]
        assert spent == PLAN.mechanism.epsilon
        assert delivery["delivered"] == 1, delivery
        assert page.complaints == []

        example = opened(context, server, "/")
        example.get_by_label("Badly").check()
        example.get_by_role("button").click()
        example.get_by_text("does not let this page store anything").wait_for()
        assert len(server.uploads) == 1


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="processes are found in /proc")
def test_a_browser_that_is_killed_right_after_a_report_remembers_its_payment(playwright, server, tmp_path):
    with browser_of(playwright, tmp_path / "profile") as context:
        page = opened(context, server)
        released = page.evaluate("async () => hex(await client().report('Well'))")
        kill(tmp_path / "profile")
    with browser_of(playwright, tmp_path / "profile") as context:
        page = opened(context, server)
        assert page.evaluate("() => client().spent()") == PLAN.mechanism.epsilon
        assert page.evaluate("async () => hex(await client().report('Well'))") == released
        assert page.evaluate("() => client().spent()") == PLAN.mechanism.epsilon


DRINKS = ["tea", "coffee", "milk", "bread", "rice"]


@pytest.mark.parametrize(
    ("page_name", "plan", "value"),
    [
        ("sets.md", ldp.Plan(DRINKS, epsilon=2.0, set_size=2), "['milk', 'tea', 'tea']"),
    ],
)
def test_the_javascript_in_the_documents_runs(chromium, page_name, plan, value):
    """Each block is a module; later ones go on with what the first one imports and fetches.

    The script of docs/browser.md has a test of its own, with the whole recipe site.
    """
    first, *others = re.findall(r"^```js\n(.*?)^```", (DOCS / page_name).read_text("utf-8"), re.DOTALL | re.MULTILINE)
    begin = "\n".join(first.splitlines()[:3])
    with site(plan) as server:
        context = chromium.new_context()
        page = opened(context, server)
        server.modules["/localdp.js"] = 'export * from "/js/src/index.js";'
        for number, block in enumerate(
            [first, *(f"{begin}\n{other}\nawait client.report({value});" for other in others)]
        ):
            server.modules[f"/{number}.js"] = block.replace("https://collector.example", server.url)
            page.evaluate(f"() => import('/{number}.js').then(() => null)")
        assert len(server.batches) == 1
        assert page.complaints == []
        context.close()
