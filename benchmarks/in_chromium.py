"""Reports a second in Chromium, and for how long a page's thread is busy: `python benchmarks/in_chromium.py`.

Every plan is measured in pages of its own, because the first call is the slowest: nothing is compiled yet then. Reading
the plan, with all its items as texts, is one task of the page's thread, and the first report is another one. Their
times are processor time of that thread, as the kernel counts it (so this needs Linux), because other programs on the
machine would make a task seem longer. A long task is one that took more than 50 milliseconds by the browser's own
clock, in the best of the pages.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).resolve().parents[1] / "tests")]

from js.chromium import EXECUTABLE, HAS_PLAYWRIGHT, browser, driver, opened, site  # noqa: E402

import localdp as ldp  # noqa: E402

SIZES = (100, 1_024, 16_470)
MECHANISMS = ("grr", "oue", "sue", "ss", "olh", "llh", "dbit", "grr+grr", "oue+sue", "oue+oue")
HEADS = ("", "items", "new/s", "again/s", "plan, ms", "first report, ms", "long task, ms")
PREPARE = """async (text) => {
    window.text = text;
    window.bench = await import("/js/bench/client.js");
    window.task = 0;
    window.observer = new PerformanceObserver((list) => {
        for (const { duration } of list.getEntries()) task = Math.max(task, duration);
    });
    observer.observe({ type: "longtask" });
}"""
READ = "() => { window.read = localdp.Plan.parse(text); }"
REPORT = "async () => { await bench.device(read).report(bench.last(read)); }"
TIMES = """async (turn) => {
    await new Promise((resolve) => setTimeout(resolve, 100)); // the observer hears of tasks a little later
    observer.disconnect();
    return { task, ...await bench.times(text, turn) };
}"""


def plan_of(name: str, size: int) -> ldp.Plan:
    """A plan with this mechanism, at epsilon 1; chains have 2, of which one report spends 1."""
    items = [f"product {number}" for number in range(size)]
    return ldp.Plan(items, name, 2.0, once=1.0) if "+" in name else ldp.Plan(items, name, 1.0)


def busy(session: Any, page: Any, step: str) -> float:
    """Milliseconds of processor time that a step takes on the thread of the page, the only one that works meanwhile."""

    def used() -> dict[int, float]:
        found = session.send("SystemInfo.getProcessInfo")["processInfo"]
        pages = [process["id"] for process in found if process["type"] == "renderer"]
        return {page: int(Path(f"/proc/{page}/task/{page}/schedstat").read_text().split()[0]) / 1e6 for page in pages}

    before = used()
    page.evaluate(step)
    return max(after - before.get(process, 0.0) for process, after in used().items())


def measured(chromium: Any, server: Any, plan: ldp.Plan, turn: float) -> dict[str, float]:
    """What one page finds."""
    context, session = chromium.new_context(), chromium.new_browser_cdp_session()
    page = opened(context, server)
    page.evaluate(PREPARE, plan.to_json())
    found = {"plan": busy(session, page, READ), "first": busy(session, page, REPORT), **page.evaluate(TIMES, turn)}
    context.close()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure the JavaScript client in Chromium.")
    parser.add_argument("--pages", type=int, default=3, help="pages for each plan (default: %(default)s)")
    parser.add_argument("--turn", type=float, default=200, help="milliseconds for each rate (default: %(default)s)")
    options = parser.parse_args()
    if EXECUTABLE is None or not HAS_PLAYWRIGHT:
        sys.exit("this needs Chromium and the Python package playwright")
    print("| " + " | ".join(HEADS) + " |")
    print("|---|" + "--:|" * (len(HEADS) - 1))
    with site() as server, driver() as playwright, browser(playwright) as chromium:
        for size in SIZES:
            for name in MECHANISMS:
                plan = plan_of(name, size)
                found = [measured(chromium, server, plan, options.turn) for _ in range(options.pages)]
                least = {key: min(each[key] for each in found) for key in found[0]}
                rates = [f"{1000 / least[key]:,.0f}" for key in ("fresh", "again")]
                waits = [f"{least[key]:.1f}" for key in ("plan", "first")]
                task = f"{least['task']:.0f}" if least["task"] else "none"
                print("| " + " | ".join([f"`{name}`", f"{size:,}", *rates, *waits, task]) + " |", flush=True)


if __name__ == "__main__":
    main()
