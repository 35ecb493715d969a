"""Apple's sketches: our estimates beside the published ones, from the same reports, as surveys grow.

    python benchmarks/sketches.py --write
    python benchmarks/sketches.py --peer --write

The published estimate is m/(m-1) (mean - n/m): the debiased count with the average
of all hash functions. Its published variance has no term for functions that everybody shares. With --peer, pure-ldp
1.2.0 makes all reports and estimates of a small survey, in an environment of its own.
"""

from __future__ import annotations

import argparse
import json
import subprocess
from pathlib import Path

import numpy as np
from literature_page import table, write

import localdp as ldp
from localdp.bench import peers

HERE = Path(__file__).parent
PEER, USERS, ITEMS = "pure-ldp", 10_000, 2_000


def errors(name: str, epsilon: float, times: int, seed: int) -> tuple[int, list[float]]:
    """The number of users, and: our error, what we state, the published error, what is published for it."""
    held = times * ldp.datasets.load("retail").frequencies
    plan = ldp.Plan(held.size, name, epsilon)
    aggregate = plan.simulate(np.random.default_rng(seed).permutation(held), seed=seed)
    truth = np.random.default_rng(seed).permutation(held)
    estimate, mechanism = aggregate.estimate(), plan.mechanism
    published = (aggregate.counts - aggregate.n * mechanism.q_star) / mechanism.gap
    holders = truth.mean() * mechanism.excess_variance
    q = mechanism.q_star
    return aggregate.n, [
        float(np.mean((estimate.frequencies - truth) ** 2)),
        float(estimate.variance + holders),
        float(np.mean((published - truth) ** 2)),
        float(aggregate.n * q * (1 - q) / mechanism.gap**2 + holders),
    ]


def beside_peer(runs: int) -> str:
    """Mean squared errors of pure-ldp and of ours, on the same users."""
    python = peers.environment(PEER, HERE / ".peers" / PEER)
    shares = np.sort(ldp.datasets.load("retail").frequencies)[::-1][:ITEMS]
    rows = []
    for name, epsilon in (("cms", 4.0), ("hcms", 4.0)):
        found = []
        for seed in range(runs):
            values = np.random.default_rng(seed).choice(ITEMS, USERS, p=shares / shares.sum())
            task = {"values": (values + 1).tolist(), "items": ITEMS, "epsilon": epsilon, "hadamard": name == "hcms"}
            theirs = subprocess.run(
                [python, "-W", "ignore", HERE / "peer_sketch.py"],
                input=json.dumps(task).encode(), stdout=subprocess.PIPE, check=True,
            ).stdout  # fmt: skip
            plan, truth = ldp.Plan(ITEMS, name, epsilon), np.bincount(values, minlength=ITEMS)
            estimate = plan.aggregate(plan.privatize(values, seed=seed)).estimate()
            errors = [np.mean((one - truth) ** 2) for one in (np.array(json.loads(theirs)), estimate.frequencies)]
            found.append([*errors, estimate.variance + truth.mean() * estimate.excess_variance])
        rows.append((name, f"{epsilon:g}", *(f"{one:,.0f}" for one in np.mean(found, axis=0))))
        print(*rows[-1], flush=True)
    return table(("", "epsilon", "pure-ldp: error", "ours: error", "stated"), rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--peer", action="store_true", help="compare with pure-ldp instead")
    parser.add_argument("--write", action="store_true", help="write the table into docs/results/literature.md")
    given = parser.parse_args()
    if given.peer:
        text = beside_peer(given.runs)
        if given.write:
            write("peer sketches", text)
        return
    rows = []
    for name, epsilon, times in (
        ("cms", 1.0, 1), ("cms", 4.0, 1), ("cms", 4.0, 10), ("cms", 4.0, 100), ("hcms", 1.0, 1), ("hcms", 4.0, 1),
    ):  # fmt: skip
        runs = [errors(name, epsilon, times, seed) for seed in range(given.runs)]
        found = np.array([run for _, run in runs])
        least = ldp.Plan(16_470, "ss", epsilon).mechanism.variance(runs[0][0])
        cells = [f"{mean:,.0f}" for mean in found.mean(axis=0)]
        rows.append((name, f"{epsilon:g}", f"{runs[0][0]:,}", *cells, f"{found[:, 0].mean() / least:.3f}"))
        print(*rows[-1], flush=True)
    header = ("", "epsilon", "users", "error", "stated", "published: error", "stated", "error / least variance")
    if given.write:
        write("sketches", table(header, rows))


if __name__ == "__main__":
    main()
