"""How long the dashboard keeps a page busy with many items: `python benchmarks/dashboard_in_chromium.py`.

The browser counts its own long tasks (those of more than 50 milliseconds) while a plan with 41,270 items, as many as
Kosarak has pages, is loaded, searched, scrolled and sorted. The longest of each step is printed, and the
processor time of the page's thread in the whole step: on a busy machine, a task takes longer than it works.
"""

from __future__ import annotations

import secrets
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "collector")]

import numpy as np  # noqa: E402
from js.chromium import EXECUTABLE, HAS_PLAYWRIGHT, browser, driver  # noqa: E402
from running import running  # noqa: E402

ITEMS = 41_270
OBSERVE = """window.longest = 0;
new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) longest = Math.max(longest, duration);
}).observe({ type: "longtask" });"""


def main() -> None:
    if EXECUTABLE is None or not HAS_PLAYWRIGHT:
        sys.exit("this needs Chromium and the Python package playwright")
    with tempfile.TemporaryDirectory() as folder, running(Path(folder) / "x.db") as collector:
        plan = collector.collection(items=[f"/page/{number}" for number in range(ITEMS)], mechanism="auto")
        weights = 1 / np.arange(1.0, ITEMS + 1)
        held = np.random.default_rng(1).multinomial(300_000, weights / weights.sum())
        body = plan.simulate(held, seed=1).to_bytes()
        path = f"/v1/plans/{plan.fingerprint}"
        made = collector.ask("POST", f"{path}/aggregates", content=body, headers={"Upload-Id": secrets.token_hex(16)})
        assert made.status_code == 201, made.text
        collector.client.timeout = 300
        size = len(collector.ask("GET", f"{path}/estimates").content)
        print(f"{ITEMS:,} items, {size / 1e6:.1f} MB of JSON")
        with driver() as playwright, browser(playwright) as chromium:
            page = chromium.new_page()
            page.set_default_timeout(300_000)
            page.add_init_script(OBSERVE)
            session = page.context.new_cdp_session(page)
            session.send("Performance.enable", {"timeDomain": "threadTicks"})

            def step(name: str, spent: list[float] = [0.0]) -> None:  # noqa: B006
                page.wait_for_timeout(400)
                longest = page.evaluate("() => { const found = longest; longest = 0; return found; }")
                metrics = {one["name"]: one["value"] for one in session.send("Performance.getMetrics")["metrics"]}
                used, spent[0] = 1_000 * (metrics["TaskDuration"] - spent[0]), metrics["TaskDuration"]
                print(f"  {name:8s} longest task {longest:4.0f} ms, processor time of all tasks {used:5.0f} ms")

            page.goto(f"{collector.url}/#/plan/{plan.fingerprint[:16]}")
            page.get_by_label("Token").fill(collector.tokens["read"])
            page.keyboard.press("Enter")
            page.locator(".rows .row").first.wait_for()
            page.locator(".curve").wait_for()
            step("load")
            page.get_by_label("Search items").press_sequentially("/page/412", delay=120)
            page.get_by_text("of 41,270 items match").wait_for()
            step("search")
            page.get_by_label("Search items").fill("")
            page.get_by_text("41,270 items.", exact=True).wait_for()
            page.evaluate(
                """async () => {
                    const view = document.querySelector(".view");
                    for (let step = 0; step < 60; step += 1) {
                        view.scrollTop = view.scrollHeight * step / 60;
                        await new Promise(requestAnimationFrame);
                    }
                }"""
            )
            step("scroll")
            page.get_by_label("Sort by").select_option("name")
            step("sort")
            print(f"  elements in the list: {page.locator('.rows .row').count()}")


if __name__ == "__main__":
    main()
