"""Web pages: everything is escaped, nothing comes from outside, and a missing package is named."""

from __future__ import annotations

import base64
import json
import sys
from dataclasses import asdict

import jinja2
import pytest
from paths import DOCS

from localdp import datasets, plots
from localdp.errors import MissingPackageError
from localdp.experiments import output, webpage
from localdp.experiments.claims import claims
from localdp.experiments.results import Results

EVIL = """<img src=x onerror="alert('1')">"""
ESCAPED = "&lt;img src=x onerror=&#34;alert(&#39;1&#39;)&#34;&gt;"


def _table(head, rows, numbers=0):
    return str(webpage.environment().get_template("parts.html.jinja").module.table(head, rows, numbers))


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("plain & simple", "plain &amp; simple"),
        ("run `localdp <demo>` now", "run <code>localdp &lt;demo&gt;</code> now"),
        ("`one` and `two`", "<code>one</code> and <code>two</code>"),
        (EVIL, ESCAPED),
        (f"`{EVIL}`", f"<code>{ESCAPED}</code>"),
    ],
)
def test_backticks_become_code_and_everything_else_is_escaped(text, html):
    assert webpage.code(text) == html


def test_a_table_aligns_its_last_columns_as_numbers():
    assert _table(("name", "n"), [("a", "1"), ("b", "2")], numbers=1) == (
        '<div class="wide"><table>\n<thead><tr><th>name</th><th class="number">n</th></tr></thead>\n<tbody>\n'
        '<tr><td>a</td><td class="number">1</td></tr>\n<tr><td>b</td><td class="number">2</td></tr>\n'
        "</tbody></table></div>\n"
    )


def test_a_table_without_any_head_has_no_head():
    assert "<th" not in _table(("", ""), [("a", "1")])


@pytest.mark.parametrize("place", ["title", "introduction", "tables", "pictures", "commands"])
def test_nothing_in_a_page_is_markup(place):
    content = {"title": "t", "introduction": [], "tables": [], "pictures": [], "commands": []}
    content[place] = {
        "title": EVIL,
        "introduction": [EVIL],
        "tables": [{"title": EVIL, "head": (EVIL, EVIL), "rows": [(EVIL, EVIL)]}],
        "pictures": [webpage.Picture(EVIL, "data:image/png;base64,AAAA")],
        "commands": [EVIL],
    }[place]
    page = webpage.render("demo.html.jinja", **content)
    assert ESCAPED in page
    assert "<img src=x" not in page


def test_a_picture_is_a_png_inside_the_page():
    figure = plots.figure()
    drawn = webpage.picture(webpage.as_png(figure), "empty")
    kind, _, data = drawn.source.partition(",")
    assert kind == "data:image/png;base64"
    assert base64.b64decode(data, validate=True).startswith(b"\x89PNG")


def test_content_that_is_missing_is_an_error_and_not_an_empty_place():
    with pytest.raises(jinja2.UndefinedError, match="'introduction' is undefined"):
        webpage.render("demo.html.jinja", title="t")


def test_without_jinja2_it_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    webpage.environment.cache_clear()
    with pytest.raises(MissingPackageError, match=r"jinja2: pip install jinja2"):
        webpage.environment()


def test_the_committed_reproduction_is_what_its_results_give():
    folder = DOCS / "reproduction"
    document = json.loads((folder / "results.json").read_text("utf-8"))
    data = [datasets.load("retail"), datasets.load("kosarak")]
    results = Results.from_json(document["means"])
    found = {each.label: list(claims(results, each)) for each in data}
    advice = "run: python docs/generate_reproduction.py"
    shown = {label: json.loads(json.dumps([asdict(claim) for claim in made])) for label, made in found.items()}
    assert document["claims"] == shown, advice
    text = output.markdown(results, found, data, document["trials"], document["command"])
    assert (folder / "report.md").read_text("utf-8") == text, advice
