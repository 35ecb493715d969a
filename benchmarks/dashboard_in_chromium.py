"""How long the dashboard keeps a page busy with many items.

python benchmarks/dashboard_in_chromium.py             six runs
python benchmarks/dashboard_in_chromium.py --write     the same, written into docs/results/dashboard.md

The browser counts its own long tasks (those of more than 50 milliseconds) while a plan with 41,270 items, as many as
Kosarak has pages, is loaded, searched, scrolled and sorted. The longest of each step is kept, and the processor time of
the page's thread in the whole step: on a busy machine, a task takes longer than it works.
"""

from __future__ import annotations

import argparse
import os
import secrets
import statistics
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


PAGE = ROOT / "docs" / "results" / "dashboard.md"
BEGIN, END = "<!-- figures of benchmarks/dashboard_in_chromium.py -->", "<!-- end of the figures -->"
SHORTEST = 50
"""Milliseconds: shorter tasks are not reported by the browser."""
STEPS = {
    "load": "load",
    "search": "search, nine keys",
    "scroll": "scroll, sixty jumps over the whole list",
    "sort": "sort by name",
}
Found = dict[str, tuple[float, float]]


def one_run(chromium, collector, fingerprint: str) -> Found:
    """For each step: its longest task and the processor time of all its tasks, in milliseconds."""
    found: Found = {}
    context = chromium.new_context()
    page = context.new_page()
    page.set_default_timeout(300_000)
    page.add_init_script(OBSERVE)
    session = context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    before = 0.0

    def step(name: str) -> None:
        nonlocal before
        page.wait_for_timeout(400)
        longest = page.evaluate("() => { const found = longest; longest = 0; return found; }")
        metrics = {one["name"]: one["value"] for one in session.send("Performance.getMetrics")["metrics"]}
        found[name] = longest, 1_000 * (metrics["TaskDuration"] - before)
        before = metrics["TaskDuration"]
        print(f"  {name:8s} longest task {longest:4.0f} ms, processor time of all tasks {found[name][1]:5.0f} ms")

    page.goto(f"{collector.url}/#/plan/{fingerprint[:16]}")
    page.get_by_label("Token").fill(collector.tokens["read"])
    page.keyboard.press("Enter")
    page.locator(".rows .row").first.wait_for()
    page.locator(".curve").wait_for()
    step("load")
    page.get_by_label("Search answers").press_sequentially("/page/412", delay=120)
    page.get_by_text("of 41,270 answers match").wait_for()
    step("search")
    page.get_by_label("Search answers").fill("")
    page.get_by_text("41,270 answers. Intervals hold").wait_for()
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
    context.close()
    return found


def shown(runs: list[Found], busy: float) -> str:
    """The table."""

    def task(milliseconds: float) -> str:
        return f"{milliseconds:.0f} ms" if milliseconds >= SHORTEST else f"below {SHORTEST} ms"

    lines = [
        f"{len(runs)} runs on {os.cpu_count()} processors, with a load of {busy:.1f} before the start.",
        "",
        "| step | longest task: median | worst of all runs | processor time of the step: median |",
        "|---|---|---|---|",
    ]
    for name, said in STEPS.items():
        longest, worked = ([run[name][side] for run in runs] for side in (0, 1))
        cells = task(statistics.median(longest)), task(max(longest)), f"{statistics.median(worked):.0f} ms"
        lines.append(f"| {said} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Measure, and print or write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=6)
    parser.add_argument("--write", action="store_true", help=f"write the table into {PAGE.name}")
    asked = parser.parse_args()
    if EXECUTABLE is None or not HAS_PLAYWRIGHT:
        sys.exit("this needs Chromium and the Python package playwright")
    busy = os.getloadavg()[0]
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
            table = shown([one_run(chromium, collector, plan.fingerprint) for _ in range(asked.runs)], busy)
    print(table)
    if asked.write:
        text = PAGE.read_text("utf-8")
        head, tail = text.split(BEGIN)[0], text.split(END)[1]
        PAGE.write_text(f"{head}{BEGIN}\n{table}\n{END}{tail}", "utf-8")


if __name__ == "__main__":
    main()
