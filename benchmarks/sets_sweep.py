"""Sets of random sizes, shapes and plans: look for the worst cases. It prints the worst and writes nothing.

`python benchmarks/sets_sweep.py --draws 100` takes some minutes. A draw is a number of items and users, a law of set
sizes, a law of the items, an epsilon, a set size and a mechanism. For plans it looks at the scores of the raw estimates
(they must be standard normal, against what estimates estimate), at the error of Calibrate over the raw error, and at
the share of 90% intervals that hold. Every fourth draw is a survey of items or itemsets, whose intervals must hold the
true numbers of holders.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from typing import Any

import numpy as np

import localdp as ldp
from localdp.item_sets import ItemSets
from localdp.sets.candidates import held

SIZES = ("one", "few", "geometric", "heavy", "empty and large")


def sets_of(rng: np.random.Generator, users: int, items: int, law: str, exponent: float) -> ItemSets:
    """Random sets: sizes by a named law, and items by a power law."""
    sizes = {
        "one": np.ones(users, int),
        "few": rng.integers(0, 4, users),
        "geometric": rng.geometric(0.25, users) - 1,
        "heavy": np.minimum(rng.zipf(1.7, users), 400),
        "empty and large": np.where(rng.random(users) < 0.8, 0, 20),
    }[law]
    sizes = np.minimum(sizes, items)
    weights = np.arange(1.0, items + 1) ** -exponent
    drawn = rng.choice(items, int(sizes.sum()), p=weights / weights.sum())
    return ItemSets.of(drawn, sizes)


def draw(seed: int) -> dict[str, Any]:
    """One random plan or survey, and what came of it."""
    rng = np.random.default_rng(seed)
    items, users = int(10 ** rng.uniform(0.3, 4.3)), int(10 ** rng.uniform(3, 5))
    law, epsilon = str(rng.choice(SIZES)), float(rng.choice([0.3, 1.0, 2.0, 4.0, 8.0]))
    sets = sets_of(rng, users, items, law, float(rng.uniform(0, 2)))
    about = f"d={items} n={users} sizes={law} epsilon={epsilon:g}"
    start = time.perf_counter()
    found = survey(rng, sets, items, epsilon, about) if seed % 4 == 3 else plan(rng, sets, items, epsilon, about)
    return found | {"seconds": time.perf_counter() - start}


def plan(rng: np.random.Generator, sets: ItemSets, items: int, epsilon: float, about: str) -> dict[str, Any]:
    set_size = int(rng.choice([1, 2, 3, 5, 9, 30]))
    name = str(rng.choice(["auto", "auto", "privset", "grr", "llh"]))
    made = ldp.Plan(items, name, epsilon, set_size=set_size)
    estimate = made.aggregate(made.privatize_sets(sets, seed=int(rng.integers(2**31)))).estimate()
    weights = np.repeat(np.minimum(1, set_size / np.maximum(sets.sizes, 1)), sets.sizes)
    seen = np.bincount(sets.items, weights, minlength=items)
    scores = (estimate.frequencies - seen) / np.maximum(estimate.std_error_at(seen), 1e-9)
    calibrated = estimate.calibrate()
    low, high = calibrated.interval(0.9)
    error = ldp.metrics.estimation_error
    return {
        "kind": "plan",
        "about": f"{about} set_size={set_size} {made.mechanism.name}",
        "mean score": float(abs(scores.mean()) * np.sqrt(items)),
        "largest score": float(np.abs(scores).max()),
        "calibrated over raw": error(calibrated.frequencies, seen) / max(error(estimate.frequencies, seen), 1e-9),
        "90% hold": float(np.mean((low <= seen) & (seen <= high))),
    }


def survey(rng: np.random.Generator, sets: ItemSets, items: int, epsilon: float, about: str) -> dict[str, Any]:
    largest, top = int(rng.choice([1, 3])), int(rng.choice([1, 5, 20]))
    found = ldp.sets.itemsets(sets, items, epsilon=epsilon, top=top, largest=largest, seed=int(rng.integers(2**31)))
    listed = tuple(item if isinstance(item, tuple) else (item,) for item in found.items)
    truth = np.bincount(held(listed, sets).items, minlength=len(listed))
    low, high = found.interval(0.9)
    return {
        "kind": "survey",
        "about": f"{about} top={top} largest={largest} set_size={found.set_size} seen={found.seen:.2f}",
        "90% hold": float(np.mean((low <= truth) & (truth <= high))),
    }


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--draws", type=int, default=100)
    options.add_argument("--seed", type=int, default=0, help="the first seed")
    given = options.parse_args()
    found = [draw(given.seed + place) for place in range(given.draws)]
    for kind in ("plan", "survey"):
        of_kind = [one for one in found if one["kind"] == kind]
        print(f"{len(of_kind)} draws of a {kind}:")
        by_name = defaultdict(list)
        for one in of_kind:
            for name, figure in one.items():
                if isinstance(figure, float):
                    by_name[name].append((figure, one["about"]))
        for name, figures in by_name.items():
            ranked = sorted(figures, reverse=name != "90% hold")
            print(f"  {name}: mean {np.mean([figure for figure, _ in figures]):.3f}, the worst:")
            for figure, about in ranked[:4]:
                print(f"    {figure:.3f}  {about}")


if __name__ == "__main__":
    main()
