"""The page to play with, in a real Chromium: sliders move bars and ranges, and its estimate is the one it describes."""

from __future__ import annotations

import functools
import http.server
import importlib.util
import math
import threading

import numpy as np
import pytest
from js.chromium import browser, driver, needs_chromium
from paths import DOCS
from scipy.optimize import brentq

import localdp as ldp

pytestmark = needs_chromium


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    spec = importlib.util.spec_from_file_location("generate_play", DOCS / "generate_play.py")
    play = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(play)
    folder = tmp_path_factory.mktemp("play")
    play.build(folder)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Quiet, directory=folder))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/index.html"
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def chromium():
    with driver() as running, browser(running) as opened:
        yield opened


@pytest.fixture
def page(chromium, address):
    context = chromium.new_context(viewport={"width": 1000, "height": 900})
    opened = context.new_page()
    wrong = []
    opened.on("pageerror", lambda error: wrong.append(str(error)))
    opened.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
    opened.goto(address)
    opened.locator("#chart svg").wait_for()
    yield opened
    context.close()
    assert wrong == []


def _drag(page, name, place):
    """Drag a slider with the mouse to the left end (0), the right end (1), or between."""
    box = page.locator(f"#{name}").bounding_box()
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] / 2, middle)
    page.mouse.down()
    page.mouse.move(box["x"] + 8 + place * (box["width"] - 16), middle, steps=3)
    page.mouse.up()
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0)))")


def _numbers(text):
    return [float(each.rstrip("%").replace("\N{MINUS SIGN}", "-")) / 100 for each in text.split(" to ")]


def _table(page):
    """Of every answer: truth, share of the reports, raw with its range, corrected with its range."""
    rows = page.locator("#figures tr").all()
    cells = [[_numbers(cell) for cell in row.locator("td").all_text_contents()] for row in rows]
    return np.array([[number for cell in row for number in cell] for row in cells])


def _wide(table, kind):
    return float((table[:, kind + 2] - table[:, kind + 1]).mean())


RAW, CORRECTED = 2, 5


def test_more_people_and_a_larger_epsilon_move_the_bars_to_the_truth(page):
    _drag(page, "epsilon", 0)
    _drag(page, "people", 0)
    assert page.locator("#epsilon-said").inner_text() == "0.1"
    assert page.locator("#people-said").inner_text() == "100"
    vague = _table(page)
    _drag(page, "people", 1)
    many = _table(page)
    _drag(page, "epsilon", 1)
    assert page.locator("#epsilon-said").inner_text() == "6"
    exact = _table(page)
    # A thousand times the people: raw ranges are sqrt(1000) times narrower. Ranges depend little on the noise drawn.
    assert _wide(vague, RAW) == pytest.approx(math.sqrt(1_000) * _wide(many, RAW), rel=0.25)
    assert _wide(vague, CORRECTED) > 1.2 * _wide(many, CORRECTED)
    assert _wide(many, CORRECTED) > 5 * _wide(exact, CORRECTED)
    assert np.abs(exact[:, RAW] - exact[:, 0]).max() < 0.01  # ten deviations
    assert np.abs(exact[:, CORRECTED] - exact[:, 0]).max() < 0.01
    for table in (vague, many, exact):
        assert table[:, CORRECTED].sum() == pytest.approx(1, abs=0.004)
        assert table[:, CORRECTED : CORRECTED + 3].min() >= 0
    bars = page.locator("#chart rect.corrected").all()
    drawn = [float(bar.get_attribute("width")) for bar in bars]
    assert drawn[:5] == sorted(drawn[:5], reverse=True)  # 37%, 24%, 19%, 12%, 8%
    assert drawn[0] / drawn[1] == pytest.approx(37 / 24, rel=0.05)


def test_sliders_work_with_the_keyboard_and_say_their_value(page):
    slider = page.locator("#epsilon")
    slider.focus()
    page.keyboard.press("End")
    assert slider.get_attribute("aria-valuetext") == "6"
    page.keyboard.press("Home")
    assert slider.get_attribute("aria-valuetext") == "0.1"


def test_what_one_report_gives_away_grows_with_epsilon(page):
    assert "35% of the time" in page.locator("#sent").inner_text()
    assert "50:50 becomes at most 73:27" in page.locator("#odds").inner_text()
    assert sorted(float(bar.get_attribute("width")) for bar in page.locator("rect.belief").all())[-2] > 0
    _drag(page, "epsilon", 1)
    assert "99% of the time" in page.locator("#sent").inner_text()
    assert "99.8:0.2" in page.locator("#odds").inner_text()


@pytest.mark.parametrize(("width", "scheme"), [(1200, "light"), (390, "dark")])
def test_everybody_can_use_it(chromium, address, width, scheme):
    from axe_playwright_python.sync_playwright import Axe

    context = chromium.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page = context.new_page()
    page.goto(address)
    page.locator("#chart svg").wait_for()
    page.locator("summary").click()
    assert [each["id"] for each in Axe().run(page).response["violations"]] == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    context.close()


def test_reports_are_those_of_the_plan(page):
    """100,000 real reports at epsilon 1: the share that names each answer is p or q of the Python plan's truth."""
    counts = page.evaluate(
        "async () => { const s = await import('./survey.js'); return s.ask(s.SURVEYS[5], 100_000); }"
    )
    mechanism = ldp.Plan(6, "grr", 1.0).mechanism
    truth = np.array([0.37, 0.24, 0.19, 0.12, 0.08, 0.0])
    chance = mechanism.q_star + (mechanism.p_star - mechanism.q_star) * truth
    spread = np.sqrt(chance * (1 - chance) / 100_000)  # a little too large, since the shares are fixed
    assert sum(counts) == 100_000
    assert (np.abs(np.array(counts) / 100_000 - chance) < 6 * spread).all()  # false alarm: 1e-8


def _brute_force(counts, p, q, steps=400):
    """The posterior of three shares on a grid, with the covariance added up over the people."""
    n, step = sum(counts), p - q
    raw = (np.array(counts) / n - q) / step
    excess = brentq(lambda excess: np.maximum(raw - excess, 0).sum() - 1, raw.min() - 1, raw.max())
    likely = np.maximum(raw - excess, 0)
    covariance = np.zeros((2, 2))
    for held, share in enumerate(likely):
        chance = np.where(np.arange(3) == held, p, q)[:2]
        covariance += share * (np.diag(chance) - np.outer(chance, chance)) / (n * step**2)
    first, second = np.meshgrid(np.arange(steps + 1) / steps, np.arange(steps + 1) / steps, indexing="ij")
    inside = first + second <= 1 + 1e-9
    away = np.stack([first - raw[0], second - raw[1]])
    weights = np.exp(-0.5 * np.einsum("iab,ij,jab->ab", away, np.linalg.inv(covariance), away)) * inside
    weights /= weights.sum()
    return [(weights * share).sum() for share in (first, second, 1 - first - second)]


@pytest.mark.parametrize(("counts", "epsilon"), [((400, 350, 250), 1.0), ((80, 10, 10), 0.5), ((900, 60, 40), 3.0)])
def test_the_correction_is_the_posterior_that_the_page_describes(page, counts, epsilon):
    q = 1 / (math.exp(epsilon) + 2)
    p = math.exp(epsilon) * q
    code = "async ([c, p, q]) => (await import('./estimate.js')).estimate(c, p, q).corrected.map((one) => one.share)"
    found = page.evaluate(code, [list(counts), p, q])
    assert found == pytest.approx(_brute_force(counts, p, q), abs=0.01)  # the sampler is seeded
