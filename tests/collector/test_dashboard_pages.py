"""Every page of the dashboard for every kind of survey: on all screens, for everybody, and with the keyboard alone."""

from __future__ import annotations

import re

import pytest
from every_kind import DIETS, LONG, fill
from js.chromium import needs_chromium
from running import running
from visiting import findings, go, settled, unreached

pytestmark = needs_chromium
# Every width, and both schemes on narrow and on wider screens: colours do not depend on the width.
SCREENS = [(360, "light"), (360, "dark"), (768, "dark"), (1280, "light")]


# What of the ranked list is beyond its edge, or is cut without a button that shows it whole.
CUT = """() => [...document.querySelectorAll(".ranking .row > *")].filter((one) => {
    const beyond = one.getBoundingClientRect().right > one.closest(".ranking").getBoundingClientRect().right;
    const short = one.matches(".item") && one.scrollHeight > one.clientHeight + 2 && !one.querySelector("button");
    return one.checkVisibility() && (beyond || short);
}).map((one) => `cut: ${one.textContent}`)"""


@pytest.fixture(scope="module")
def collector(tmp_path_factory):
    with running(tmp_path_factory.mktemp("pages") / "x.db") as started:
        started.places = fill(started)
        yield started


def pages(places):
    """The address of every page: those of every kind of survey, and those of all surveys together."""
    about = {"choice": ("send", "settings", "report"), "forged": ("uploads",), "scale": ("report",)}
    about |= dict.fromkeys(("questionnaire", "discovery, done", "sets"), ("send", "settings", "report"))
    of_surveys = [f"{places[name]}/{page}" for name, some in about.items() for page in some]
    return ["#/", "#/new", "#/tokens", "#/help/epsilon", *places.values(), *of_surveys]


@pytest.mark.slow
@pytest.mark.parametrize(("width", "scheme"), SCREENS)
def test_every_page_fits_the_screen_and_can_be_read_by_everybody(collector, visit, width, scheme):
    page = visit(viewport={"width": width, "height": 800}, color_scheme=scheme, reduced_motion="reduce")
    settled(page)
    page.expected.append("409")  # the report of a survey that is not done says so
    found = {}
    for place in pages(collector.places):
        go(page, place)
        page.evaluate("for (const one of document.querySelectorAll('main details')) one.open = true")
        wide = [] if page.evaluate("document.documentElement.scrollWidth <= innerWidth") else ["too wide"]
        found[place] = [*wide, *page.evaluate(CUT), *findings(page)]
    assert {place: some for place, some in found.items() if some} == {}


@pytest.mark.slow
def test_every_page_can_be_used_with_the_keyboard_alone(collector, visit):
    page = visit(viewport={"width": 1280, "height": 800}, reduced_motion="reduce")
    settled(page)
    page.expected.append("409")
    found = {}
    for place in pages(collector.places):
        go(page, place)
        found[place] = unreached(page)
    assert {place: some for place, some in found.items() if some} == {}


def test_the_list_has_every_kind_and_its_state(collector, visit):
    page = visit()
    listed = page.locator("a.plan")
    listed.first.wait_for()
    found = dict(zip(page.locator("a.plan .name").all_inner_texts(), listed.all_inner_texts(), strict=True))
    assert len(found) == len(collector.places)
    for name, words in {
        "Drinks": ("open", "One of a list", "7 answers"),
        "Pages": ("Several of a list",),
        "Minutes": ("A rating or a number", "3,000 reports"),
        "Recipes": ("Several questions", "9,000 reports"),
        "Search words": ("open", "Short text", "round 2"),
        "Words that were found": ("done", "all rounds over"),
        "Baskets": ("Several of a list, in rounds", "round 2"),
    }.items():
        assert all(word in re.sub(r"\s+", " ", found[name]) for word in words), found[name]
    assert {one.get_attribute("href") for one in listed.all()} == set(collector.places.values())
    page.get_by_label("Kind").select_option("Short text")
    assert page.locator("a.plan .name").all_inner_texts() == ["Words that were found", "Search words"]
    page.get_by_label("State").select_option("done")
    assert page.locator("a.plan .name").all_inner_texts() == ["Words that were found"]
    page.get_by_label("Search surveys").fill("nothing like it")
    page.get_by_text("No survey matches.").wait_for()


def test_rounds_under_way_say_what_was_found_and_can_be_ended(collector, visit):
    page = visit(path=f"/{collector.places['sets']}")
    page.get_by_text("The first rounds show nothing by themselves").wait_for()
    assert "2,000 of" in page.locator(".rounds .under").inner_text()
    page.get_by_role("button", name="End this round").click()
    page.locator(".candidates li").first.wait_for()
    assert set(page.locator(".candidates li").all_inner_texts()) <= {"bread", "milk", "rice", "tea", "eggs", "cheese"}
    go(page, collector.places["discovery"])
    page.get_by_role("heading", name="Found so far").wait_for()
    assert page.locator(".answers .item").count() >= 1
    go(page, collector.places["discovery, done"])
    page.get_by_role("heading", name="What was found").wait_for()
    shares = dict(
        zip(
            page.locator(".answers .item").all_inner_texts(),
            page.locator(".answers .share").all_inner_texts(),
            strict=True,
        )
    )
    # The share of 6,000 answers at epsilon 4 is known to 1%: ten standard errors.
    assert abs(float(shares[next(name for name in shares if name.startswith("1984"))].strip("%")) - 50) < 10
    assert any(name.startswith("everybody else") for name in shares)
    go(page, f"{collector.places['discovery, done']}/send")
    page.get_by_text("This survey takes no more reports.").wait_for()


def test_uploads_that_look_forged_are_taken_in_and_left_out_again(collector, visit):
    page = visit(path=f"/{collector.places['forged']}/uploads")
    boxes = page.locator("tbody input")
    boxes.first.wait_for()
    assert boxes.count() == 3
    twenty = page.locator("tbody tr", has=page.locator("td", has_text=re.compile("^20$"))).first.locator("input")
    for chosen, button, tile in (
        ("suspect", "Take in", "Look forged40"),
        ("counted", "Leave out", "Left out by hand20"),
    ):
        page.locator(f"input[value={chosen}] + span").click()
        twenty.check()
        page.get_by_role("button", name=button).click()
        page.locator(".tile", has_text=tile).wait_for()  # the page is shown anew
        page.get_by_text("2 uploads.").wait_for()
    page.locator("input[value=taken-back] + span").click()
    page.get_by_text("1 upload.").wait_for()
    state = collector.ask("GET", f"/v1/plans/{collector.places['forged'].split('/')[-1]}").json()
    assert (state["suspect"], state["taken_back"]) == (40, 20)


def test_tokens_are_made_used_and_revoked(collector, visit):
    page = visit(path="/#/tokens")
    page.get_by_label("Who or what it is for").fill("A team <b>")
    page.get_by_role("button", name="Make the token").click()
    token = page.locator(".good code").inner_text()
    assert collector.client.get("/v1/plans", headers={"Authorization": f"Bearer {token}"}).status_code == 200
    row = page.locator("tr", has_text="A team <b>")
    row.get_by_role("button").click()
    row.get_by_role("button", name="Really revoke? A team <b>").click()
    page.get_by_text("Revoked or ended (1)").wait_for()
    assert page.locator(".good code").inner_text() == token  # it is shown once: what else happens does not take it away
    assert collector.client.get("/v1/plans", headers={"Authorization": f"Bearer {token}"}).status_code == 401


HALF_SEEN = """(cells) => cells.filter((one) => one.checkVisibility()
    && (one.scrollHeight > one.parentElement.clientHeight || one.scrollWidth > one.clientWidth))
    .map((one) => one.innerText)"""


def test_no_heading_and_no_number_is_cut_between_a_phone_and_a_desk(collector, visit):
    page = visit(path=f"/{collector.places['choice']}", viewport={"width": 768, "height": 900})
    page.locator(".rows .row").first.wait_for()
    assert page.locator(".rows :is(.share, .interval, .raw), .headings > *").evaluate_all(HALF_SEEN) == []


def test_a_name_that_is_cut_and_a_word_that_is_not_known_can_be_read(collector, visit):
    page = visit(path=f"/{collector.places['choice']}")
    page.locator(".rows").get_by_role("button", name=LONG).click()  # the legend of the history has one, too
    assert page.locator(".whole-name").inner_text() == LONG
    page.get_by_role("button", name="What is: Smallest share seen").click()
    page.get_by_text("stands out of the noise nine times out of ten").wait_for()
    page.keyboard.press("Escape")
    assert page.get_by_role("heading", name="Does what was learnt fit?").count() == 0  # of seven items


def test_an_item_that_was_named_beforehand_has_the_interval_for_that(collector, visit):
    place = collector.places["choice"]
    answer = collector.ask("GET", f"/v1/plans/{place.split('/')[-1]}/estimates").json()
    number = answer["items"]["item"].index("tea")
    low, high = (answer["named"][end][number] for end in ("low", "high"))
    assert (low, high) != (answer["items"]["share_low"][number], answer["items"]["share_high"][number])
    page = visit(path=f"/{place}")
    page.get_by_label("Search answers").fill("tea")
    page.get_by_text("Shares and intervals are those that hold for answers named before looking").wait_for()
    shown = [float(one) / 100 for one in re.findall(r"[\d.]+", page.locator(".rows .interval").inner_text())]
    assert shown == [pytest.approx(low, abs=6e-5), pytest.approx(high, abs=6e-5)]


def test_sets_beyond_the_limit_are_flagged(collector, visit):
    page = visit(path=f"/{collector.places['sets of a plan']}")
    page.get_by_text("some of them probably hold more").wait_for()


def test_some_days_can_be_chosen(collector, visit):
    place = collector.places["choice"]
    day = collector.ask("GET", f"/v1/plans/{place.split('/')[-1]}").json()["last_day"]
    page = visit(path=f"/{place}")
    page.get_by_text("Estimated from 21,840 reports").wait_for()
    page.get_by_text("Only some days").click()
    page.get_by_label("From day").fill(day)
    page.get_by_text("Estimated from 1,160 reports").wait_for()


def test_answers_that_people_give_are_read_in_the_report(collector, visit):
    page = visit(path=f"/{collector.places['questionnaire']}/report")
    page.get_by_role("heading", name="diet", exact=True).wait_for()
    assert set(DIETS) <= set(page.locator(".report th[scope=row]").all_inner_texts())
    page.emulate_media(media="print")
    assert page.get_by_role("heading", name="How to read this").is_visible()
    assert not page.get_by_role("button", name="Print").is_visible()
    assert not page.get_by_label("Pages of this survey").is_visible()
