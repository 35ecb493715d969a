"""How long a page's thread is busy until its first report, with 16,470 items: `python benchmarks/first_report.py`.

Loading the plan, reading it and making the first report of a new device, in pages where nothing is compiled yet, as
processor time of the page's thread (see `in_chromium.py`). The best and the median of the pages are printed.
"""

from __future__ import annotations

import statistics
import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent)]

from in_chromium import PREPARE, READ, REPORT, browser, busy, driver, opened, plan_of, site  # noqa: E402

PAGES = 9


def main() -> None:
    print(f"{'':<6}{'plan':>14}{'first report':>16}{'together':>14}   milliseconds, best and median of {PAGES} pages")
    with site() as server, driver() as playwright, browser(playwright) as chromium:
        for name in ("grr", "oue", "ss", "llh"):
            text, found = plan_of(name, 16_470).to_json(), []
            for _ in range(PAGES):
                context, session = chromium.new_context(), chromium.new_browser_cdp_session()
                page = opened(context, server)
                page.evaluate(PREPARE, text)
                plan, first = busy(session, page, READ), busy(session, page, REPORT)
                found.append((plan, first, plan + first))
                context.close()
            shown = [f"{min(times):.1f} {statistics.median(times):.1f}" for times in zip(*found, strict=True)]
            print(f"{name:<6}{shown[0]:>14}{shown[1]:>16}{shown[2]:>14}", flush=True)


if __name__ == "__main__":
    main()
