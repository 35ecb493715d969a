"""What tests of the dashboard do on its pages."""

from __future__ import annotations

import re


def sign_in(page, token):
    page.get_by_label("Token").fill(token)
    page.keyboard.press("Enter")


def serious(page):
    """What axe-core finds that would keep people from using the page."""
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page).response["violations"]
    return [(one["id"], one["help"], [node["html"] for node in one["nodes"]]) for one in found
            if one["impact"] in ("serious", "critical")]  # fmt: skip


# All rows at once: a moment later the page may put them in another order.
ROWS = """(rows) => rows.map((row) => [row.querySelector(".item").innerText,
    [...row.querySelectorAll(".share, .interval, .raw")].map((one) => one.innerText).join(" ")])"""


def rows(page):
    """The rows that are shown: for each item its share, its interval and its raw share."""
    page.locator(".rows .row").first.wait_for()
    found = page.locator(".rows .row").evaluate_all(ROWS)
    return {item: [float(one) / 100 for one in re.findall(r"(-?[\d.]+)%", said)][:4] for item, said in found}


def findings(page):
    """All that axe-core finds, however minor."""
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page).response["violations"]
    return [(one["id"], [node["html"][:200] for node in one["nodes"]]) for one in found]


def settled(page):
    """Wait until a page has what it shows."""
    page.locator("main h1").first.wait_for()
    page.wait_for_function(
        """() => !document.querySelector("main .loading")
            && !/(Estimating|Comparing|Estimating all periods) …/.test(document.querySelector("main").innerText)"""
    )


# The page before could be taken for the new one until the browser has told of the change.
GO = """(place) => new Promise((gone) => {
    if (location.hash === place) gone();
    addEventListener("hashchange", () => gone(), { once: true });
    location.hash = place;
})"""


def go(page, place):
    """Go to another page of the dashboard, and wait until it has what it shows."""
    page.evaluate(GO, place)
    settled(page)


# What the key Tab should reach, each with a name. A page that follows its survey replaces elements by new ones, whose
# names are the same: what they look like without its numbers, and which of those that look so they are.
TABBABLE = """() => {
    const seen = (one) => one.checkVisibility({ visibilityProperty: true })
        && !one.closest("[popover]:not(:popover-open)");
    const all = document.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex='0']");
    const some = [...all].filter((one) => seen(one) && !one.disabled && one.tabIndex >= 0
        && !(one.type === "radio" && !one.checked));
    const alike = {};
    return new Map(some.map((one) => {
        const said = one.matches("a, button, summary") ? one.textContent.slice(0, 60) : "";
        const look = (/^<[^>]*>/.exec(one.outerHTML)[0] + said).replace(/\\d+/g, "#");
        alike[look] = (alike[look] ?? 0) + 1;
        return [one, `${look} (${alike[look]})`];
    }));
}"""
FOCUSED = f"""() => {{
    const one = document.activeElement;
    const outlined = (some) => some && getComputedStyle(some).outlineStyle !== "none";
    const shown = outlined(one) || outlined(one.nextElementSibling); // a hidden radio button is shown by its label
    return shown ? ({TABBABLE})().get(one) ?? null : null;
}}"""


def unreached(page):
    """What of a page cannot be reached by the key Tab, or does not show that it has the focus."""
    left = dict.fromkeys(page.evaluate(f"() => [...({TABBABLE})().values()]"))
    page.evaluate("document.activeElement.blur(); scrollTo(0, 0)")
    for _ in range(2 * len(left) + 30):
        page.keyboard.press("Tab")
        left.pop(page.evaluate(FOCUSED), None)
        if not left:
            break
    return list(left)
