"""Measure localdp, its peers and the machine in one run, as a page in Markdown.

The whole takes about ten minutes, a quick run about one. The first installs the peers, pinned, in environments of their
own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

from localdp.bench import growth, report
from localdp.bench.cases import CASES, LARGE, measure
from localdp.bench.limits import shares
from localdp.bench.machine import description
from localdp.bench.peers import NAMES, Peer, versions
from localdp.bench.startup import startup

TEMPLATE = Path(__file__).parent / "page.md"


def bench(environments: Path, quick: bool = False, say: Callable[[str], None] = lambda _: None) -> str:
    """Measure everything; the environments of the peers are made, or found, in a folder. `say` is told what is next."""
    os.environ["LOCALDP_KERNELS"] = "fast"
    started = time.perf_counter()
    page = _page(environments, quick, 2 if quick else 7, say)
    return f"{page}\nThe run took {time.perf_counter() - started:.0f} seconds.\n"


def _page(environments: Path, quick: bool, times: int, say: Callable[[str], None]) -> str:
    where = description()
    cases, large = (CASES[2:4], LARGE[:0]) if quick else (CASES, LARGE)
    with ExitStack() as stack:
        peers = {name: stack.enter_context(Peer(name, environments)) for name in NAMES}
        say("the same protocol, here and there")
        compared = [(case, measure(case, peers, times)) for case in cases]
        say("large domains")
        compared_large = [(case, measure(case, peers, max(2, times // 2))) for case in large]
    say("the machine")
    limits, reached = shares(times)
    say("eight million people")
    pipelines = {epsilon: _pipeline(epsilon, times) for epsilon in (("1",) if quick else ("1", "4", "8"))}
    say("growth")
    grown = _growth(quick, 2 if quick else 4)
    say("starting")
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
    line = [sys.executable, "-m", "localdp.bench.pipeline", "--json", "--epsilon", epsilon, "--times", str(times)]
    done = subprocess.run(line, check=True, capture_output=True, text=True)  # noqa: S603
    figures: dict[str, float] = json.loads(done.stdout)
    return figures
