"""How long a page's thread is busy until its first report, with 16,470 items: `python benchmarks/first_report.py`.

Loading the plan from the collector (`Client.load`: fetching, checking its fingerprint, reading it) and making the first
report of a new device, in pages where nothing is compiled yet, as processor time of the page's thread (see
`in_chromium.py`). The best and the median of the pages are printed, and for comparison those of `Plan.parse` alone.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent)]

from in_chromium import PREPARE, READ, browser, busy, driver, opened, plan_of, site  # noqa: E402

PAGES = 9
LOAD = """async () => {
    const { fingerprint } = await (await fetch("/name.json")).json();
    window.own = await localdp.Client.load(`/v1/plans/${fingerprint}`, { store: localdp.memoryStore() });
}"""
REPORT = "async () => { await own.report(own.plan.items.at(-1)); }"


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure the first report of a page.")
    parser.add_argument("--pages", type=int, default=PAGES, help="pages for each mechanism (default: %(default)s)")
    pages = parser.parse_args().pages
    heads = ("Plan.parse", "Client.load", "first report", "together")
    print(f"{'':<6}{''.join(f'{head:>15}' for head in heads)}   milliseconds, best and median of {pages} pages")
    with driver() as playwright, browser(playwright) as chromium:
        for name in ("grr", "oue", "ss", "llh"):
            plan, found = plan_of(name, 16_470), []
            with site(plan) as server:
                server.modules["/name.json"] = f'{{"fingerprint": "{plan.fingerprint}"}}'
                for _ in range(pages):
                    context, session = chromium.new_context(), chromium.new_browser_cdp_session()
                    page = opened(context, server)
                    load, first = busy(session, page, LOAD), busy(session, page, REPORT)
                    context.close()
                    context = chromium.new_context()
                    page = opened(context, server)
                    page.evaluate(PREPARE, plan.to_json())
                    found.append((busy(session, page, READ), load, first, load + first))
                    context.close()
            shown = [f"{min(times):.1f} {statistics.median(times):.1f}" for times in zip(*found, strict=True)]
            print(f"{name:<6}{''.join(f'{one:>15}' for one in shown)}", flush=True)


if __name__ == "__main__":
    main()
