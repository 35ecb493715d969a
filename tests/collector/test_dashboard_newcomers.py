"""What stops somebody who sees the dashboard for the first time, in a real Chromium, wide and on a phone."""

from __future__ import annotations

import re
import secrets
from functools import partial

import numpy as np
import pytest
from js.chromium import needs_chromium
from running import running
from visiting import findings, settled

from localdp.questionnaires import result as result_module
from localdp.questionnaires.draws import draw
from localdp.studies import study_in

pytestmark = needs_chromium
PHONE = {"viewport": {"width": 360, "height": 800}}
DIETS = ["vegan", "any"]


@pytest.fixture(autouse=True)
def few_draws(monkeypatch):
    """Pages are tested here, not intervals, so a few draws are enough."""
    monkeypatch.setattr(result_module, "draw", partial(draw, draws=20))


@pytest.fixture(scope="module")
def collector(tmp_path_factory):
    with running(tmp_path_factory.mktemp("newcomers") / "x.db") as started:
        yield started


def questionnaire(collector, title, people, **more):
    """A questionnaire about ratings of two diets, where vegans give 5 and the others 2, with so many people a label."""
    asked = {"questions": {"diet": DIETS, "stars": {"low": 1, "high": 5}}, "cross": "all", "epsilon": 4, **more}
    made = collector.ask("POST", "/v1/studies", json={"kind": "questionnaire", "title": title, "name": title, **asked})
    assert made.status_code == 201, made.text
    route = f"/v1/studies/{made.json()['id']}"
    survey = study_in(collector.client.get(f"{route}/document").text)
    for label in more.get("segments", [""]):
        diet = np.repeat(DIETS, people // 2)
        for part, some in survey.privatize({"diet": diet, "stars": np.where(diet == "vegan", 5, 2)}, seed=1):
            headers = {"Upload-Id": secrets.token_hex(16), **({"Segment": label} if label else {})}
            path = f"{route}/parts/{part.fingerprint}/reports"
            assert collector.client.post(path, content=some.to_bytes(), headers=headers).status_code == 201
    return f"#/questionnaire/{made.json()['id']}"


def test_two_ratings_of_the_same_scale_are_two_surveys(collector, visit):
    page = visit(path="/#/new")
    for title in ("Taste", "Effort"):
        page.get_by_role("radio", name="A rating").check()
        page.get_by_label("Title").fill(title)
        page.get_by_role("button", name="Create the survey").click()
        page.get_by_text("Waiting for the first report").wait_for()
        page.goto(f"{collector.url}/#/new")
    made = {one["title"]: one["fingerprint"] for one in collector.ask("GET", "/v1/plans").json()["plans"]}
    assert made["Taste"] != made["Effort"]
    # Programs get what they got: the same plan without a name is the same plan.
    plain = {"kind": "plan", "scale": {"low": 1, "high": 5}, "epsilon": 2}
    first = collector.ask("POST", "/v1/studies", json=plain)
    assert (first.status_code, collector.ask("POST", "/v1/studies", json=plain).status_code) == (201, 200)
    assert "part" not in first.json()["form"]


def test_what_can_never_be_shown_is_said_before_the_survey_is_made(visit):
    page = visit(path="/#/new")
    page.get_by_role("radio", name="Several questions").check()
    for number, name in enumerate(("diet", "stars")):
        page.get_by_label("Short name").nth(number).fill(name)
    page.get_by_label("Answers, one on each line").fill("vegan\nany")
    page.get_by_label("Expected number of people").fill("120")
    page.locator(".advice .warning", has_text="Nothing would ever be shown with 120 people").wait_for()
    page.get_by_label("Expected number of people").fill("100000")
    page.get_by_text("People in each").wait_for()
    page.locator(".advice .warning").wait_for(state="detached")
    page.get_by_text("More options").click()
    page.get_by_label("Segments").fill("1.0, 2.0")
    page.get_by_label("Expected number of people").fill("300")
    said = page.locator(".advice .warning", has_text="2 segments and 2 parts")
    said.wait_for()
    needed = int(re.search(r"about ([\d,]+) people", said.inner_text())[1].replace(",", ""))
    assert needed >= 400  # two segments of two parts of 100 reports, if the parts had equal shares


def test_parts_that_wait_say_how_many_people_are_missing(collector, visit):
    place = questionnaire(collector, "Few", 60, segments=["2.0"], cross=[])
    parts = [one["key"] for one in collector.ask("GET", f"/v1/studies/{place.split('/')[-1]}").json()["parts"]]
    for page in (visit(path=f"/{place}"), visit(path=f"/{place}/report")):
        page.expected.append("409")  # the report asks for the result
        page.get_by_text(re.compile(r"About [\d,]+ more people have to answer")).wait_for()
        assert page.locator(".rounds li").count() == len(parts)
        assert re.search(r"\d+ of 100", page.locator(".rounds").inner_text())
    answer = collector.ask("GET", f"/v1/studies/{place.split('/')[-1]}/result?segment=2.0", "read")
    assert answer.status_code == 409
    reports = re.findall(r"([a-z,]+) (\d+) of 100", answer.json()["detail"])
    assert [name for name, _ in reports] == parts
    assert sum(int(number) for _, number in reports) == 60
    assert "for the label 2.0" in answer.json()["detail"]


def test_a_questionnaire_is_read_by_label_and_by_answer(collector, visit):
    place = questionnaire(collector, "By version", 2_000, segments=["1.0", "2.0"], minimum=50)
    page = visit(path=f"/{place}", **PHONE)
    page.get_by_text("Estimated from 4,000 reports").wait_for()
    page.get_by_role("tab", name="stars", exact=True).click()
    page.get_by_text(re.compile("The median is [2-5]")).wait_for()
    page.get_by_label("Who answered").select_option("diet:vegan")
    page.get_by_text("The median is 5: half of the people").wait_for()
    page.get_by_label("Whose answers").select_option("2.0")
    page.get_by_text("Estimated from 2,000 reports").wait_for()
    assert findings(page) == []
    page.get_by_label("Who answered").select_option("")
    page.get_by_role("tab", name="diet \N{MULTIPLICATION SIGN} stars").click()
    page.get_by_text("Scroll sideways for more").first.wait_for()
    page.goto(f"{collector.url}/{place}/report")
    page.get_by_role("heading", name="diet \N{MULTIPLICATION SIGN} stars").wait_for()
    said = page.locator("main").inner_text()
    assert "The median is" in said
    assert "search for it" not in said
    assert re.search(r"one of each person\. \d+ \w+ \d{4}\.", said)


def test_a_phone_shows_names_tabs_and_buttons(collector, visit):
    plan = collector.collection(items=[f"product {one}" for one in range(1, 41)], mechanism="auto", title="Shop")
    assert (
        collector.upload(plan, plan.privatize(["product 12"] * 900 + ["product 3"] * 100).to_bytes()).status_code == 201
    )
    page = visit(path=f"/#/plan/{plan.fingerprint[:16]}", **PHONE)
    page.locator(".rows .row").first.wait_for()
    cut = "some => some.filter((one) => one.scrollWidth > one.clientWidth).map((one) => one.textContent)"
    assert page.locator(".rows .item").evaluate_all(cut) == []
    inside = "one => { const { left, right } = one.getBoundingClientRect(); return left >= 0 && right <= innerWidth; }"
    for about in ("report", "tokens"):
        page.goto(f"{collector.url}/#/{'tokens' if about == 'tokens' else f'plan/{plan.fingerprint[:16]}/report'}")
        settled(page)
        assert page.get_by_role("button", name="Sign out").evaluate(inside)
        if about == "report":
            page.wait_for_function(
                "() => document.querySelector('.pages [aria-current]').getBoundingClientRect().right <= innerWidth"
            )
        else:
            assert all(one.evaluate(inside) for one in page.get_by_role("button", name=re.compile("^Revoke")).all())


def test_the_axis_of_a_chart_has_whole_numbers(collector, visit):
    made = collector.ask("POST", "/v1/plans", json={"scale": {"low": 1, "high": 5}, "epsilon": 3, "minimum": 1}).json()
    plan = study_in(collector.client.get(f"/v1/plans/{made['fingerprint']}/document").text).plan
    assert collector.upload(plan, plan.privatize([4] * 500 + [5] * 100).to_bytes()).status_code == 201
    page = visit(path=f"/#/plan/{made['short']}")
    page.locator(".distribution svg text").first.wait_for()
    left = "some => Math.min(...some.map((one) => one.getBBox().x))"
    assert page.locator(".distribution svg text").evaluate_all(left) >= 0
    assert "The median is 4: half of the people" in page.locator(".distribution").inner_text()
    seen = page.locator("main").inner_text()
    assert not re.search("mechanism|realised|prior", seen)  # all of that is folded
    page.locator("summary", has_text="For statisticians").last.click()
    assert re.search("mechanism", page.locator("main").inner_text())


def test_a_trial_shows_what_the_made_up_people_answered(collector, visit):
    made = collector.ask("POST", "/v1/studies", json={"kind": "plan", "items": ["tea", "milk"], "epsilon": 2.25}).json()
    trial = collector.ask("POST", f"/v1/studies/{made['id']}/trial", json={}).json()
    page = visit(path=f"/#/plan/{trial['short']}")
    page.expected.append("409")
    page.get_by_role("button", name=re.compile("made-up answers")).click()
    page.get_by_text("Estimated from 500 reports").wait_for()
    page.locator(".rows .truth").first.wait_for()
    truth = page.evaluate("id => JSON.parse(sessionStorage.getItem(`made-up ${id}`))", trial["id"])
    assert truth["people"] == sum(truth["given"][""].values()) == 500
    assert findings(page) == []


def test_two_periods_can_be_chosen_and_the_raw_difference_is_shown(collector, visit):
    plan = collector.collection(items=["tea", "milk", "water"], title="Weeks", epsilon=3.5)
    for day, held in (("2026-01-05", [600, 300, 100]), ("2026-03-05", [300, 600, 100])):
        headers = {"Upload-Id": secrets.token_hex(16)}
        path = f"/v1/plans/{plan.fingerprint}/aggregates?day={day}"
        assert (
            collector.ask("POST", path, content=plan.simulate(held, seed=1).to_bytes(), headers=headers).status_code
            == 201
        )
    page = visit(path=f"/#/plan/{plan.fingerprint[:16]}")
    page.get_by_text("The last two weeks have too few reports").wait_for()
    page.get_by_text("Compare other days").click()
    for name, day in (("First", "2026-01-05"), ("Second", "2026-03-05")):
        for end in ("from", "to"):
            page.get_by_label(f"{name} period, {end}").fill(day)
    said = page.locator(".changing", has_text="The largest raw difference of these")
    said.wait_for()
    assert re.search(r"[23] answers changed", said.inner_text())
    answer = collector.ask("GET", f"/v1/plans/{plan.fingerprint}/difference?before=2026-01-05&after=2026-03-05").json()
    place = answer["items"]["item"].index("milk")
    low, change, high = (answer["raw"][name][place] for name in ("low", "change", "high"))
    assert low < change < high
    assert change == pytest.approx(0.3, abs=0.1)  # four standard errors of it


def test_a_survey_with_a_few_reports_says_how_many_it_waits_for(collector, visit):
    plan = collector.collection(items=["tea", "milk"], title="Few", minimum=100)
    assert collector.upload(plan, plan.privatize(["tea"] * 3).to_bytes()).status_code == 201
    page = visit(path=f"/#/plan/{plan.fingerprint[:16]}")
    page.get_by_text("Waiting for more reports").wait_for()
    said = page.locator("main").inner_text()
    assert "there are 3" in said
    assert "null" not in said


def test_the_threshold_of_popular_answers_follows_the_reports_until_somebody_moves_it(collector, visit):
    plan = collector.collection(items=["tea", "milk", "water"], title="Threshold", epsilon=2.75)
    assert collector.upload(plan, plan.privatize(["tea"] * 5).to_bytes()).status_code == 201
    page = visit(path=f"/#/plan/{plan.fingerprint[:16]}")
    threshold = page.locator(".hitting output")
    page.wait_for_function("() => /people/.test(document.querySelector('.hitting output')?.textContent)")
    early = threshold.inner_text()
    assert collector.upload(plan, plan.privatize(["tea"] * 1_600 + ["milk"] * 400).to_bytes()).status_code == 201
    page.get_by_text("Estimated from 2,005 reports").wait_for()
    page.locator(".hitting li").first.wait_for()
    share = float(re.match(r"[\d.]+", threshold.inner_text())[0])
    assert share < 10 < float(re.match(r"[\d.]+", early)[0])
    page.get_by_label("Threshold").fill("150")
    moved = threshold.inner_text()
    assert collector.upload(plan, plan.privatize(["milk"] * 2_000).to_bytes()).status_code == 201
    page.get_by_text("Estimated from 4,005 reports").wait_for()
    assert threshold.inner_text().split("%")[0] == moved.split("%")[0]
