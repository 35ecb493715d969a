"""The headline figures of README beside what is measured now: `python scripts/headlines.py` (some minutes).

The seeds of the errors are drawn anew at every run, so nothing can have been tuned on them. The script fails if README
no longer has one of the figures, and says which.
"""

from __future__ import annotations

import math
import secrets
import sys
from pathlib import Path

import numpy as np

import localdp as ldp

ROOT = Path(__file__).resolve().parent.parent
RUNS = 3
DATASETS = ("retail", "kosarak-100k", "kosarak")
EPSILONS = (2.0, 3.0, 4.0, 5.0, 6.0)


def guess(epsilon: float) -> str:
    """What a guess of 50:50 becomes at most."""
    sure = round(100 / (1 + math.exp(-ldp.Plan(1_000, epsilon=epsilon).mechanism.epsilon)))
    return f"{sure}:{100 - sure}"


def typical(users: int) -> str:
    """The standard error of an item that nobody holds, of a thousand, at epsilon 1, as a share of the users."""
    return f"{ldp.Plan(1_000, epsilon=1.0).mechanism.variance(users) ** 0.5 / users:.1%}"


def above_the_oracle() -> str:
    """How far the mean squared error of `auto` is above that of an oracle, with its standard error."""
    ratios = []
    for name in (*DATASETS, "padded"):
        truth = ldp.datasets.load("retail" if name == "padded" else name).frequencies
        truth = np.append(truth, np.zeros(49_066, np.int64)) if name == "padded" else truth
        for epsilon in EPSILONS:
            plan, errors = ldp.Plan(truth.size, "oue", epsilon), np.zeros(2)
            for _ in range(RUNS):
                estimate = plan.simulate(truth, seed=secrets.randbits(31)).estimate()
                found = (estimate.calibrate(), estimate.calibrate(ldp.Fixed(truth)))
                errors += [ldp.metrics.estimation_error(one.frequencies, truth) for one in found]
            ratios.append(errors[0] / errors[1])
    spread = np.std(ratios, ddof=1) / math.sqrt(len(ratios))
    return f"{np.mean(ratios) - 1:.1%} ± {spread:.1%}, at worst {max(ratios) - 1:.1%}"


HEADLINES = (
    ("a guess of 50:50 at epsilon 1", "73:27", lambda: guess(1.0)),
    ("a guess of 50:50 at epsilon 4", "98:2", lambda: guess(4.0)),
    ("typically off, 1,000 items, 10,000 people", "2% of the", lambda: typical(10_000)),
    ("typically off, 1,000 items, a million people", "0.2%", lambda: typical(1_000_000)),
    ("error above the oracle's, epsilon 2 and more", "1% above", above_the_oracle),
)


def main() -> int:
    readme = " ".join((ROOT / "README.md").read_text("utf-8").split())
    gone = [said for _, said, _ in HEADLINES if said not in readme]
    for what, said, measure in HEADLINES:
        print(f"{what:46} README: {said:10} now: {measure()}", flush=True)
    for said in gone:
        print(f"README no longer says {said!r}: mend this script", file=sys.stderr)
    return 1 if gone else 0


if __name__ == "__main__":
    sys.exit(main())
