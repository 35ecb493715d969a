"""Measure localdp, its peers and the machine in one run, and write benchmarks/RESULTS.md.

`python -m benchmarks.speed` takes about ten minutes, `--quick` about one (and prints the page instead of writing it).
The first run installs the peers, pinned, in environments of their own under benchmarks/.peers.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.speed import growth, report
from benchmarks.speed.cases import CASES, LARGE, measure
from benchmarks.speed.limits import shares
from benchmarks.speed.machine import description
from benchmarks.speed.peers import NAMES, Peer, versions
from benchmarks.speed.startup import startup

PAGE = Path(__file__).parent.parent / "RESULTS.md"
TEMPLATE = Path(__file__).parent / "page.md"
PIPELINE = Path(__file__).parent.parent / "pipeline.py"


def main() -> None:
    """Measure, and write or print the page."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--quick", action="store_true", help="one minute: fewer cases, fewer repetitions")
    quick = arguments.parse_args().quick
    os.environ["LOCALDP_KERNELS"] = "fast"
    started = time.perf_counter()
    page = _page(quick, times=2 if quick else 7)
    page += f"\nThe run took {time.perf_counter() - started:.0f} seconds.\n"
    if quick:
        print(page)
    else:
        PAGE.write_text(page, encoding="utf-8")
        print(f"wrote {PAGE}")


def _page(quick: bool, times: int) -> str:
    where = description()
    cases, large = (CASES[2:4], LARGE[:0]) if quick else (CASES, LARGE)
    with ExitStack() as stack:
        peers = {name: stack.enter_context(Peer(name)) for name in NAMES}
        _say("the same protocol, here and there")
        compared = [(case, measure(case, peers, times)) for case in cases]
        _say("large domains")
        compared_large = [(case, measure(case, peers, max(2, times // 2))) for case in large]
    _say("the machine")
    limits, reached = shares(times)
    _say("eight million people")
    pipelines = {epsilon: _pipeline(epsilon, times) for epsilon in (("1",) if quick else ("1", "4", "8"))}
    _say("growth")
    grown = _growth(quick, 2 if quick else 4)
    _say("starting")
    starting = startup(times)
    return TEMPLATE.read_text(encoding="utf-8").format(
        date=datetime.now(UTC).strftime("%Y-%m-%d"),
        where=where,
        peers="; ".join(f"{name} with {versions(name)}" for name in NAMES),
        times=times,
        compared=report.against_peers(compared, ("privatize", "aggregate")),
        large=report.against_peers(compared_large, ("both",)) if compared_large else "(not in a quick run)",
        machine=report.against_machine(limits, reached),
        pipeline=report.end_to_end(pipelines),
        growth=report.growing(grown),
        starting=report.table(("", "best"), ([f"`{name}`", f"{took:.3f} s"] for name, took in starting.items())),
    )


def _growth(quick: bool, times: int) -> list[growth.Growth]:
    reports = (10**5, 10**6) if quick else (10**5, 10**6, 10**7)
    items = (10**4, 10**5) if quick else (10**4, 10**5, 10**6, 10**7)
    return [
        growth.with_reports("llh", 16_470, reports, times),
        growth.with_reports("oue", 128, reports, times),
        growth.with_items("llh", 1_000_000, (1_000, 10_000, 100_000), "report", times),
        growth.with_items("oue", 5_000, (1_000, 10_000, 100_000), "bit", times),
        growth.of_calibrate(items, times),
    ]


def _pipeline(epsilon: str, times: int) -> dict[str, float]:
    line = [sys.executable, str(PIPELINE), "--json", "--epsilon", epsilon, "--times", str(times)]
    figures: dict[str, float] = json.loads(subprocess.run(line, check=True, capture_output=True, text=True).stdout)
    return figures


def _say(what: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {what}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
