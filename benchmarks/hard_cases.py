"""Where calibrating is hardest: a heavy head, giants with almost no holders, and surveys under attack.

Three parts, and what we ask of each:

- heavy head: five items hold most of the users. The 90% intervals should hold the truth for 85% of these five.
- few counts: so many items, or so few users, that most counts are 0 or 1 and the noise is far from normal. The error
  should be near the oracle's, the calibrated total near n, the intervals honest, and the share of false discoveries
  under `fdr=0.1` at most 0.1.
- attacks: one user in a thousand sends reports of the attacker's choice. The other items should be estimated as well
  as without the attack, and the notes should warn that the estimates do not add up to n.

`python benchmarks/hard_cases.py` takes about half an hour on two cores, `--runs 2 --quick` some seconds;
`--part attacks --only "all ones"` runs a few cells.
"""

from __future__ import annotations

import argparse
import re
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from runs import Measurements
from worst import arithmetic_mean, coverage, deliver, label, measure, notes_of, parser, ratio, table, worst

import localdp as ldp

HEAVY_SHARES = (0.25, 0.18, 0.12, 0.08, 0.05)
GIANT = 3_000_000
GIANT_RUNS = 3
"""Cells of more items than `GIANT` are run only so often."""
ABOUT_THE_SUM = re.compile(r"\b(sum|sums|summed|add up|adds up|total)\b")


class Head(NamedTuple):
    """A survey in which five items hold 68% of the users; the other items share the rest as 1/rank or equally."""

    mechanism: str
    rest: str
    d: int
    n: int
    epsilon: float


class Few(NamedTuple):
    """A survey with few holders or few reports for each item."""

    mechanism: str
    shape: str
    d: int
    n: int
    epsilon: float


class Attack(NamedTuple):
    """A survey in which one in a thousand reports comes from an attacker; Zipf 1.1."""

    mechanism: str
    attack: str
    d: int
    n: int
    epsilon: float


def heads(quick: bool) -> list[Head]:
    """The cells of the heavy head."""
    if quick:
        return [Head("oue", "zipf", 5_000, 100_000, 6.0), Head("grr", "flat", 5_000, 100_000, 6.0)]
    pairs = [(mechanism, rest) for mechanism in ("oue", "sue", "grr") for rest in ("zipf", "flat", "empty")]
    sizes = ((1_000_000, 6.0), (100_000, 6.0), (1_000_000, 4.0), (1_000_000, 1.0), (10_000, 6.0))
    return [Head(mechanism, rest, 5_000, n, epsilon) for mechanism, rest in pairs for n, epsilon in sizes]


def few(quick: bool) -> list[Few]:
    """The cells with few counts."""
    some = [Few("oue", "zipf 1.1", 10_000, 1_000, 6.0), Few("grr", "zipf 1.1", 10_000, 1_000, 6.0)]
    if quick:
        return some
    return [
        *some,
        Few("llh", "zipf 1.1", 10_000, 1_000, 6.0),
        Few("sue", "zipf 1.1", 10_000, 1_000, 6.0),
        Few("oue", "flat", 10_000, 1_000, 6.0),
        Few("oue", "zipf 1.5", 1_000, 300, 6.0),
        Few("oue", "zipf 1.1", 100_000, 10_000, 6.0),
        Few("oue", "zipf 1.1", 100_000, 3_000, 8.0),
        Few("grr", "zipf 1.1", 100_000, 10_000, 6.0),
        Few("oue", "zipf 1.1", 1_000_000, 10_000, 5.0),
        Few("oue", "zipf 1.5", 1_000_000, 100_000, 4.0),
        Few("llh", "zipf 1.1", 1_000_000, 100_000, 4.0),
        Few("oue", "zipf 1.1", 10_000_000, 100_000, 4.0),
    ]


def attacks(quick: bool) -> list[Attack]:
    """The cells under attack."""
    sizes = ((1_000, 100_000, 1.0), (10_000, 1_000_000, 1.0), (10_000, 1_000_000, 4.0), (1_000, 10_000_000, 2.0))
    kinds = (("oue", "all ones"), ("oue", "one target"), ("oue", "ten targets"), ("llh", "ten targets"))
    kinds += (("grr", "one target"),)
    every = [Attack(mechanism, attack, *size) for mechanism, attack in kinds for size in sizes]
    return [cell for cell in every if cell.d == 1_000 and cell.n == 100_000] if quick else every


def zipf(d: int, exponent: float) -> np.ndarray:
    """Shares that fall as a power of the rank."""
    weights = 1 / np.arange(1, d + 1) ** exponent
    return weights / weights.sum()


def run_head(task: tuple) -> Measurements:
    """One seeded run: coverage of the five heavy items and of all, and the error over the raw estimate's."""
    *fields, seed = task
    cell = Head(*fields)
    rng = np.random.default_rng((1, seed))
    others = cell.d - len(HEAVY_SHARES)
    spread = {"zipf": zipf(others, 1.0), "flat": np.full(others, 1 / others), "empty": zipf(others, 3.0)}[cell.rest]
    truth = rng.multinomial(cell.n, np.append(HEAVY_SHARES, spread * (1 - sum(HEAVY_SHARES))))
    estimate = ldp.Plan(cell.d, cell.mechanism, cell.epsilon).simulate(truth, seed=seed).estimate()
    raw = ldp.metrics.estimation_error(estimate.frequencies, truth)
    heavy = len(HEAVY_SHARES)
    measured = {}
    for prior in ("npmle", "auto"):
        calibrated = estimate.calibrate(prior)
        low, high = calibrated.interval(0.9)
        measured[f"{prior} heavy"] = coverage(low[:heavy], high[:heavy], truth[:heavy])
        measured[f"{prior} all"] = coverage(low, high, truth)
        measured[f"{prior} error"] = ratio(ldp.metrics.estimation_error(calibrated.frequencies, truth), raw)
        error = ldp.metrics.estimation_error(calibrated.frequencies[:heavy], truth[:heavy])
        raw_error = ldp.metrics.estimation_error(estimate.frequencies[:heavy], truth[:heavy])
        measured[f"{prior} heavy error"], measured["raw heavy error"] = error, raw_error
    return measured


def run_few(task: tuple) -> Measurements:
    """One seeded run: errors, the calibrated total, coverage, and the shares of false discoveries."""
    *fields, seed = task
    cell = Few(*fields)
    rng = np.random.default_rng((2, seed))
    shares = np.full(cell.d, 1 / cell.d) if cell.shape == "flat" else zipf(cell.d, float(cell.shape.split()[1]))
    truth = rng.multinomial(cell.n, shares)
    estimate = ldp.Plan(cell.d, cell.mechanism, cell.epsilon).simulate(truth, seed=seed).estimate()
    calibrated, oracle = estimate.calibrate(), estimate.calibrate(ldp.Fixed(truth))
    low, high = calibrated.interval(0.9)
    held = truth > 0
    measured = {
        "raw": ldp.metrics.estimation_error(estimate.frequencies, truth),
        "norm-sub": ldp.metrics.estimation_error(estimate.project("norm-sub").frequencies, truth),
        "auto": ldp.metrics.estimation_error(calibrated.frequencies, truth),
        "oracle": ldp.metrics.estimation_error(oracle.frequencies, truth),
        "total": float(calibrated.frequencies.sum()) / cell.n,
        "covered": coverage(low, high, truth),
        "held covered": coverage(low[held], high[held], truth[held]),
    }
    for where, multiple in (("at the threshold", 1.0), ("at half of it", 0.5)):
        threshold = multiple * estimate.significance_threshold()
        named = calibrated.heavy_hitters(threshold, fdr=0.1).indices
        measured[f"named {where}"] = float(named.size)
        measured[f"false {where}"] = float((truth[named] <= threshold).mean()) if named.size else 0.0
    return measured


def fake_counts(cell: Attack, plan: ldp.Plan, fakes: int, targets: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """How many of the attacker's reports support each item."""
    counts = np.zeros(cell.d, np.int64)
    if cell.mechanism == "llh":
        return chosen_hashes(plan, fakes, targets, rng)
    if cell.attack == "all ones":
        counts[:] = fakes
    elif cell.attack == "ten targets":  # the other bits as usual, so that a report does not look odd
        counts = rng.binomial(fakes, plan.mechanism.q_star, cell.d)
    counts[targets] = fakes
    return counts


def chosen_hashes(plan: ldp.Plan, fakes: int, targets: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The support of reports that each try 1,000 hash functions, and name the symbol that most targets share."""
    mechanism: Any = plan.mechanism
    items = np.arange(plan.domain.size, dtype=np.uint64)
    functions = rng.integers(1, 1 << mechanism.degree, 1_000, dtype=np.uint64)
    symbols = mechanism.hashed(functions[:, None], targets.astype(np.uint64)[None, :])
    shared = (symbols[:, :, None] == symbols[:, None, :]).sum(2)
    most = shared.max(1)
    best = np.flatnonzero(most >= np.sort(most)[-20])[:20]  # the attacker's users take turns with the best of them
    counts = np.zeros(plan.domain.size, np.int64)
    for place, function in enumerate(best):
        symbol = symbols[function, shared[function].argmax()]
        users = fakes // best.size + (place < fakes % best.size)
        counts += users * (mechanism.hashed(functions[function : function + 1], items) == symbol)
    return counts


def run_attack(task: tuple) -> Measurements:
    """One seeded run: the errors of the other items with and without the attack, coverage, and the warning."""
    *fields, seed = task
    cell = Attack(*fields)
    rng = np.random.default_rng((3, seed))
    truth = rng.multinomial(cell.n, zipf(cell.d, 1.1))
    plan, fakes = ldp.Plan(cell.d, cell.mechanism, cell.epsilon), round(cell.n / 1_000)
    honest = plan.simulate(truth, seed=seed)
    unpopular = np.argsort(-truth, kind="stable")[cell.d // 2 :]
    wanted = {"all ones": 0, "one target": 1, "ten targets": 10}[cell.attack]
    targets = rng.choice(unpopular, wanted, replace=False)
    counts = honest.counts + fake_counts(cell, plan, fakes, targets, rng)
    attacked = ldp.Aggregate(plan, counts, cell.n + fakes).estimate()
    other = np.ones(cell.d, bool)
    other[targets] = False
    before, after = honest.estimate().calibrate(), attacked.calibrate()
    unaware = replace(attacked, total=None).calibrate()
    low, high = after.interval(0.9)
    low_before, high_before = before.interval(0.9)

    def error(result: Any) -> float:
        return ldp.metrics.estimation_error(result.frequencies[other], truth[other])

    p, q = plan.mechanism.p_star, plan.mechanism.q_star
    spread = (p * (1 - p) + (cell.d - 1) * q * (1 - q)) * attacked.n  # of the sum of independent bits
    z = (float(attacked.frequencies.sum()) - attacked.n) * (p - q) / np.sqrt(spread)
    said, said_before = notes_of(attacked, after), notes_of(honest.estimate(), before)
    return {
        "before": error(before),
        "after": error(after),
        "total unknown": error(unaware),
        "norm-sub before": error(honest.estimate().project("norm-sub")),
        "norm-sub after": error(attacked.project("norm-sub")),
        "raw after": error(attacked),
        "covered before": coverage(low_before[other], high_before[other], truth[other]),
        "covered": coverage(low[other], high[other], truth[other]),
        "target gain": float((after.frequencies[targets] - truth[targets]).sum()) / fakes if wanted else float("nan"),
        "z": z if cell.mechanism == "oue" else float("nan"),
        "warned": float(bool(ABOUT_THE_SUM.search(said))),
        "warned before": float(bool(ABOUT_THE_SUM.search(said_before))),
    }


def show_heads(results: dict[Head, Measurements]) -> list[str]:
    """The worst cells of the heavy head, for each prior, and its errors over the raw ones."""
    lines = [
        "### A heavy head",
        "",
        f"{len(results)} cells: how many of the 90% intervals of heavy items hold the truth.",
        "",
    ]
    for prior in ("npmle", "auto"):
        figures = {cell: measured[f"{prior} heavy"] for cell, measured in results.items()}
        mean = arithmetic_mean(figures.values())
        lines += worst(f"Coverage of the heavy items, {prior} (mean {mean:.3f})", figures, False)
    return lines


def show_few(results: dict[Few, Measurements]) -> list[str]:
    """The table of few counts."""
    head = ("cell", "auto / oracle", "auto / raw", "auto / norm-sub", "total / n", "covered", "held covered")
    head += ("named", "false", "named at half", "false at half")
    keys = ("total", "covered", "held covered", "named at the threshold", "false at the threshold")
    keys += ("named at half of it", "false at half of it")
    rows = [
        (
            label(cell),
            *(ratio(measured["auto"], measured[base]) for base in ("oracle", "raw", "norm-sub")),
            *(measured[key] for key in keys),
        )
        for cell, measured in results.items()
    ]
    said = "`false` is the share of false discoveries with `fdr=0.1`, at the significance threshold and at half of it."
    lines = ["### Few counts", "", said, ""]
    lines += table(head, rows)
    return lines


def show_attacks(results: dict[Attack, Measurements]) -> list[str]:
    """The table of the attacks."""
    head = (
        "cell",
        "error / unattacked",
        "total unknown / unattacked",
        "norm-sub / unattacked",
        "auto / norm-sub",
        "covered",
        "unattacked",
    )
    head += ("gain per fake", "z of the sum", "warned", "warned unattacked")
    rows = []
    for cell, measured in results.items():
        ratios = (
            ratio(measured["after"], measured["before"]),
            ratio(measured["total unknown"], measured["before"]),
            ratio(measured["norm-sub after"], measured["norm-sub before"]),
            ratio(measured["after"], measured["norm-sub after"]),
        )
        keys = ("covered", "covered before", "target gain", "z", "warned", "warned before")
        rows.append((label(cell), *ratios, *(measured[key] for key in keys)))
    said = [
        "One report in a thousand is the attacker's. It supports every item, one unpopular item, or ten of them; for",
        "llh, each report takes one of the best of 1,000 hash functions. Errors and coverage are of items that are no",
        "target. `total unknown` is what `auto` gives without the known total (`total=None`). A sum far from the total",
        "gives an attack away. Reports that support as many items as honest ones do not change the sum, and counts",
        "alone cannot show them.",
    ]
    lines = ["### Attacks", "", *said, ""]
    lines += table(head, rows)
    return lines


PARTS = {
    "heads": (heads, run_head, show_heads),
    "few": (few, run_few, show_few),
    "attacks": (attacks, run_attack, show_attacks),
}


def main(given: argparse.Namespace) -> dict[str, dict]:
    """Measure the parts, and print or write what came out."""
    lines, found = [f"Means of {given.runs} seeded runs ({GIANT_RUNS} with more than {GIANT:,} items).", ""], {}
    for name in given.part or PARTS:
        make, run, show = PARTS[name]
        cells = make(given.quick)
        results = measure([cell for cell in cells if cell.d <= GIANT], given, run, at_once=1)
        seldom = argparse.Namespace(**vars(given) | {"runs": min(given.runs, GIANT_RUNS)})
        results |= measure([cell for cell in cells if cell.d > GIANT], seldom, run, at_once=1)
        if results:
            lines += show(results)
        found[name] = results
    deliver("hard_cases", lines, given)
    return found


if __name__ == "__main__":
    made = parser(__doc__)
    made.add_argument("--part", nargs="+", choices=PARTS, help="only these parts, printed instead of written")
    arguments = made.parse_args()
    arguments.printed |= bool(arguments.part)
    main(arguments)
