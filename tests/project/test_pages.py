"""Links lead somewhere, drawings are those of the library, and a page that shows wrong output fails."""

from __future__ import annotations

import importlib.util
import re

import pytest
from paths import DOCS, ROOT
from shown_output import Noisy, assert_shown


@pytest.mark.parametrize("page", [ROOT / "README.md", ROOT / "CONTRIBUTING.md"], ids=lambda page: page.name)
def test_links_and_pictures_lead_to_files(page):
    text = page.read_text("utf-8")
    targets = re.findall(r"\]\(([^)#\s]+)[^)]*\)|(?:src|srcset)=\"([^\"]+)\"", text)
    local = [link or picture for link, picture in targets if not (link or picture).startswith("http")]
    assert local
    assert [target for target in local if not (ROOT / target).exists()] == []


LINKING = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.glob("*.md")), *sorted(DOCS.glob("*/*.md"))]


def _without_code(page):
    return re.sub(r"```.*?```", "", page.read_text("utf-8"), flags=re.DOTALL)


def _anchors(page):
    """What links to places of a page can name: its headings, in small letters and with hyphens for spaces."""
    headings = re.findall(r"^#+ (.+)$", _without_code(page), re.MULTILINE)
    plain = [re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower() for heading in headings]
    return {re.sub(r"[^\w -]", "", heading).strip().replace(" ", "-") for heading in plain}


def _leading_nowhere(page):
    for path, _, anchor in (link.partition("#") for link in re.findall(r"\]\(([^)\s]+)\)", _without_code(page))):
        target = (page.parent / path).resolve() if path else page
        if not path.startswith(("http", "mailto:")) and (
            not target.exists() or (anchor and target.suffix == ".md" and anchor not in _anchors(target))
        ):
            yield f"{path}#{anchor}"


@pytest.mark.parametrize("page", LINKING, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_between_pages_lead_to_places(page):
    assert list(_leading_nowhere(page)) == []


@pytest.mark.parametrize("link", ["gone.md", "there.md#gone", "#gone"])
def test_a_link_that_leads_nowhere_is_found(tmp_path, link):
    (tmp_path / "there.md").write_text("# There\n\n## The `place`, of it\n")
    page = tmp_path / "page.md"
    page.write_text(f"# Page\n\n[good](there.md#the-place-of-it), [bad]({link})\n")
    assert len(list(_leading_nowhere(page))) == 1


@pytest.mark.parametrize("shape", ["wide", "tall"])
def test_the_path_of_an_answer_is_drawn_from_a_run_of_the_library(shape):
    spec = importlib.util.spec_from_file_location("answer_path", DOCS / "answer_path.py")
    answer_path = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(answer_path)
    drawn = getattr(answer_path, shape)()
    kept = (DOCS / "_static" / f"path-{shape}.svg").read_text("utf-8")
    assert kept == drawn, "run: python docs/generate_pictures.py"


@pytest.mark.parametrize(
    ("printed", "shown"),
    [
        ("tea   6,035\nmilk  -3\n", "tea   6035\nmilk  -3\n"),
        ("[ 76. 423.]\n", "[76. 423.]\n"),
        ("one\ntwo\nthree\n", "one\n...\n"),
    ],
)
def test_output_shown_right_passes(printed, shown):
    assert_shown(printed, shown)


@pytest.mark.parametrize(
    ("printed", "shown", "message"),
    [
        ("tea 6,035\n", "tee 6,035\n", "other words"),
        ("tea 6,035\n", "tea 6,935\n", "other figures"),
        ("tea 6,035\n", "tea 6,036\n", "other figures"),
        ("tea 6,035\nmilk 3\n", "tea 6,035\n", "other words"),
        ("one\ntwo\n", "uno\n...\n", "other words"),
    ],
)
def test_output_shown_wrong_fails(printed, shown, message):
    with pytest.raises(AssertionError, match=message):
        assert_shown(printed, shown)


def test_figures_of_secure_noise_may_differ():
    assert_shown("tea 6,035\n", "tea 5,500\n", figures=False)


def test_noise_is_decided_block_by_block():
    page = Noisy()
    assert not page.block("reports = plan.privatize(values, seed=1)\nprint(reports)")
    assert page.block("secret = plan.privatize(values)\nprint(len(secret))")
    assert not page.block("print(reports)")
    assert page.block("print(secret)")
    assert page.block("total = plan.aggregate(secret)")
    assert page.block("print(total.estimate())")
    assert page.block("kept.add(secret)")
    assert page.block("print(kept)")
    assert page.block("def again():\n    return plan.privatize(values)")
    assert page.block("print(again())")
    assert not page.block("print(plan.simulate(counts, seed=3))")
