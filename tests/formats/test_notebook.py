"""How results look in a notebook: in a real kernel, with hostile labels, short, and without requests elsewhere."""

from __future__ import annotations

import base64
import re
import sys
from html.parser import HTMLParser

import nbformat
import numpy as np
import pytest
from nbclient import NotebookClient

import localdp as ldp
from localdp.table import Table

HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(2)>',
    "<!-- ",
    "</td></table>",
    "$x$ & \\(y\\)",
    "a\u202eb\x00\x1b[2J",
    "水 お茶 🍵",
    "'; DROP TABLE reports; --",
]
ALLOWED = {"div", "table", "thead", "tbody", "tr", "th", "td"}


class Page(HTMLParser):
    """The tags, attributes and texts of a page; every tag must be closed in order."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.names, self.texts = [], set(), set(), []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.tags.add(tag)
        self.names |= {name for name, _ in attrs}

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_comment(self, data):
        raise AssertionError(f"a comment: {data}")

    def handle_data(self, data):
        self.texts.append(data)


def _results(items, frequencies):
    plan = ldp.Plan(items, mechanism="oue", epsilon=3.0, other=None)
    estimate = plan.simulate(frequencies, seed=1).estimate()
    calibrated = estimate.calibrate("power-law")
    return {
        "Plan": plan,
        "Estimate": estimate,
        "Combined": estimate.combine(np.arange(len(items)) + 1),
        "Calibrated": calibrated,
        "zeroed": calibrated.zeroed(),
        "HeavyHitters": calibrated.heavy_hitters(0),
        "top": calibrated.top(len(items)),
        "Table": estimate.table(),
        "comparison": estimate.compare("power-law"),
        "groups": calibrated.group({label: [label] for label in items}),
    }


HOSTILE_RESULTS = _results(HOSTILE, [900, 800, 700, 600, 500, 400, 300, 200])


@pytest.mark.parametrize("kind", HOSTILE_RESULTS)
def test_hostile_labels_stay_text(kind):
    text = HOSTILE_RESULTS[kind]._repr_html_()
    page = Page(text)
    assert page.tags <= ALLOWED
    assert page.names <= {"class", "dir", "style"}
    assert not re.search(r"url\(|https?:|@import", text)
    assert "\x00" not in text
    assert "\u202e" not in text
    assert any("<script>alert(1)</script>" in shown for shown in page.texts)


@pytest.mark.parametrize("kind", HOSTILE_RESULTS)
def test_formulas_are_not_typeset(kind):
    assert HOSTILE_RESULTS[kind]._repr_html_().startswith('<div class="localdp tex2jax_ignore mathjax_ignore"')


@pytest.mark.parametrize("kind", HOSTILE_RESULTS)
def test_colours_are_those_of_the_page(kind):
    text = HOSTILE_RESULTS[kind]._repr_html_()
    assert set(re.findall(r"(?:color|background):\s*([^;\"]+)", text)) <= {"inherit", "transparent"}


def test_long_results_are_cut_and_say_how_much_is_missing():
    estimate = ldp.Estimate(np.arange(41_260.0), n=900_000_000, variance=4.0)
    texts = Page(estimate._repr_html_()).texts
    assert "… 41,250 more" in texts
    assert texts[texts.index("41259") + 1] == "41,259"
    assert sum(text.startswith("412") for text in texts) == 1 + 10 - 1  # 41250 to 41258, and 41259
    table = Page(estimate.table()._repr_html_()).texts
    assert "… 41,250 more" in table
    assert table[table.index("item") + 5 : table.index("item") + 7] == ["0", "0"]
    assert len(estimate._repr_html_()) < 20_000


def test_short_results_are_whole():
    assert not any("more" in text for text in Page(HOSTILE_RESULTS["Estimate"]._repr_html_()).texts)
    assert "… 1 more" in Page(Table({"k": np.arange(11)})._repr_html_()).texts
    assert not any("more" in text for text in Page(Table({"k": np.arange(10)})._repr_html_()).texts)


def test_an_empty_list_of_hitters_can_be_shown():
    nobody = HOSTILE_RESULTS["Calibrated"].heavy_hitters(10**9)
    assert any(text.startswith("0 items estimated") for text in Page(nobody._repr_html_()).texts)


def test_doubts_are_shown():
    doubtful = ldp.Estimate([500.0, 400.0, 300.0], n=10, variance=1.0)
    shown = Page(doubtful._repr_html_()).texts
    assert any("which noise hardly explains" in text for text in shown)


def test_a_plan_shows_its_parts():
    plan = ldp.Plan([f"item {place}" for place in range(1_234)], "oue", 1.5, other="something else")
    shown = " ".join(Page(plan._repr_html_()).texts)
    for part in ("1,235: item 0, item 1", "… 1,230 more", "something else", "oue", "1.5", plan.fingerprint):
        assert part in shown


CELLS = [
    "import localdp as ldp\nplan = ldp.Plan(['<b>tea</b>', 'milk', '水'], epsilon=2.0)\nplan",
    "estimate = plan.simulate([600, 300, 100], seed=1).estimate()\nestimate",
    "calibrated = estimate.calibrate()\ncalibrated",
    "calibrated.top(2)",
    "estimate.compare()",
    "print(calibrated.to_pandas().columns.tolist())",
    """from IPython.core.completer import provisionalcompleter
with provisionalcompleter():
    print([found.text for found in get_ipython().Completer.completions("ldp.", 4)])""",
    "import sys\nprint(sys.executable)",
    "ldp.plots.plot_estimates(calibrated)",
    "ldp.plots.figure_of(ldp.plots.plot_prior(calibrated))",
    "%matplotlib inline\nldp.plots.plot_calibration(calibrated)",
]


@pytest.fixture(scope="module")
def notebook():
    """A notebook with these cells, run in a kernel of this Python."""
    cells = [nbformat.v4.new_code_cell(cell) for cell in CELLS]
    made = nbformat.v4.new_notebook(cells=cells)
    made.metadata["kernelspec"] = {"name": "python3", "display_name": "python", "language": "python"}
    client = NotebookClient(made, timeout=120, kernel_name="python3", resources={"metadata": {"path": "."}})
    return client.execute()


@pytest.mark.parametrize("cell", range(5))
def test_a_kernel_shows_results_as_tables(notebook, cell):
    (output,) = notebook.cells[cell].outputs
    page = Page(output["data"]["text/html"])
    assert "table" in page.tags
    assert page.tags <= ALLOWED
    assert any("<b>tea</b>" in text for text in page.texts)
    assert output["data"]["text/plain"]  # for terminals, and for pages that show no HTML


def test_the_kernel_is_this_python(notebook):
    assert notebook.cells[7].outputs[0]["text"].strip() == sys.executable


@pytest.mark.parametrize("cell", [8, 9, 10])
def test_a_kernel_shows_pictures_once(notebook, cell):
    (output,) = notebook.cells[cell].outputs
    image = base64.b64decode(output["data"]["image/png"])
    assert image.startswith(b"\x89PNG")
    assert len(image) > 5_000
    assert output["metadata"]["image/png"]["width"] == 672


def test_a_kernel_converts_and_completes(notebook):
    converted, completed = (notebook.cells[place].outputs[0]["text"] for place in (5, 6))
    assert converted.strip() == "['item', 'frequency', 'share', 'low', 'high']"
    found = {name.removeprefix(".") for name in eval(completed)}  # noqa: S307 (a list that we printed)
    assert {"Plan", "Estimate", "metrics", "PowerLaw"} <= found
    assert {name for name in found if not name.startswith("_")} == set(ldp.__all__)
