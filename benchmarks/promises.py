"""What is promised, on random surveys: `python benchmarks/sweep.py --promises --seed 1 --draws 400`.

A draw has a family of shapes, 2 to 31 items (every other draw) or 32 to 3,000, 100 to 1e9 users, epsilon 0.1 to 8, and
oue, sue or grr. Its truth is drawn once, and noise is drawn with `SEEDS` seeds. What is measured and asked for:

- error: the mean squared error over the seeds, over the smaller of those of the raw estimates clipped to 0..n and of
  norm-sub. At most 1.1 in 97% of the draws, and 1.5 at worst. Errors below that of rounding to whole people (1/12)
  count as 1/12.
- coverage of 90% intervals: of all items, of the ten largest as shown, and of ten items that were named beforehand
  (`table(items=...)`; popular ones are named more often). At least 0.80 in every family, 0.87 to 0.95 on average.
- groups (32 items or more, five of each kind): sums over 10% or 40% of the items, chosen at random, mildly or strongly
  by popularity, or rare ones; with the total known, not known, and for estimates from elsewhere. Coverage of 0.85 to
  0.96 and at most the raw sum's squared error in each, and at most 0.6 of it for random groups.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from runs import Measurements
from worst import coverage, label, table, worst

import localdp as ldp

SEEDS, GROUP_SEEDS, GROUPS, SHOWN = 20, 1, 5, 10
ROUNDING = 1 / 12
FAMILIES = (
    *("zipf", "lognormal", "gamma", "exponential", "empty", "dirichlet", "gaps"),
    *("unanimous", "nearly", "one", "halves", "flat", "linear"),
)
KINDS, SETTINGS = ("random", "mild", "strong", "rare"), ("known total", "unknown total", "elsewhere")


class Survey(NamedTuple):
    """One draw; `number` and `seed` decide everything that is random."""

    number: str
    mechanism: str
    family: str
    d: int
    n: int
    epsilon: float
    seed: int


def draw(seed: int, number: int) -> Survey:
    """Draw `number` of this seed; the families take turns."""
    rng = np.random.default_rng((seed, number))
    family = FAMILIES[(number // 2) % len(FAMILIES)]
    low, high = (2, 31) if number % 2 else (32, 3_000)
    d, n, epsilon = (np.exp(rng.uniform(*np.log(pair))) for pair in ((low, high + 0.5), (1e2, 1e9), (0.1, 8)))
    mechanism = str(rng.choice(("oue", "sue", "grr") if d <= 1_000 else ("oue", "sue")))
    return Survey(f"#{number}", mechanism, family, int(d), int(n), round(float(epsilon), 3), seed)


def weights(family: str, d: int, rng: np.random.Generator) -> np.ndarray:
    """The expected share of every item, up to a factor."""
    rank = np.arange(1, d + 1)
    others = max(d - 1, 1)
    made = {
        "zipf": lambda: 1 / rank ** rng.uniform(0.5, 2),
        "lognormal": lambda: rng.lognormal(0, rng.uniform(0.3, 3), d),
        "gamma": lambda: rng.gamma(rng.uniform(0.1, 3), 1, d),
        "exponential": lambda: np.exp(-rng.exponential(1, d) * rng.uniform(0.5, 5)),
        "empty": lambda: rng.pareto(1.2, d) * (rng.random(d) < 0.05) + 1e-9 * (rank == 1),
        "dirichlet": lambda: rng.gamma(rng.choice([0.2, 0.5, 1, 2, 5]), 1, d) + 1e-12,
        "gaps": lambda: rng.choice([1.0, 5.0, 25.0], d) * np.exp(rng.choice([0.02, 0.05, 0.1]) * rng.normal(size=d)),
        "unanimous": lambda: 1.0 * (rank == 1),
        "nearly": lambda: np.append(rng.uniform(0.97, 0.99), rng.dirichlet(np.ones(others)) * 0.02),
        "one": lambda: np.append(0.9, np.full(others, 0.1 / others)),
        "halves": lambda: np.where(rank <= (d + 1) // 2, 3.0, 0.05),
        "flat": lambda: np.ones(d),
        "linear": lambda: d + 1.0 - rank,
    }
    return np.asarray(made[family](), float)


def members(kind: str, truth: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The items of a group of about 10% or 40% of all."""
    rank, share = np.argsort(np.argsort(-truth, kind="stable")) / truth.size, float(rng.choice([0.1, 0.4]))
    chances = {
        "random": np.full(truth.size, share),
        "mild": share * (1.5 - rank),
        "strong": np.where(rank < 0.3, 2.1, 0.5) * share,
        "rare": np.where(rank < 0.3, 0.15, 1.36) * share,
    }[kind]
    found = np.flatnonzero(rng.random(truth.size) < chances)
    return found if 0 < found.size < truth.size else np.array([0])


def groups(truth: np.ndarray, estimate: ldp.Estimate, rng: np.random.Generator) -> Measurements:
    """For each kind and setting: the squared errors over the raw sum's variance, and whether the interval holds."""
    measured: Measurements = {}
    gaussian = truth + rng.normal(0, estimate.std_error, truth.size)
    settings = {
        "known total": estimate,
        "unknown total": replace(estimate, total=None),
        "elsewhere": ldp.Estimate(gaussian, n=estimate.n, variance=estimate.variance),
    }
    for setting, given in settings.items():
        calibrated = given.calibrate(warn=False)
        for kind in KINDS:
            several = [members(kind, truth, rng) for _ in range(GROUPS)]
            named = {f"group {place}": chosen for place, chosen in enumerate(several)}
            right = np.array([truth[chosen].sum() for chosen in several])
            found, raw = calibrated.group(named), given.group(named, level=0.9)
            exact = [given._group_sum(chosen, 0.9) for chosen in several]
            variance = np.maximum([((one.high - one.low) / 3.29) ** 2 for one in exact], ROUNDING)
            for name, sums in (("error", found), ("raw", raw)):
                away = np.asarray(sums["frequency"]) - right
                measured[f"{kind} {setting} {name}"] = float((away**2 / variance).mean())
            measured[f"{kind} {setting} covered"] = coverage(np.asarray(found["low"]), np.asarray(found["high"]), right)
    return measured


def run(cell: Survey) -> Measurements:
    """All that is measured of one draw, averaged over the seeds."""
    rng = np.random.default_rng((cell.seed, int(cell.number[1:]), 1))
    shares = weights(cell.family, cell.d, rng)
    truth = rng.multinomial(cell.n, shares / shares.sum())
    plan = ldp.Plan(cell.d, cell.mechanism, cell.epsilon)
    popularity = 1 / (10 + np.argsort(np.argsort(-truth, kind="stable")))
    found: list[Measurements] = []
    for number in range(SEEDS):
        estimate = plan.simulate(truth, seed=int(rng.integers(1 << 60))).estimate()
        calibrated = estimate.calibrate(warn=False)
        low, high = calibrated.interval(0.9)
        shown = np.argsort(-calibrated.frequencies, kind="stable")[:SHOWN]
        size = min(SHOWN, cell.d)
        named = rng.choice(cell.d, size, replace=False, p=popularity / popularity.sum())
        asked = calibrated.table(items=named.tolist())
        raw_low, raw_high = estimate.interval(0.9)
        one = {
            "clipped": ldp.metrics.estimation_error(np.clip(estimate.frequencies, 0, cell.n), truth),
            "norm-sub": ldp.metrics.estimation_error(estimate.project("norm-sub").frequencies, truth),
            "auto": ldp.metrics.estimation_error(calibrated.frequencies, truth),
            "all": coverage(low, high, truth),
            "shown": coverage(low[shown], high[shown], truth[shown]),
            "named": coverage(asked["low"], asked["high"], truth[named]),
            "shown, raw": coverage(raw_low[shown], raw_high[shown], truth[shown]),
            "named, calibrated": coverage(low[named], high[named], truth[named]),
        }
        if cell.d >= 32 and number < GROUP_SEEDS:
            one |= groups(truth, estimate, rng)
        found.append(one)
    keys = {key for one in found for key in one}
    return {key: float(np.mean([one[key] for one in found if key in one])) for key in sorted(keys)}


def over_best(measured: Measurements) -> float:
    """The calibrated error over the smaller of the two others."""
    return max(measured["auto"], ROUNDING) / max(min(measured["clipped"], measured["norm-sub"]), ROUNDING)


def line(cell: Survey, measured: Measurements) -> str:
    """One draw in one line."""
    held = ", ".join(f"{name} {measured[name]:.2f}" for name in ("all", "shown", "named"))
    return f"{label(cell)}: error {over_best(measured):.3f}; covered {held}"


def mean(figures: Iterable[float]) -> str:
    """A mean with its standard error."""
    known = np.array([figure for figure in figures if figure == figure])
    return f"{known.mean():.3f} ± {known.std() / np.sqrt(max(known.size, 1)):.3f}" if known.size else "-"


def summary(results: dict[Survey, Measurements]) -> list[str]:
    """Errors and coverage by family and by size, groups by kind and setting, and the worst draws."""
    ratios = {cell: over_best(measured) for cell, measured in results.items()}
    names = ("all", "shown", "named", "shown, raw", "named, calibrated")

    def row(title: str, cells: list[Survey]) -> tuple:
        some = np.array([ratios[cell] for cell in cells])
        errors = f"{(some > 1.1).mean():.1%}", f"{(some > 1.5).mean():.1%}", float(some.max())
        logs = float(np.exp(np.log(some).mean()))
        return title, len(cells), logs, *errors, *(mean(results[cell][name] for cell in cells) for name in names)

    rows = [row("all draws", list(results))]
    for title, low, high in (("2 to 5 items", 2, 5), ("6 to 31 items", 6, 31), ("32 items or more", 32, 10**9)):
        part = [cell for cell in results if low <= cell.d <= high]
        rows += [row(title, part)] if part else []
    for family in FAMILIES:
        part = [cell for cell in results if cell.family == family]
        rows += [row(family, part)] if part else []
    head = ("draws of", "number", "error", "above 1.1", "above 1.5", "worst", *names)
    lines = ["`error` is a geometric mean; coverage has standard errors over draws.", "", *table(head, rows)]
    sums = []
    for kind in KINDS:
        for setting in SETTINGS:
            part = [m for m in results.values() if f"{kind} {setting} error" in m]
            if part:
                error, raw, held = ([m[f"{kind} {setting} {key}"] for m in part] for key in ("error", "raw", "covered"))
                sums.append((kind, setting, len(part), float(np.mean(error) / np.mean(raw)), mean(held)))
    lines += ["Groups: squared error over the raw sum's, and coverage.", ""]
    lines += table(("kind", "setting", "draws", "error / raw", "covered"), sums)
    lines += worst("Error over the better of clipped raw and norm-sub", ratios)
    for name in ("all", "shown", "named"):
        lines += worst(f"Coverage, {name}", {cell: m[name] for cell, m in results.items()}, largest=False)
    return lines
