"""Calibrate with structure: what order, tables and earlier releases gain where they are true, and cost where not.

For every family: the error of `calibrate(structure=...)` divided by the smaller of two errors, that of `calibrate()`
and that of `project("norm-sub")`, each a mean over the draws of one setting, then averaged over the settings; and how
many of the 90% intervals hold the truth, those of cells and those of ranges (runs of neighbouring cells, or rows of the
table). Every draw makes a new population, new people and new noise. What we ask for: a ratio of at most 0.4 for smooth
orders, 0.8 for spiky ones and 0.7 for tables, on average; at most 1.03 where the structure is false (cells shuffled,
another population); coverage of 0.87 to 0.95 on average, and of at least 0.80 in every family.

`python benchmarks/structures.py` takes about half an hour; `--runs 10 --print` is a trial. `--seed` repeats a run;
without it, seeds are new ones. With `--keep file.json`, families that are in the file are not measured again.
"""

from __future__ import annotations

import json
import secrets
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from worst import arithmetic_mean, coverage, deliver, parser, ratio, table

import localdp as ldp

PAGE = Path(__file__).parent.parent / "docs" / "results" / "structures.md"
ORDERED = ((64, 20_000, 1.0), (128, 100_000, 1.0), (100, 1_000_000, 2.0))
TABLES = (
    (5, 8, 20_000, 1.0),
    (5, 8, 200_000, 1.0),
    (10, 20, 100_000, 1.0),
    (10, 20, 100_000, 2.0),
    (16, 24, 10**6, 1.0),
)
ITEMS = ((50, 50_000, 1.0), (200, 50_000, 1.0), (200, 200_000, 2.0))
SMOOTH = ("rising", "two hills", "falling", "ages")
MEASURES = ("norm-sub", "auto", "structure", "cells", "ranges", "opt-in")


class Draw(NamedTuple):
    """One population with its estimates, and the structure that is tried on it."""

    truth: np.ndarray
    estimate: ldp.Estimate
    structure: ldp.Structure
    ranges: list[np.ndarray]


def curve(shape: str, d: int) -> np.ndarray:
    """Shares of ordered cells, up to a factor."""
    t = (np.arange(d) + 0.5) / d

    def hill(centre: float, width: float) -> np.ndarray:
        return np.exp(-0.5 * ((t - centre) / width) ** 2) / width

    return {
        "rising": t**4 * (1 - t),
        "two hills": 0.6 * hill(0.3, 0.05) + 0.4 * hill(0.75, 0.1),
        "falling": np.exp(-6 * t),
        "ages": np.where(t < 0.15, 0.6, 1.0) * np.clip(1.2 - t, 0, 1) ** 0.7,
        "steps": np.where(t < 0.2, 3.0, np.where(t < 0.7, 1.0, 0.2)),
        "spikes": np.where(np.arange(d) % 16 == 0, 8.0, 1.0) * hill(0.4, 0.2),
    }[shape]


def crossed(kind: str, rows: int, columns: int, rng: np.random.Generator) -> np.ndarray:
    """Shares of a table, up to a factor: a product, with interactions of this kind."""
    shares = np.outer(rng.dirichlet(np.ones(rows)), 1 / np.arange(1, columns + 1))
    if kind in ("mild", "strong"):
        shares *= np.exp(rng.normal(0, 0.4 if kind == "mild" else 1.2, shares.shape))
    elif kind == "few strong cells":
        shares[np.arange(rows), rng.integers(0, columns, rows)] *= 6
    elif kind == "linear":
        shares *= np.exp(1.5 * np.outer(np.linspace(-1, 1, rows), np.linspace(-1, 1, columns)))
    return shares.ravel()


def estimated(shares: np.ndarray, n: int, epsilon: float, rng: np.random.Generator) -> tuple[np.ndarray, ldp.Estimate]:
    """People drawn from these shares, and the estimates that their reports give."""
    truth = rng.multinomial(n, shares / shares.sum())
    plan = ldp.Plan(truth.size, mechanism="oue", epsilon=epsilon)
    return truth, plan.simulate(truth, seed=int(rng.integers(1 << 62))).estimate()


def an_order(shape: str, shuffled: bool = False) -> Callable[..., Draw]:
    def draw(rng: np.random.Generator, d: int, n: int, epsilon: float) -> Draw:
        shapes = (*SMOOTH, "steps", "spikes")
        shares = curve(shape if not shuffled else shapes[int(rng.integers(len(shapes)))], d)
        truth, estimate = estimated(rng.permutation(shares) if shuffled else shares, n, epsilon, rng)
        ends = np.sort(rng.integers(0, d + 1, (4, 2)), axis=1)
        ranges = [np.arange(low, high) for low, high in ends if 2 <= high - low < d]
        return Draw(truth, estimate, ldp.Ordered(), ranges)

    return draw


def a_table(kind: str, shuffled: bool = False) -> Callable[..., Draw]:
    def draw(rng: np.random.Generator, rows: int, columns: int, n: int, epsilon: float) -> Draw:
        shares = crossed(kind, rows, columns, rng)
        truth, estimate = estimated(rng.permutation(shares) if shuffled else shares, n, epsilon, rng)
        whole = np.arange(rows * columns).reshape(rows, columns)
        ranges = [whole[row] for row in rng.choice(rows, 2, replace=False)] + [whole[:, int(rng.integers(columns))]]
        return Draw(truth, estimate, ldp.Crossed((rows, columns)), ranges)

    return draw


def a_release(change: str) -> Callable[..., Draw]:
    def draw(rng: np.random.Generator, d: int, n: int, epsilon: float) -> Draw:
        before = rng.permutation(1 / np.arange(1, d + 1))
        now = before.copy()
        if change == "some change":
            now *= np.exp(rng.normal(0, 0.2, d))
            now[rng.choice(d, max(1, d // 50), replace=False)] *= 4
        elif change == "another population":
            now = rng.permutation(before)
        _, earlier = estimated(before, 5 * n, epsilon, rng)
        truth, estimate = estimated(now, n, epsilon, rng)
        ranges = [rng.choice(d, d // 5, replace=False) for _ in range(3)]
        return Draw(truth, estimate, ldp.Like(earlier.calibrate(warn=False)), ranges)

    return draw


FAMILIES: dict[str, tuple[Callable[..., Draw], tuple, float]] = {
    **{f"ordered, {shape}": (an_order(shape), ORDERED, 0.4) for shape in SMOOTH},
    "ordered, steps": (an_order("steps"), ORDERED, 0.8),
    "ordered, spikes": (an_order("spikes"), ORDERED, 0.8),
    "ordered, shuffled": (an_order("", shuffled=True), ORDERED, 1.03),
    **{
        f"table, {kind}": (a_table(kind), TABLES, 0.9)
        for kind in ("independent", "mild", "strong", "few strong cells", "linear")
    },
    "table, shuffled": (a_table("few strong cells", shuffled=True), TABLES, 1.03),
    "like, the same shares": (a_release("none"), ITEMS, 0.7),
    "like, some change": (a_release("some change"), ITEMS, 0.9),
    "like, another population": (a_release("another population"), ITEMS, 1.03),
}
"""For each family how it is drawn, its settings, and the ratio that we ask for."""


def measured(draw: Draw, rng: np.random.Generator) -> list[float]:
    """The measures of one draw; errors in units of the noise."""
    truth, estimate = draw.truth, draw.estimate
    found = estimate.calibrate(structure=draw.structure, warn=False)
    auto = estimate.calibrate(found.prior, warn=False)
    groups = found.group({str(number): items for number, items in enumerate(draw.ranges)}) if draw.ranges else None
    sums = np.array([truth[items].sum() for items in draw.ranges])
    held = coverage(groups.columns["low"], groups.columns["high"], sums) if groups is not None else np.nan

    def error(frequencies: np.ndarray) -> float:
        return ldp.metrics.estimation_error(frequencies, truth) / float(np.mean(estimate.variance))

    opted_in = np.nan
    if isinstance(draw.structure, ldp.Like):
        counts = rng.multinomial(1_000, truth / truth.sum())
        opted_in = error(estimate.calibrate(ldp.OptIn(counts), warn=False).frequencies)
    return [
        error(estimate.project("norm-sub").frequencies),
        error(auto.frequencies),
        error(found.frequencies),
        coverage(*found.interval(0.9), truth),
        held,
        opted_in,
    ]


def measure(family: str, draws: int, seed: int) -> list[dict[str, float]]:
    """The means of a family, for each of its settings, with the standard error of the ratio."""
    make, settings, _ = FAMILIES[family]
    found = []
    for place, setting in enumerate(settings):
        rng = np.random.default_rng([seed, list(FAMILIES).index(family), place])
        rows = np.array([measured(make(rng, *setting), rng) for _ in range(-(-draws // len(settings)))])
        means = dict(zip(MEASURES, np.nanmean(np.where(np.isnan(rows).all(axis=0), 0.0, rows), axis=0), strict=True))
        better = "auto" if means["auto"] <= means["norm-sub"] else "norm-sub"
        column = rows[:, MEASURES.index(better)]
        means["ratio"] = ratio(means["structure"], means[better])
        residual = rows[:, 2] - means["ratio"] * column
        means["ratio's error"] = float(residual.std(ddof=1) / np.sqrt(len(rows)) / means[better])
        found.append({"draws": len(rows), **{key: float(value) for key, value in means.items()}})
    return found


def page(results: dict[str, list[dict[str, float]]], seed: int) -> list[str]:
    rows = []
    for family, (_, _, asked) in FAMILIES.items():
        if family not in results:
            continue
        settings = results[family]
        mean = {key: arithmetic_mean(one[key] for one in settings) for key in settings[0]}
        error = float(np.sqrt(sum(one["ratio's error"] ** 2 for one in settings)) / len(settings))
        rows.append(
            (
                family,
                int(sum(one["draws"] for one in settings)),
                f"{mean['ratio']:.3f} ± {error:.3f}",
                max(one["ratio"] for one in settings),
                f"{asked:g}",
                mean["cells"],
                mean["ranges"],
            )
        )
    every = [one for settings in results.values() for one in settings]
    likes = {family: settings for family, settings in results.items() if family.startswith("like")}
    cells, ranges = (arithmetic_mean(one[key] for one in every) for key in ("cells", "ranges"))
    lines = [
        f"Seed {seed}.",
        "",
        *table(("family", "draws", "ratio", "worst setting", "asked for", "cells covered", "ranges covered"), rows),
        f"Coverage over all families: cells {cells:.3f}, ranges {ranges:.3f}.",
        "",
    ]
    if likes:
        lines += [
            "`Like` beside the prior `opt-in`, which knows the exact counts of 1,000 people (errors over noise):",
            "",
            *table(
                ("family", "auto", "opt-in", "like"),
                [
                    (
                        family,
                        *(arithmetic_mean(one[key] for one in settings) for key in ("auto", "opt-in", "structure")),
                    )
                    for family, settings in likes.items()
                ],
            ),
        ]
    return lines


def main() -> None:
    options = parser(__doc__, runs=200)
    options.add_argument("--seed", type=int, default=None, help="the seed of all draws; a new one unless given")
    options.add_argument("--keep", type=Path, default=None, help="a file for what is measured, read first if it exists")
    given = options.parse_args()
    kept = json.loads(given.keep.read_text()) if given.keep is not None and given.keep.exists() else {}
    seed = kept.get("seed", given.seed if given.seed is not None else secrets.randbelow(1 << 31))
    results = kept.get("results", {})
    for family in FAMILIES:
        if family in results or not all(part in family for part in given.only):
            continue
        begun = time.perf_counter()
        results[family] = measure(family, given.runs, seed)
        print(f"{family}: {time.perf_counter() - begun:.0f} s", file=sys.stderr, flush=True)
        if given.keep is not None:
            given.keep.write_text(json.dumps({"seed": seed, "results": results}))
    deliver("structures", page(results, seed), given, PAGE)


if __name__ == "__main__":
    main()
