"""Labels in any script are drawn without a warning (warnings are errors in these tests)."""

from __future__ import annotations

import io

import pytest
from fontTools.fontBuilder import FontBuilder
from fontTools.pens.ttGlyphPen import TTGlyphPen
from matplotlib import font_manager

import localdp as ldp
from localdp import plots
from localdp.plots.fonts import drawable

pytestmark = pytest.mark.usefixtures("only_the_default_font")

LABELS = ["水 tea", "お茶 $5", "🍵", "한국어", "👩‍👩‍👧", "שלום", "\ue000"]


@pytest.fixture
def font_of_water(tmp_path):
    """A font that has the character for water and nothing else; matplotlib knows it during the test."""
    pen = TTGlyphPen(None)
    pen.moveTo((100, 0))
    for point in ((100, 700), (700, 700), (700, 0)):
        pen.lineTo(point)
    pen.closePath()
    builder = FontBuilder(1000, isTTF=True)
    builder.setupGlyphOrder([".notdef", "water"])
    builder.setupCharacterMap({ord("水"): "water"})
    builder.setupGlyf({".notdef": TTGlyphPen(None).glyph(), "water": pen.glyph()})
    builder.setupHorizontalMetrics({".notdef": (800, 0), "water": (800, 100)})
    builder.setupHorizontalHeader(ascent=800, descent=-200)
    builder.setupNameTable({"familyName": "Water Test", "styleName": "Regular"})
    builder.setupOS2()
    builder.setupPost()
    builder.save(tmp_path / "water.ttf")
    before = list(font_manager.fontManager.ttflist)
    font_manager.fontManager.addfont(str(tmp_path / "water.ttf"))
    yield "Water Test"
    font_manager.fontManager.ttflist[:] = before


@pytest.fixture
def only_the_default_font(monkeypatch):
    """A machine with no fonts but those that come with matplotlib."""
    usual = [font for font in font_manager.fontManager.ttflist if font.name.startswith("DejaVu")]
    monkeypatch.setattr(font_manager.fontManager, "ttflist", usual)


def _axes():
    estimate = ldp.Estimate([float(90 - place) for place in range(7)], n=1_000, variance=4.0, domain=LABELS, total=None)
    return plots.plot_estimates(estimate)


def _names(axes):
    return [label.get_text() for label in axes.get_yticklabels()]


@pytest.mark.parametrize("form", ["png", "svg", "pdf"])
def test_labels_that_no_font_has_are_escaped_without_a_warning(form):
    axes = _axes()
    plots.figure_of(axes).savefig(io.BytesIO(), format=form)
    shown = _names(axes)
    assert shown[0] == r"\u6c34 tea"
    assert shown[1] == r"\u304a\u8336 \$5"
    assert shown[2] == r"\U0001f375"
    assert shown[5] == "שלום"
    assert len(set(shown)) == 7


@pytest.mark.parametrize("form", ["png", "svg", "pdf"])
def test_an_installed_font_that_has_the_characters_is_used(font_of_water, form):
    axes = _axes()
    plots.figure_of(axes).savefig(io.BytesIO(), format=form)
    assert _names(axes)[:2] == ["水 tea", r"\u304a\u8336 \$5"]
    assert axes.get_yticklabels()[0].get_fontfamily()[-1] == font_of_water


def test_a_font_added_later_is_found(request):
    assert drawable(["水"]) == ([r"\u6c34"], ["sans-serif"])
    assert drawable(["水"])[0] == [r"\u6c34"]
    family = request.getfixturevalue("font_of_water")
    assert drawable(["水"]) == (["水"], ["sans-serif", family])


def test_a_font_that_cannot_be_read_is_passed_over(font_of_water, tmp_path):
    (tmp_path / "broken.ttf").write_bytes(b"no font")
    entry = font_manager.FontEntry(str(tmp_path / "broken.ttf"), "Noto Sans CJK JP", "normal", "normal", 400, "normal")
    font_manager.fontManager.ttflist.insert(0, entry)
    assert drawable(["水"]) == (["水"], ["sans-serif", font_of_water])
