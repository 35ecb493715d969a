"""The element that asks: what was chosen is what is reported, for every kind of question, and a no is remembered."""

from __future__ import annotations

import json

import pytest
from js.chromium import needs_chromium, opened, site

import localdp as ldp

pytestmark = needs_chromium

DRINKS = ["tea", "coffee", "milk"]
MANY = [f"dish {number}" for number in range(20)]


def _plan(*given, **options):
    return ldp.Plan(*given, mechanism="grr", epsilon=1.0, **options)


# What is asked, how a visitor answers it (the role, the name and the value of a control), and what is then reported.
KINDS = {
    "one": (_plan(DRINKS), [("radio", "coffee", None)], "coffee"),
    "one of many": (_plan(MANY), [("combobox", "What?", "dish 7")], "dish 7"),
    "several": (_plan(DRINKS, set_size=2), [("checkbox", "tea", None), ("checkbox", "milk", None)], ["tea", "milk"]),
    "none of several": (_plan(DRINKS, set_size=2), [], []),
    "a rating": (_plan(ldp.Scale(1, 5)), [("radio", "4", None)], 4),
    "a number": (_plan(ldp.Scale(0, 100)), [("spinbutton", "What?", "37")], 37),
    "no number": (_plan(ldp.Scale(1, 5, other="no answer")), [("radio", "no answer", None)], None),
}


def _asked(page, server, document, plan=None, own="What?"):
    """A page with the element, which asks what this document says."""
    address = f"{server.url}/v1/plans/{'x' if plan is None else plan.fingerprint}"
    server.modules["/v1/plans/x/document"] = document
    page.evaluate(
        """async ([address, own]) => {
            await import("/js/src/question/question.js");
            document.body.innerHTML = `<main><localdp-question plan="${address}">${own}</localdp-question></main>`;
            window.element = document.querySelector("localdp-question");
        }""",
        [address, own],
    )
    page.locator("localdp-question button, localdp-question p").first.wait_for(state="attached")


def _answered(page, clicks):
    for role, name, value in clicks:
        control = page.get_by_role(role, name=name, exact=True)
        if value is None:
            control.check()
        elif role == "combobox":
            control.select_option(label=value)
        else:
            control.fill(value)
    page.get_by_role("button", name="Send").click()


@pytest.mark.parametrize("kind", KINDS)
def test_the_element_reports_what_was_chosen(context, kind):
    """Another value than the one that was sent would have another payment."""
    plan, clicks, value = KINDS[kind]
    with site(plan) as server:
        page = opened(context, server)
        _asked(page, server, "", plan)
        _answered(page, clicks)
        page.get_by_text("Thank you. Your blurred answer was sent.").wait_for()
        ((_, body),) = server.uploads
        again = page.evaluate(
            "async (value) => [hex(await element.client.report(value)), await element.client.spent()]", value
        )
        assert again == [body.hex(), plan.mechanism.epsilon]
        page.reload()
        assert page.complaints == []


def test_the_element_asks_several_questions_at_once(context, server):
    form = ldp.Questionnaire({"diet": ldp.Choice(DRINKS), "age": ldp.Scale(0, 100)}, epsilon=1.0).to_json()
    server.answers = [201]
    page = opened(context, server)
    _asked(page, server, form)
    _answered(page, [("radio", "milk", None), ("spinbutton", "age", "37")])
    page.get_by_text("Thank you").wait_for()
    ((_, body),) = server.uploads
    again = page.evaluate("async () => hex(await element.client.report({ diet: 'milk', age: 37 }))")
    assert again == body.hex()
    assert page.complaints == []


def _worded(server, fingerprint, **changed):
    given = {"version": 3, "question": "", "labels": {"coffee": "Coffee, hot", "diet": "Your diet"}, **changed}
    server.modules[f"/v1/studies/{fingerprint}/wording"] = json.dumps(given)


@pytest.mark.parametrize(
    ("own", "asked", "heading", "told"),
    [
        ("What?", "", "What?", "3"),
        ("", "What do you drink?", "What do you drink?", "3"),
        ("Was trinken Sie?", "What do you drink?", "Was trinken Sie?", None),  # in words that the version does not have
        ("What?", "What?", "What?", "3"),
    ],
)
def test_people_read_the_wording_of_the_collection_and_its_version_is_told(context, own, asked, heading, told):
    plan = _plan(DRINKS)
    with site(plan) as server:
        _worded(server, plan.fingerprint, question=asked)
        page = opened(context, server)
        _asked(page, server, "", plan, own)
        page.get_by_text(heading, exact=True).wait_for()
        assert page.locator("label").all_inner_texts() == ["tea", "Coffee, hot", "milk"]
        _answered(page, [("radio", "Coffee, hot", None)])
        page.get_by_text("Thank you. Your blurred answer was sent.").wait_for()
        ((_, body),) = server.uploads
        assert page.evaluate("async () => hex(await element.client.report('coffee'))") == body.hex()
        assert server.headers_seen[-1].get("Wording") == told
        learnt = page.evaluate("async () => (await element.client.learnt()).answers.map(({ title }) => title)")
        assert learnt == [heading]
        assert page.complaints == []


def test_a_label_is_text_and_never_markup(context):
    plan = _plan(DRINKS)
    with site(plan) as server:
        _worded(server, plan.fingerprint, question="<b>x</b>", labels={"tea": "<img src=x onerror=alert(1)>"})
        page = opened(context, server)
        _asked(page, server, "", plan, "")
        assert page.locator("localdp-question img, localdp-question b").count() == 0
        assert page.locator("label").first.inner_text() == "<img src=x onerror=alert(1)>"


def test_questions_of_a_form_have_labels_too(context, server):
    study = ldp.Questionnaire({"diet": ldp.Choice(DRINKS), "age": ldp.Scale(0, 100)}, epsilon=1.0)
    _worded(server, study.fingerprint)
    server.answers = [201]
    page = opened(context, server)
    _asked(page, server, study.to_json())
    assert page.locator("legend").all_inner_texts() == ["What?", "Your diet"]
    _answered(page, [("radio", "Coffee, hot", None)])
    page.get_by_text("Thank you").wait_for()
    assert server.headers_seen[-1]["Wording"] == "3"
    assert page.complaints == []


def test_a_no_is_remembered(context, server):
    page = opened(context, server)
    _asked(page, server, "", server.plan)
    page.get_by_role("button", name="No, thanks").click()
    page.get_by_text("You will not be asked again").wait_for()
    again = opened(context, server)
    _asked(again, server, "", server.plan)
    again.get_by_text("You will not be asked again").wait_for()
    again.get_by_role("button", name="Ask me after all").click()
    again.get_by_role("button", name="Send").wait_for()
    assert server.uploads == []


def test_a_no_and_its_taking_back_hold_for_every_element_of_the_page(context, server):
    page = opened(context, server)
    _asked(page, server, "", server.plan)
    page.evaluate(
        """() => {
            const more = element.cloneNode();
            const learnt = document.createElement("localdp-learnt");
            learnt.setAttribute("plan", element.getAttribute("plan"));
            element.after(more, learnt);
        }"""
    )
    page.get_by_role("button", name="Send").nth(1).wait_for()
    page.get_by_role("button", name="Never ask me").wait_for()
    page.get_by_role("button", name="No, thanks").first.click()
    page.get_by_role("button", name="Ask me after all").nth(1).wait_for()
    page.get_by_role("button", name="Never ask me").wait_for(state="detached")
    page.get_by_role("button", name="Ask me after all").first.click()
    page.get_by_role("button", name="Send").nth(1).wait_for()
    page.get_by_role("button", name="Never ask me").click()
    page.get_by_role("button", name="Ask me after all").nth(1).wait_for()


def test_an_answer_that_the_collector_refuses_is_not_called_sent(context, server):
    server.answers = [410]
    page = opened(context, server)
    _asked(page, server, "", server.plan)
    page.get_by_label("What?").select_option(label="7")
    page.get_by_role("button", name="Send").click()
    page.get_by_text("The question cannot be asked at the moment.").wait_for()


def test_an_element_that_cannot_ask_says_so_and_tells_the_page(context, server):
    page = opened(context, server)
    page.evaluate("() => addEventListener('localdp-trouble', ({ detail }) => { window.trouble = detail.code; })")
    _asked(page, server, '{"format":"something else"}')
    page.get_by_text("The question cannot be asked at the moment.").wait_for()
    assert page.evaluate("() => trouble") == "bad-plan"


def test_the_element_sends_its_segment_and_the_panel_follows(context, server):
    page = opened(context, server)
    address = f"{server.url}/v1/plans/{server.plan.fingerprint}"
    page.evaluate(
        """async (address) => {
            await import("/js/src/question/question.js");
            document.body.innerHTML = `<main><localdp-question plan="${address}" segment="2.0">What?</localdp-question>
                <localdp-learnt plan="${address}"></localdp-learnt></main>`;
        }""",
        address,
    )
    page.get_by_text("Nothing was sent from this browser.").wait_for()
    page.get_by_label("What?").select_option(label="7")
    page.get_by_role("button", name="Send").click()
    page.get_by_text("Blurred answers were sent to these questions:").wait_for()
    assert server.headers_seen[-1]["Segment"] == "2.0"
    assert page.complaints == []


def test_people_who_have_answered_nothing_are_asked_once_more(context, server):
    form = ldp.Questionnaire({"diet": ldp.Choice(DRINKS), "age": ldp.Scale(0, 100)}, epsilon=1.0).to_json()
    server.answers = [201]
    page = opened(context, server)
    _asked(page, server, form)
    page.get_by_role("button", name="Send").click()
    page.get_by_text("You have not answered.").wait_for()
    assert server.uploads == []
    page.get_by_role("button", name="Send").click()
    page.get_by_text("Thank you").wait_for()
    assert len(server.uploads) == 1
    assert page.complaints == []


def test_an_address_that_is_none_is_explained(context, server):
    page = opened(context, server)
    page.evaluate(
        """async () => {
            addEventListener("localdp-trouble", ({ detail }) => { window.trouble = detail.message; });
            await import("/js/src/question/question.js");
            document.body.innerHTML = '<main><localdp-question plan="DIET">What?</localdp-question></main>';
        }"""
    )
    page.get_by_text("The question cannot be asked at the moment.").wait_for()
    assert "is the address of a survey" in page.evaluate("() => trouble")
