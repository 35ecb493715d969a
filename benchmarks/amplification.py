"""`ldp.amplified` beside published bounds, in random settings: writes docs/results/amplification.md.

A setting is a mechanism, a number of items, an epsilon, a number of people and a delta, all drawn at random. Published
bounds are those in `published_amplification`. The variation-ratio formula is compared apart, because it is sometimes
below what an attack achieves: such settings are counted, and left out of its column. Seconds are those of the
processor. `python benchmarks/amplification.py` takes about ten minutes; `--quick` prints the section for 28 settings.
"""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import published_amplification as published
from worst import deliver, label, parser, table

import localdp as ldp
from localdp.mechanisms.report_classes import variation

PAGE = Path(__file__).parent.parent / "docs" / "results" / "amplification.md"
SETTINGS = 200
SEED = 20_261_118
ANY = (published.closed_form, published.clones, published.stronger_clones)
"""Bounds for any mechanism with this epsilon."""
CLOSE = 1e-4
"""The relative accuracy of the searches for an epsilon."""
SINGLE = ("grr", "oue", "sue", "ss", "llh", "olh", "blh", "hr", "dbit")
KINDS = (*SINGLE, "oue+sue", "grr+grr", "sets by grr", "sets by llh", "privset")
LARGE = (("grr", 1_000, 4.0), ("llh", 1_000, 4.0), ("oue", 100, 4.0), ("privset", 1_000, 2.0))


class Setting(NamedTuple):
    """One call of `amplified`."""

    kind: str
    items: int
    epsilon: float
    n: int
    delta: float


def settings(count: int, rng: np.random.Generator) -> list[Setting]:
    """Random settings, every kind of mechanism about equally often."""
    found = []
    for place in range(count):
        kind = KINDS[place % len(KINDS)]
        items = round(2 * 10 ** rng.uniform(0, 3.5))
        n = round(10 ** rng.uniform(2, 7))
        epsilon = round(rng.uniform(0.1, 0.69 if kind == "hr" else 8.0), 2)
        found.append(Setting(kind, items, epsilon, n, float(f"{10 ** rng.uniform(-4, -1) / n:.2g}")))
    return found


def plan_of(setting: Setting) -> ldp.Plan:
    kind, items, epsilon = setting[:3]
    if "+" in kind:
        return ldp.Plan(items, kind, epsilon, once=epsilon / 2)
    if kind == "privset" or kind.startswith("sets"):
        return ldp.Plan(items, kind.removeprefix("sets by "), epsilon, set_size=3)
    return ldp.Plan(items, kind, epsilon)


def ratio_bound(plan: ldp.Plan, n: int, delta: float) -> float:
    """The variation-ratio bound, with the mechanism's epsilon and total variation distance."""
    beta = max(float(variation(pair)) for pair in plan.mechanism.shuffled().upper)
    return published.variation_ratio(plan.mechanism.epsilon_once, beta, n, delta)


def measured(setting: Setting) -> dict[str, float]:
    plan, n, delta = plan_of(setting), setting.n, setting.delta
    begin = time.process_time()
    found = ldp.amplified(plan, n=n, delta=delta)
    seconds = time.process_time() - begin
    clones = min(bound(found.local, n, delta) for bound in ANY)
    by_ratio = ratio_bound(plan, n, delta)
    refuted = by_ratio < found.lower * (1 - CLOSE)
    return {
        "upper": found.upper,
        "lower": found.lower,
        "clones": found.upper / clones,
        "ratio": math.nan if refuted else found.upper / by_ratio,
        "seconds": seconds,
    }


def anchors() -> list[str]:
    """The bounds at n = 100,000, epsilon 4 and delta 1e-6."""
    n, delta, p = 100_000, 1e-6, math.exp(4.0)
    cells = {"grr, 1,000 items": "grr", "llh, 1,000 items": "llh", "olh, 1,000 items": "olh", "oue, 1,000 items": "oue"}
    rows: list[tuple[Any, ...]] = []
    for name, kind in cells.items():
        plan = ldp.Plan(1_000, kind, 4.0)
        found = ldp.amplified(plan, n=n, delta=delta)
        rows.append((name, f"{ratio_bound(plan, n, delta):.4f}", f"{found.upper:.4f}", f"{found.lower:.4f}"))
    shown = ", ".join(f"{bound(4.0, n, delta):.3f}" for bound in ANY)
    hashed = published.variation_ratio(4.0, (p - 1) / (p + 63), n, delta)
    return [
        "With 100,000 people, a local epsilon of 4 and delta 1e-6:",
        "",
        *table(("mechanism", "variation ratio", "upper", "lower"), rows),
        f"Bounds for any mechanism with that epsilon: closed form, clones and stronger clones give {shown}.",
        f"Variation ratio for hashing to 64 symbols gives {hashed:.3f}.",
        "",
    ]


def large() -> list[str]:
    rows = []
    for kind, items, epsilon in LARGE:
        plan = plan_of(Setting(kind, items, epsilon, 10**8, 1e-9))
        begin = time.process_time()
        found = ldp.amplified(plan, n=10**8, delta=1e-9)
        taken = time.process_time() - begin
        bounds = f"{found.upper:.6f}", f"{found.lower:.6f}"
        rows.append((f"{kind}, {items:,} items, epsilon {epsilon:g}", *bounds, f"{taken:.1f}"))
    head = ("100 million people, delta 1e-9", "upper", "lower", "seconds")
    return table(head, rows)


def main() -> None:
    given = parser(__doc__, None).parse_args()
    chosen = settings(28 if given.quick else SETTINGS, np.random.default_rng(SEED))
    found = {}
    for setting in chosen:
        found[setting] = measured(setting)
        print(label(setting), {name: float(f"{value:.5g}") for name, value in found[setting].items()}, flush=True)
    rows = []
    for kind in KINDS:
        of_kind = [figures for setting, figures in found.items() if setting.kind == kind]
        beside = [one["ratio"] for one in of_kind if one["ratio"] == one["ratio"]]
        rows.append(
            (
                *(kind, len(of_kind), max(one["clones"] for one in of_kind), float(np.median(beside)), max(beside)),
                *(len(of_kind) - len(beside), min(one["lower"] / one["upper"] for one in of_kind if one["upper"])),
                f"{max(one['seconds'] for one in of_kind):.1f}",
            )
        )
    head = ("mechanism", "settings", "upper / clones, largest", "upper / variation ratio, median", "largest")
    head += ("variation ratio refuted", "lower / upper, smallest", "longest, s")
    above = sum(one["lower"] > one["upper"] for one in found.values())
    count = f"{len(found)} random settings; the lower bound is above the upper one in {above} of them."
    lines = [*anchors(), count, "", *table(head, rows), *large(), "Command: `python benchmarks/amplification.py`."]
    deliver("amplification", lines, given, PAGE)


if __name__ == "__main__":
    main()
