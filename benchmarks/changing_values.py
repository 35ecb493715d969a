"""Counters that change: what devices spend and how accurate every round is, beside LOLOHA and a chain on values.

    python benchmarks/changing_values.py --write

As in LOLOHA's paper (Arcolezi, Pinzon, Palamidessi & Gambs, EDBT 2023): 10,000 users hold one of 360 values, and in
each round a quarter of them draws a new one. `LOLOHA` is written here from its formulas, with the hash of `olh` and
the g of least variance; `oue+sue` is the best chain that pays for values. The package of LOLOHA's authors has one round
of it: `--peer` runs that beside ours.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
from pathlib import Path

import numpy as np
from literature_page import table, write
from numpy.typing import NDArray

import localdp as ldp
from localdp.bench import peers
from localdp.kernels import local_hash
from localdp.mechanisms import BUCKET_CHAINS, LinearHashingTwice
from localdp.randomness.keystream import seeded

ITEMS, USERS, CHANGING = 360, 10_000, 0.25
BUDGETS = ((1.0, 0.5), (2.0, 1.0), (4.0, 1.0), (4.0, 2.0))
PEER, PEER_USERS = "multi-freq-ldpy", 2_000
HERE = Path(__file__).parent
Values = NDArray[np.int64]


def rounds(count: int, seed: int, users: int = USERS) -> list[Values]:
    """The value of every user in every round."""
    rng = np.random.default_rng(seed)
    held = [rng.integers(0, ITEMS, users)]
    while len(held) < count:
        moves = rng.random(users) < CHANGING
        held.append(np.where(moves, rng.integers(0, ITEMS, users), held[-1]))
    return held


def error(estimates: NDArray[np.float64], held: Values) -> float:
    """The mean squared error of the shares of a round."""
    truth = np.bincount(held, minlength=ITEMS)
    return float(np.mean(((estimates - truth) / held.size) ** 2))


def distinct(symbols: list[Values]) -> float:
    """How many different symbols or values the devices have reported, on average."""
    return float(np.mean([np.unique(row).size for row in np.array(symbols).T]))


def ours(epsilon: float, once: float, held: list[Values], seed: int) -> tuple[int, float, float]:
    """The number of symbols, what devices spend, and the error."""
    mechanism = BUCKET_CHAINS["llh+llh"](ITEMS, epsilon, once=once)
    assert isinstance(mechanism, LinearHashingTwice)
    source, g, bits = seeded(seed), mechanism.response.symbols, np.uint64(mechanism.function_bits)
    functions = mechanism.draw(USERS, source)
    kept = [mechanism.randomize_bucket(functions | np.uint64(z) << bits, source) for z in range(g)]
    symbols, errors = [], []
    for values in held:
        hashes = mechanism.hashed(functions, values.astype(np.uint64)).astype(np.int64)
        rows = np.array(kept)[hashes, np.arange(USERS)]
        counts = mechanism.count(mechanism.randomize_again(rows, source))
        errors.append(error(mechanism.estimate(counts, USERS), values))
        symbols.append(hashes)
    return g, mechanism.epsilon * distinct(symbols), float(np.mean(errors))


def law_of(epsilon: float, once: float) -> tuple[int, float, float]:
    """LOLOHA's number of symbols, and how often its two responses tell the truth."""
    a, b = math.exp(epsilon), math.exp(once)
    root = a**4 - 14 * a**2 + 12 * a * b * (1 - a * b) + 12 * a**3 * b + 1
    g = 1 + max(1, round((1 - a**2 + math.sqrt(root)) / (6 * (a - b))))
    again = (a * b - 1) / (a - b)  # e^epsilon of the second response
    return g, a / (a + g - 1), again / (again + g - 1)


def loloha(epsilon: float, once: float, held: list[Values], seed: int) -> tuple[int, float, float]:
    """The same for the published protocol."""
    g, first, second = law_of(epsilon, once)
    rng, users = np.random.default_rng(seed), held[0].size

    def perturbed(symbols: Values, kept: float) -> Values:
        others = (symbols + rng.integers(1, g, symbols.shape)) % g
        return np.where(rng.random(symbols.shape) < kept, symbols, others)

    seeds = rng.integers(0, 2**32, users).astype(np.uint32)
    hashed = local_hash.local_hash(seeds[:, None], local_hash.mixed_items(np.arange(ITEMS, dtype=np.uint32)), g)
    responses = perturbed(np.tile(np.arange(g), (users, 1)), first)
    q2 = (1 - second) / (g - 1)
    symbols, errors = [], []
    for values in held:
        own = hashed[np.arange(users), values].astype(np.int64)
        reports = perturbed(responses[np.arange(users), own], second)
        counts = (hashed == reports[:, None].astype(np.uint64)).sum(axis=0)
        scale = (first - 1 / g) * (second - q2)
        errors.append(error((counts - users * (second - q2) / g - users * q2) / scale, values))
        symbols.append(own)
    return g, epsilon * distinct(symbols), float(np.mean(errors))


def beside_peer(runs: int) -> str:
    """One round of LOLOHA by its authors' package and by ours: the two laws, and the errors."""
    python = peers.environment(PEER, HERE / ".peers" / PEER)
    task = {"budgets": BUDGETS, "users": PEER_USERS, "items": ITEMS, "runs": runs}
    line = [python, "-W", "ignore", HERE / "peer_loloha.py", json.dumps(task)]
    theirs = json.loads(subprocess.run(line, stdout=subprocess.PIPE, check=True).stdout)
    rows = []
    for (epsilon, once), found in zip(BUDGETS, theirs, strict=True):
        g, first, second = law_of(epsilon, once)
        law = (first, 1 / g, second, (1 - second) / (g - 1))
        off = max(abs(one - other) for one, other in zip(law, found["law"], strict=True))
        ours = [loloha(epsilon, once, rounds(1, seed, PEER_USERS), 1000 * seed)[2] for seed in range(runs)]
        rows.append((f"{epsilon:g}, {once:g}", g, f"{off:.0e}", stated(found["errors"]), stated(ours)))
        print(*rows[-1], flush=True)
    return table(("epsilon, once", "g", "largest difference of p1, q1, p2, q2", "the package", "ours"), rows)


def stated(errors: list[float]) -> str:
    """The mean of squared errors, times 10^6, with its standard error."""
    found = 1e6 * np.array(errors)
    return f"{found.mean():.0f} ± {found.std(ddof=1) / math.sqrt(found.size):.0f}"


def by_value(epsilon: float, once: float, held: list[Values], seed: int) -> tuple[str, float, float]:
    """The same for the chain that pays for every value."""
    plan = ldp.Plan(ITEMS, "oue+sue", epsilon=epsilon, once=once)
    estimates = [
        plan.simulate(np.bincount(values, minlength=ITEMS), seed=seed + i).estimate() for i, values in enumerate(held)
    ]
    errors = [error(found.frequencies, values) for found, values in zip(estimates, held, strict=True)]
    return "", plan.mechanism.epsilon * distinct(held), float(np.mean(errors))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--peer", action="store_true", help="compare one round with the package of LOLOHA's authors")
    parser.add_argument("--write", action="store_true", help="write the table into docs/results/literature.md")
    given = parser.parse_args()
    if given.peer:
        found = beside_peer(given.runs)
        if given.write:
            write("peer changing", found)
        return
    rows = []
    for epsilon, once in BUDGETS:
        for name, method in (("oue+sue", by_value), ("LOLOHA", loloha), ("llh+llh", ours)):
            found = [method(epsilon, once, rounds(given.rounds, seed), 1000 * seed) for seed in range(given.runs)]
            spent, errors = (np.array([run[place] for run in found]) for place in (1, 2))
            doubt = errors.std(ddof=1) / math.sqrt(given.runs)
            cells = (found[0][0], f"{spent.mean():.1f}", f"{errors.mean() * 1e6:.2f} ± {doubt * 1e6:.2f}")
            rows.append((f"{epsilon:g}, {once:g}", name, *cells))
            print(*rows[-1], flush=True)
    header = ("epsilon, once", "", "g", "spent by a device", "squared error of a share, times 10^6")
    if given.write:
        write("changing", table(header, rows))


if __name__ == "__main__":
    main()
