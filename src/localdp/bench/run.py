"""Measure localdp, its peers and the machine in one run, and write the page in Markdown.

A whole run takes about ten minutes, a quick one about one. The first run installs the peers, with pinned versions, in
environments of their own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from localdp.bench import growth, page
from localdp.bench.cases import CASES, LARGE, Case, measure
from localdp.bench.javascript import measure_javascript
from localdp.bench.machine import description
from localdp.bench.one_report import measure_one_report
from localdp.bench.peers import NAMES, Peer, versions
from localdp.bench.shares import measure_shares
from localdp.bench.startup import startup
from localdp.kernels import dispatch

TEMPLATE = Path(__file__).parent / "page.md"


@dataclass(frozen=True)
class Scope:
    """How much a run measures: the cases, the sizes, and how often the sides take turns."""

    cases: tuple[Case, ...]
    large: tuple[Case, ...]
    rounds: int
    growth_rounds: int
    dataset: str  # the users of the pipeline
    epsilons: tuple[str, ...]
    reports: tuple[int, ...]  # sizes of the growth with the number of reports
    items: tuple[int, ...]  # sizes of the growth with the number of items
    calibrated: tuple[int, ...]  # numbers of items to calibrate


WHOLE = Scope(
    cases=CASES,
    large=LARGE,
    rounds=7,
    growth_rounds=4,
    dataset="kosarak",
    epsilons=("1", "4", "8"),
    reports=(10**5, 10**6, 10**7),
    items=(10**3, 10**4, 10**5),
    calibrated=(10**4, 10**5, 10**6, 10**7),
)
QUICK = Scope(
    cases=CASES[2:4],
    large=(),
    rounds=2,
    growth_rounds=2,
    dataset="kosarak",
    epsilons=("1",),
    reports=(10**5, 10**6),
    items=(10**3, 10**4, 10**5),
    calibrated=(10**4, 10**5),
)


def bench(environments: Path, quick: bool = False, say: Callable[[str], None] = lambda _: None) -> str:
    """Measure everything and return the page.

    The environments of the peers are in this folder, and are made if they are missing. `say` is called with the name of
    each part before it starts.
    """
    return run(environments, QUICK if quick else WHOLE, say)


def run(environments: Path, scope: Scope, say: Callable[[str], None]) -> str:
    """Measure what is in the scope and return the page."""
    with dispatch.kernels("fast"):
        dispatch.uses_compiled()  # if Numba is missing, say so before anything is installed or measured
    os.environ["LOCALDP_KERNELS"] = "fast"  # for the processes that are started
    started = time.perf_counter()
    where = description()
    with ExitStack() as stack:
        peers = {name: stack.enter_context(Peer(name, environments)) for name in NAMES}
        say("the same protocol in other libraries")
        compared = [(case, measure(case, peers, scope.rounds)) for case in scope.cases]
        say("large domains")
        large = [(case, measure(case, peers, max(2, scope.rounds // 2))) for case in scope.large]
    say("the limits of the machine")
    limits, reached = measure_shares(scope.rounds)
    say("eight million people")
    pipelines = {epsilon: _pipeline(scope.dataset, epsilon, scope.rounds) for epsilon in scope.epsilons}
    say("growth")
    grown = _growth(scope)
    say("one report in a call")
    single = measure_one_report(scope.rounds)
    say("the JavaScript client")
    javascript = measure_javascript(scope.rounds)
    say("starting")
    text = TEMPLATE.read_text(encoding="utf-8").format(
        date=datetime.now(UTC).strftime("%Y-%m-%d"),
        where=where,
        peers="; ".join(f"{name} with {versions(name)}" for name in NAMES),
        times=scope.rounds,
        compared=page.against_peers(compared, ("privatize", "aggregate")),
        large=page.against_peers(large, ("both",)) if large else "(not in a quick run)",
        machine=page.against_machine(limits, reached),
        pipeline=page.end_to_end(pipelines),
        growth=page.growing(grown),
        single=page.one_at_a_time(single),
        javascript=page.in_javascript(javascript),
        starting=page.starting(startup(scope.rounds)),
    )
    return f"{text}\nThe run took {time.perf_counter() - started:.0f} seconds.\n"


def _growth(scope: Scope) -> list[growth.Growth]:
    rounds, users = scope.growth_rounds, scope.reports[1]
    return [
        growth.with_reports("llh", 16_470, scope.reports, rounds),
        growth.with_reports("oue", 128, scope.reports, rounds),
        growth.with_items("llh", users, scope.items, "report", rounds),
        growth.with_items("oue", users // 200, scope.items, "bit", rounds),
        growth.of_calibrate(scope.calibrated, rounds),
    ]


def _pipeline(dataset: str, epsilon: str, rounds: int) -> dict[str, float]:
    """The measurements of the pipeline, in a process of its own so that its peak memory is its own."""
    options = ["--json", "--dataset", dataset, "--epsilon", epsilon, "--times", str(rounds)]
    line = [sys.executable, "-m", "localdp.bench.pipeline", *options]
    done = subprocess.run(line, check=True, stdout=subprocess.PIPE, text=True)  # noqa: S603
    measured: dict[str, float] = json.loads(done.stdout)
    return measured
