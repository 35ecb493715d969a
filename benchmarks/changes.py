"""Differences and histories: do intervals hold for the largest movers, has the p-value its level, what is its power?

- `history`: random cases (5 to 1,000 items, 5 to 60 periods, drift 0 to 0.2 for each period, steps and launches).
  Errors are roots of mean squares over the ten most frequent items and all periods, compared with raw estimates and
  with the table of all periods, and over at most six of the periods with those calibrated on their own. The ten most
  frequent items are those of the population; a reader of the table sees the ten whose estimates are the largest.
- `tripled`: random cases in which an item triples. It counts as seen if its 90% interval excludes the old share three
  periods later; only cases are counted in which its change is four standard errors of those three periods or more.
- `speed`: the time of a history of 400 periods of 10,000 items.
- `sketch`: seven cases, again and again. Where nothing drifts, all periods share the error of their level, so that one
  history has only ten intervals to count.
- `movers`: differences of several shapes. How many 90% intervals of the ten largest estimated changes hold, ours and
  those of raw estimates; and which share of the items that are named at a false-discovery rate of 0.1 did not change.
- `level`: how often the p-value is below 0.05 and 0.001 if nothing has changed.
- `power`: how often it is below 0.05 if something has, beside two published tests at the same epsilon: the permutation
  test on RAPPOR reports (Mun, Kwak and Kim, arXiv 2411.09064) and the chi-square tests of Gaboardi and Rogers (ICML
  2018) on RAPPOR and on randomized response. So that no test gains by missing its level, each rejects beyond the 95%
  quantile of its statistic under no change, from 1,500 simulated pairs of surveys; 40 pairs show its power, for each of
  `--runs` random populations and changes, which all tests share. `--only added` is a row alone.

`python benchmarks/changes.py` writes docs/results/changes.md and takes about an hour on two processors;
`history --runs 10 --print` is a trial of one part. `--seed` repeats a run; without it, seeds are new ones.
"""

from __future__ import annotations

import secrets
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from histories import asked, histories, population, sketches, speed, tripled
from worst import deliver, parser, table

import localdp as ldp
from localdp.changes.equality import _comparison, _weights
from localdp.changes.sides import Side

PAGE = Path(__file__).parent.parent / "docs" / "results" / "changes.md"
NULLS, DRAWN = 1_500, 40
CHEAP = 100  # surveys with more items are compared once for each shape
SHAPES = ("nothing", "tiny drift", "drift", "strong drift", "one item", "a few", "launch", "added")
BASES = ("power law", "flat", "log-normal")


class Survey(NamedTuple):
    """The items, people and epsilon of two surveys."""

    items: int
    people: int
    epsilon: float
    base: str
    mechanism: str = "auto"


MOVERS = [
    *(
        Survey(items, people, epsilon, base)
        for (items, people), epsilon, base in product(
            ((2, 500), (5, 1_000), (20, 2_000), (20, 50_000), (100, 10_000), (300, 200_000)), (1.0, 3.0), BASES
        )
    ),
    Survey(20, 300, 4.0, "power law", "oue"),
    Survey(6, 3_000, 1.0, "power law", "ss"),
    Survey(40, 3_000, 2.0, "power law", "llh"),
    Survey(1_000, 50_000, 2.0, "power law"),
]
LEVELS = [
    Survey(2, 200, 1.0, "flat"),
    Survey(6, 200, 1.0, "power law", "ss"),
    Survey(20, 200, 4.0, "power law", "oue"),
    Survey(20, 1_000, 1.0, "power law", "olh"),
    Survey(20, 5_000, 2.0, "log-normal", "oue"),
    Survey(100, 20_000, 1.0, "power law", "llh"),
]
POWERS = [
    ("one item", Survey(10, 2_000, 2.0, "power law")),
    ("drift", Survey(10, 20_000, 2.0, "power law")),
    ("strong drift", Survey(10, 2_000, 1.0, "flat")),
    ("one item", Survey(40, 3_000, 2.0, "power law")),
    ("strong drift", Survey(40, 4_000, 2.0, "power law")),
    ("strong drift", Survey(40, 8_000, 1.0, "flat")),
    ("added", Survey(40, 4_000, 2.0, "power law")),
]


def moved(shares: np.ndarray, shape: str, rng: np.random.Generator) -> np.ndarray:
    """The shares of the population after a change."""
    items, after = shares.size, shares.copy()
    if shape == "one item":
        after[rng.integers(min(items, 10))] *= 1.5
    elif shape == "a few":
        some = rng.choice(items, max(1, items // 20), replace=False)
        after[some] *= np.exp(rng.normal(0, 1, some.size))
    elif shape == "launch":
        after[-1] += 0.05
    elif shape == "added":
        after = np.maximum(after + rng.normal(0, 0.01, items) * (rng.random(items) < 0.3), 0)
    elif shape != "nothing":
        after *= np.exp(rng.normal(0, {"tiny drift": 0.01, "drift": 0.1, "strong drift": 0.5}[shape], items))
    return np.asarray(after / after.sum())


def one_difference(shape: str, survey: Survey, seed: int) -> list[float]:
    """Coverage of the ten largest movers, ours and raw; the share of false discoveries; whether anything was named."""
    rng = np.random.default_rng(seed)
    before = population(survey.items, survey.base, rng)
    after = moved(before, shape, rng)
    plan = ldp.Plan(survey.items, mechanism=survey.mechanism, epsilon=survey.epsilon)
    more = int(rng.choice([1, 3]))
    first, second = asked(plan, before, survey.people, rng), asked(plan, after, more * survey.people, rng)
    change, truth = ldp.difference(first, second), after - before
    low, high = change.interval(0.9)
    held = (low <= truth) & (truth <= high)
    raw = np.abs(change.raw - truth) <= 1.645 * change.std_errors
    ours, theirs = (np.argsort(-np.abs(moves))[:10] for moves in (change.shares, change.raw))
    named = change.changed(fdr=0.1).indices
    false = float((np.abs(truth[named]) < 1e-12).mean()) if named.size else 0.0
    return [float(held[ours].mean()), float(raw[theirs].mean()), float(held.mean()), false, float(named.size)]


def movers(runs: int, seed: int, processes: int) -> list[str]:
    """The section about differences."""
    rng, rows = np.random.default_rng(seed), []
    with ProcessPoolExecutor(processes) as pool:
        for shape in SHAPES:
            tasks = [survey for survey in MOVERS for _ in range(runs if survey.items <= CHEAP else 1)]
            seeds = rng.integers(1 << 40, size=len(tasks)).tolist()
            found = np.array(list(pool.map(one_difference, [shape] * len(tasks), tasks, seeds)))
            means, errors = found.mean(axis=0).tolist(), (found.std(axis=0) / np.sqrt(len(found))).tolist()
            rows.append([shape, len(found), means[0], errors[0], *means[1:4], errors[3], means[4]])
    head = ["shape", "runs", "ten largest", "+-", "raw's ten largest", "all", "false", "+-", "named"]
    return table(head, rows)


def null_p_values(survey: Survey, runs: int, seed: int) -> np.ndarray:
    """P-values of differences between surveys of one population."""
    rng = np.random.default_rng(seed)
    plan = ldp.Plan(survey.items, mechanism=survey.mechanism, epsilon=survey.epsilon)
    shares = population(survey.items, survey.base, rng)
    found = []
    for _ in range(runs):
        people = [survey.people * int(more) for more in rng.choice([1, 2], 2)]
        found.append(ldp.difference(*(asked(plan, shares, n, rng) for n in people)).p_value)
    return np.array(found)


def level(runs: int, seed: int, processes: int) -> list[str]:
    """The section about the level of the p-value: `runs` runs of each survey."""
    rng, rows, batch = np.random.default_rng(seed), [], 50
    everything = np.zeros(0)
    with ProcessPoolExecutor(processes) as pool:
        for survey in LEVELS:
            count = max(1, runs // batch)
            seeds = rng.integers(1 << 40, size=count).tolist()
            found = np.concatenate(list(pool.map(null_p_values, [survey] * count, [batch] * count, seeds)))
            everything = np.append(everything, found)
            rows.append([_survey(survey), found.size, float((found < 0.05).mean()), int((found < 0.001).sum())])
    rows.append(["all", everything.size, float((everything < 0.05).mean()), int((everything < 0.001).sum())])
    return table(["two surveys of one population", "runs", "below 0.05", "number below 0.001"], rows)


def _survey(survey: Survey) -> str:
    people = f"{survey.people:,} people or twice as many"
    return f"{survey.items} items ({survey.base}), {people}, epsilon {survey.epsilon:g}, {survey.mechanism}"


def critical_share(statistic: Any, null: tuple[np.ndarray, np.ndarray], other: tuple[np.ndarray, np.ndarray]) -> float:
    """How often a statistic of two surveys exceeds the 95% quantile of its simulated values under no change."""
    return float((statistic(*other) > np.quantile(statistic(*null), 0.95, method="higher")).mean())


def one_power(shape: str, survey: Survey, seed: int) -> list[float]:
    """The power of every test for one random population and change: `DRAWN` pairs of surveys each."""
    rng = np.random.default_rng(seed)
    items, n, epsilon = survey.items, survey.people, survey.epsilon
    before = population(items, survey.base, rng)
    after = moved(before, shape, rng)
    middle = (before + after) / 2

    def both(draw: Any) -> tuple[tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]:
        return (draw(middle, NULLS), draw(middle, NULLS)), (draw(before, DRAWN), draw(after, DRAWN))

    found = []
    for plan in (ldp.Plan(items, epsilon=epsilon), ldp.Plan(items, mechanism="sue", epsilon=epsilon)):
        side = Side.of(plan.simulate(rng.multinomial(n, middle), seed=1))
        ours = _comparison(side, side, _weights(side, side, middle))
        found.append(critical_share(ours, *both(lambda shares, times, side=side: side.redraw(shares, times, rng))))

    flip = 1 / (1 + np.exp(epsilon / 2))

    def rappor(shares: np.ndarray, times: int) -> np.ndarray:
        """The mean reports of basic RAPPOR."""
        held = rng.multinomial(n, shares, times)
        return np.asarray(rng.binomial(held, 1 - flip) + rng.binomial(n - held, flip)) / n

    seen = both(rappor)
    found.append(critical_share(lambda one, two: np.square(one - two).sum(axis=1), *seen))
    covariance = flip * (1 - flip) * np.eye(items) + (1 - 2 * flip) ** 2 * (np.diag(middle) - np.outer(middle, middle))
    centre = np.eye(items) - 1 / items
    inverse = centre @ np.linalg.pinv(covariance) @ centre
    found.append(critical_share(lambda one, two: np.einsum("ti,ij,tj->t", one - two, inverse, one - two), *seen))
    grr = ldp.Plan(items, mechanism="grr", epsilon=epsilon).mechanism
    law = grr.q_star + (grr.p_star - grr.q_star) * np.eye(items)

    def pearson(one: np.ndarray, two: np.ndarray) -> np.ndarray:
        return np.asarray((np.square(one - two) / np.maximum(one + two, 1)).sum(axis=1))

    found.append(critical_share(pearson, *both(lambda shares, times: rng.multinomial(n, law @ shares, times))))
    return found


def power(runs: int, seed: int, processes: int, only: tuple[str, ...] = ()) -> list[str]:
    """The section about power: `runs` random populations and changes of each kind."""
    rng, rows = np.random.default_rng(seed), []
    with ProcessPoolExecutor(processes) as pool:
        for shape, survey in POWERS:
            if only and shape not in only:
                continue
            seeds = rng.integers(1 << 40, size=runs).tolist()
            found = np.array(list(pool.map(one_power, [shape] * runs, [survey] * runs, seeds)))
            who = f"{survey.items} items ({survey.base}), {survey.people:,} people"
            ahead = found[:, :1] - found[:, 2:]
            worst = int(ahead.mean(axis=0).argmin())
            error = float(ahead[:, worst].std() / np.sqrt(runs))
            rows.append([f"{shape}, {who}, epsilon {survey.epsilon:g}", *found.mean(axis=0).tolist(), error])
    head = ["change", "ours", "ours on RAPPOR", "permutations of RAPPOR", "chi-square of RAPPOR", "chi-square of grr"]
    return table([*head, "+- of ours less the best"], rows)


PARTS = {
    "sketch": (sketches, 20),
    "history": (histories, 100),
    "tripled": (tripled, 200),
    "speed": (speed, 3),
    "movers": (movers, 20),
    "level": (level, 2_000),
    "power": (power, 40),
}


def main() -> None:
    """Measure the parts that were asked for, and write them."""
    warnings.simplefilter("ignore")
    options = parser(__doc__, None)
    options.add_argument("parts", nargs="*", default=list(PARTS), help=f"of {', '.join(PARTS)}")
    options.add_argument("--seed", type=int, default=None)
    given = options.parse_args()
    for part in given.parts:
        run, usual = PARTS[part]
        seed = secrets.randbits(32) if given.seed is None else given.seed
        runs, started = given.runs or (usual // 10 if given.quick else usual), time.time()
        only = {"only": tuple(given.only)} if given.only else {}
        lines = run(runs, seed, given.processes, **only)
        chosen = f" --only {' '.join(map(repr, given.only))}" if given.only else ""
        command = f"`python benchmarks/changes.py {part} --runs {runs} --seed {seed}{chosen}`"
        deliver(part, [*lines, "", f"{command}, {time.time() - started:.0f} s."], given, PAGE)


if __name__ == "__main__":
    main()
