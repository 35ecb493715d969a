"""What a browser keeps, and when: transactions that are flushed, a device that does not move, one answer in a study."""

from __future__ import annotations

import json

import pytest
from js.chromium import BLOCKED, PLAN, Handler, browser_of, kill, needs_chromium, opened
from paths import VECTORS

pytestmark = needs_chromium

_GIVEN = json.loads((VECTORS / "questionnaires.json").read_text("utf-8"))
_ANSWERS = _GIVEN["answers"][0]["answers"]
_FORM = next(one["form"] for one in _GIVEN["good"] if one["fingerprint"] == _GIVEN["answers"][0]["form"])
# A client of the questionnaire in this page, whose uploads are kept in `window.sent`.
STUDY = f"""
    window.sent = [];
    window.study = (options = {{}}) => new localdp.Client({json.dumps(_FORM)}, {{
        upload: (body, id) => void sent.push(`${{id}} ${{hex(body)}}`), ...options }});
    window.answers = {json.dumps(_ANSWERS)};
"""


def test_every_transaction_is_flushed_to_the_disk(context, server):
    context.add_init_script(
        """window.asked = []; const { transaction } = IDBDatabase.prototype;
        IDBDatabase.prototype.transaction = function (...given) {
            asked.push(given[2]?.durability);
            return transaction.apply(this, given);
        };"""
    )
    page = opened(context, server)
    page.evaluate("() => client({ upload: location.origin }).sendOnce(7)")
    assert {*page.evaluate("() => asked")} == {"strict"}


class _Tracking(Handler):
    """A collector that gives every browser a tag, and a wording, of its own, to be kept for a year."""

    def do_GET(self):
        if not self.path.endswith(("/document", "/wording")):
            super().do_GET()
            return
        self.server.tags.append(self.headers["If-None-Match"])
        number, status = len(self.server.tags), self.server.answers.pop(0) if self.server.answers else 200
        text = PLAN.to_json()
        if self.path.endswith("/wording"):
            text = json.dumps({"version": number, "question": "", "labels": {}})
        self.send_response(status)
        for name, value in {
            "ETag": f'"{number}"',
            "Cache-Control": "max-age=31536000",
            "Content-Length": len(text),
        }.items():
            self.send_header(name, str(value))
        self.end_headers()
        self.wfile.write(text.encode())


@pytest.fixture
def tracking(server):
    server.RequestHandlerClass, server.tags = _Tracking, []
    return server


_LOAD = "async (name) => { window.own = await localdp.Client.load(`/v1/plans/${name}`); return own.fingerprint; }"


def test_no_tag_of_the_cache_and_no_kept_wording_tells_one_browser_from_another(context, tracking):
    versions = []
    for name in (PLAN.fingerprint, PLAN.fingerprint, "", ""):  # without a fingerprint, whatever the collector has there
        page = opened(context, tracking)
        page.evaluate(_LOAD, name)
        versions.append(page.evaluate("async () => (await own.wording()).version"))
    assert len(set(versions)) == 4
    assert tracking.tags == [None] * 7  # the plan with this fingerprint was fetched once


def test_what_the_cache_has_in_the_place_of_a_plan_is_fetched_anew(context, tracking):
    tracking.answers = [404, 502]
    page = opened(context, tracking)
    assert page.evaluate(f"(name) => code(({_LOAD})(name))", PLAN.fingerprint) == "no-plan"
    assert page.evaluate(_LOAD, PLAN.fingerprint) == PLAN.fingerprint
    assert tracking.tags == [None] * 3


def test_a_device_does_not_move_and_comes_back(context, server):
    """While IndexedDB fails, the device reports nothing; when it works again, it is the same device."""
    page = opened(context, server)
    first = page.evaluate("async () => hex(await client().report(7))")
    broken = opened(context, server)
    said = broken.evaluate(
        """async () => {
            const { open } = IDBFactory.prototype;
            IDBFactory.prototype.open = () => { throw new DOMException("not now", "UnknownError"); };
            window.own = client();
            const forgetting = client({ withoutStorage: "forget" });
            const while_broken = [await code(own.report(7)), await code(forgetting.report(7))];
            IDBFactory.prototype.open = open;
            return [...while_broken, hex(await own.report(7)), await own.spent(), Object.keys(localStorage)];
        }"""
    )
    assert said == ["store", "store", first, PLAN.mechanism.epsilon, ["localdp/place"]]


def test_tabs_that_answer_a_study_at_the_same_time_are_one_device(context, server):
    tabs = [opened(context, server) for _ in range(3)]
    for tab in tabs:
        tab.evaluate(f"() => {{ {STUDY} }}")
        tab.evaluate("() => { window.done = Promise.all([study().sendOnce(answers), study().sendOnce({})]); }")
    for tab in tabs:
        tab.evaluate("() => done.then(() => null)")
    sent = [one for tab in tabs for one in tab.evaluate("() => sent")]
    assert len(set(sent)) == 1
    assert tabs[0].evaluate("async () => [await study().spent() === study().epsilon, await study().answered()]") == [
        True,
        True,
    ]


@pytest.mark.slow
def test_a_browser_that_is_killed_after_an_answer_in_a_study_gives_no_second_one(playwright, server, tmp_path):
    with browser_of(playwright, tmp_path / "profile") as context:
        page = opened(context, server)
        page.evaluate(f"() => {{ {STUDY} }}")
        released = page.evaluate("async () => hex(await study().report(answers))")
        kill(tmp_path / "profile")
    with browser_of(playwright, tmp_path / "profile") as context:
        page = opened(context, server)
        page.evaluate(f"() => {{ {STUDY} }}")
        assert page.evaluate("() => study().spent()") == page.evaluate("() => study().epsilon")
        assert page.evaluate("async () => hex(await study().report({}))") == released


@pytest.mark.slow
def test_a_study_is_not_answered_where_storage_is_blocked(playwright, server, tmp_path):
    with browser_of(playwright, tmp_path / "profile", BLOCKED) as context:
        page = opened(context, server)
        page.evaluate(f"() => {{ {STUDY} }}")
        assert page.evaluate("() => code(study().sendOnce(answers))") == "storage-blocked"
        assert page.evaluate("() => sent") == []
