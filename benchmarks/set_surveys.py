"""Surveys of sets beside the published rules: which items and itemsets are found; writes docs/results/sets.md.

`python benchmarks/set_surveys.py kosarak-100k.dat.gz retail.dat.gz` takes about half an hour. The files are those of
the FIMI repository, one basket of numbers on each line; any other file of that form will do. `--seed` repeats a run;
without it, seeds are new ones. A list promises that an item or itemset is among the most frequent ones with a
probability: *promised* is its mean over all that were listed, *true* the share of them that are.

The published rules are SVIM and SVSM of Wang, Li & Jha (IEEE S&P 2018), with this library's padding and sampling, by
`grr` or hashing (`llh`), whichever has less variance; PrivSet is not among them. SVIM finds 2k candidates with 40% of
the users and length 1; 10% report how many they hold, and the length is the 90th percentile of those who hold any; 50%
count. SVSM runs SVIM on 40% of the users. Its candidates are the 2k itemsets of two or more items with the largest
products of 0.9 f / max f; 10% report lengths, and 50% count. The single items and the itemsets with the largest
estimates are its result.
"""

from __future__ import annotations

import secrets
from functools import cache, partial
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
from runs import Measurements
from sets import baskets, cumulative_rank
from worst import deliver, measure, parser, table

import localdp as ldp
from localdp.item_sets import ItemSets
from localdp.sets.candidates import Itemset, held, likeliest

PAGE = Path(__file__).parent.parent / "docs" / "results" / "sets.md"
EPSILONS = (1.0, 2.0, 4.0)
TOP_ITEMS, TOP_ITEMSETS, LARGEST = 32, 16, 4
FREQUENT = 48  # items among which the frequent itemsets are looked for


class Cell(NamedTuple):
    """One question asked of one file of baskets."""

    path: str
    question: str
    epsilon: float


@cache
def top_itemsets(path: str) -> list[tuple[int, Itemset]]:
    """The most frequent itemsets and how many users hold each, by counting, the most frequent first."""
    sets, items = baskets(path)
    counts = np.bincount(sets.items, minlength=items)
    order = np.argsort(-counts, kind="stable")[:FREQUENT].tolist()
    singles = held(tuple((item,) for item in order), sets)
    holds = np.zeros((sets.users, FREQUENT), np.bool_)
    holds[np.repeat(np.arange(sets.users), singles.sizes), singles.items] = True
    level = [((place,), holds[:, place]) for place in range(FREQUENT)]
    found: list[tuple[int, Itemset]] = []
    while level:
        found += [(int(users.sum()), tuple(sorted(order[place] for place in places))) for places, users in level]
        found = sorted(found, reverse=True)[: 4 * TOP_ITEMSETS]
        least = found[-1][0]
        longer = [
            ((*places, place), users & holds[:, place])
            for places, users in level
            if len(places) < LARGEST
            for place in range(places[-1] + 1, FREQUENT)
        ]
        level = [(places, users) for places, users in longer if users.sum() >= least]
    assert found[TOP_ITEMSETS - 1][0] > counts[order[-1]], "a frequent itemset may hold an item that was left out"
    return found


def run(task: tuple[str, str, float, int], first: int) -> Measurements:
    """One seeded run of our survey and of the published rule; `first` is the seed of the first run."""
    path, question, epsilon, number = task
    return (items_found if question == "items" else itemsets_found)(path, epsilon, first + number)


def kept_promises(found: ldp.sets.FoundSets, right: list[bool]) -> Measurements:
    """How many are listed, how many of them are promised to be in the true top, and how many are."""
    return {"listed": len(right), "promised": float(np.sum(found.probabilities)), "true": sum(right)}


def items_found(path: str, epsilon: float, seed: int) -> Measurements:
    """The most frequent items: a survey in rounds, one plan for everybody, and SVIM."""
    sets, items = baskets(path)
    truth = np.bincount(sets.items, minlength=items)
    found = ldp.sets.survey(sets, items, epsilon=epsilon, top=TOP_ITEMS, seed=seed)
    candidates = np.array(found.candidates)
    scores = np.full(items, -np.inf)
    scores[candidates] = found.calibrated.frequencies
    published, _ = svim(sets, items, epsilon, TOP_ITEMS, np.random.default_rng(seed))
    scores_published = np.full(items, -np.inf)
    scores_published[published] = -np.arange(published.size)
    low, high = found.interval(0.9)
    own = truth[np.array(found.items)]
    return {
        "ncr": cumulative_rank(scores, truth),
        "published": cumulative_rank(scores_published, truth),
        "raw": ldp.metrics.estimation_error(found.calibrated.estimates, truth[candidates]),
        "calibrated": ldp.metrics.estimation_error(found.calibrated.frequencies, truth[candidates]),
        "coverage": float(np.mean((low <= own) & (own <= high))),
        **kept_promises(found, (own >= np.sort(truth)[-TOP_ITEMS]).tolist()),
    }


def itemsets_found(path: str, epsilon: float, seed: int) -> Measurements:
    """The most frequent itemsets: ours with and without Calibrate, and SVSM."""
    sets, items = baskets(path)
    true = top_itemsets(path)
    found = ldp.sets.itemsets(sets, items, epsilon=epsilon, top=TOP_ITEMSETS, largest=LARGEST, seed=seed)
    raw = np.argsort(-found.calibrated.estimates, kind="stable")[:TOP_ITEMSETS]
    published = svsm(sets, items, epsilon, TOP_ITEMSETS, np.random.default_rng(seed))
    counts = {itemset: count for count, itemset in true}
    known = [place for place, itemset in enumerate(found.items) if itemset in counts]
    own = np.array([counts[found.items[place]] for place in known])
    low, high = found.interval(0.9)
    ranked, without = scored(found.items, true), scored([found.candidates[place] for place in raw.tolist()], true)
    theirs = scored(published, true)
    return {
        "f": ranked[0],
        "ncr": ranked[1],
        "raw f": without[0],
        "raw ncr": without[1],
        "published f": theirs[0],
        "published": theirs[1],
        "coverage": float(np.mean((low[known] <= own) & (own <= high[known]))),
        **kept_promises(found, [counts.get(one, 0) >= true[TOP_ITEMSETS - 1][0] for one in found.items]),
    }


def scored(found: list[Itemset], true: list[tuple[int, Itemset]]) -> tuple[float, float]:
    """The F-score and the normalised cumulative rank of the itemsets found."""
    worth = {itemset: TOP_ITEMSETS - place for place, (_, itemset) in enumerate(true[:TOP_ITEMSETS])}
    right = [worth[itemset] for itemset in found if itemset in worth]
    return 2 * len(right) / (len(found) + TOP_ITEMSETS), sum(right) / sum(worth.values())


def svim(sets: ItemSets, items: int, epsilon: float, k: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """The k items with the largest estimates by SVIM, the first first, and their shares of the users."""
    find, length, count = groups(sets, (0.4, 0.1, 0.5), rng)
    seen = sampled(find, items, epsilon, 1, rng)
    candidates = np.sort(np.argsort(-seen, kind="stable")[: 2 * k])
    itemsets = tuple((int(item),) for item in candidates)
    estimates = counted(itemsets, length, count, epsilon, rng)
    best = np.argsort(-estimates, kind="stable")[:k]
    return candidates[best], estimates[best]


def svsm(sets: ItemSets, items: int, epsilon: float, k: int, rng: np.random.Generator) -> list[Itemset]:
    """The k itemsets with the largest estimates by SVSM, the first first."""
    first, length, count = groups(sets, (0.4, 0.1, 0.5), rng)
    best, shares = svim(first, items, epsilon, k, rng)
    guesses = np.clip(0.9 * shares / shares.max(), 1e-9, 0.9)
    combined = (places for places in likeliest(guesses, LARGEST) if len(places) > 1)
    named = (tuple(sorted(best[list(places)].tolist())) for places in combined)
    candidates = tuple(islice(named, 2 * k))
    estimates = np.concatenate([counted(candidates, length, count, epsilon, rng), shares])
    listed = [*candidates, *((int(item),) for item in best)]
    return [listed[place] for place in np.argsort(-estimates, kind="stable")[:k].tolist()]


def counted(
    candidates: tuple[Itemset, ...], length: ItemSets, count: ItemSets, epsilon: float, rng: np.random.Generator
) -> np.ndarray:
    """The shares of the users who hold each candidate: one group says how many it holds, the other which."""
    sizes = held(candidates, length).sizes
    classes = len(candidates) + 1
    plan = least_noisy(classes, epsilon)
    law = plan.simulate(np.bincount(sizes, minlength=classes), seed=int(rng.integers(2**31))).estimate().frequencies
    some = np.cumsum(law[1:])
    padded = int(np.argmax(some >= 0.9 * some[-1])) + 1 if some[-1] > 0 else 1
    return sampled(held(candidates, count), len(candidates), epsilon, padded, rng)


def sampled(sets: ItemSets, items: int, epsilon: float, length: int, rng: np.random.Generator) -> np.ndarray:
    """The estimated shares of holders by padding and sampling."""
    plan = least_noisy(items, epsilon, length)
    reports = plan.privatize_sets(sets, seed=int(rng.integers(2**31)))
    return np.asarray(plan.aggregate(reports).estimate().frequencies) / sets.users


def least_noisy(items: int, epsilon: float, set_size: int | None = None) -> ldp.Plan:
    """The plan with `grr` or `llh`, whichever has less variance."""
    plans = [ldp.Plan(items, name, epsilon, set_size=set_size) for name in ("grr", "llh")]
    return min(plans, key=lambda plan: plan.mechanism.variance(1))


def groups(sets: ItemSets, shares: tuple[float, ...], rng: np.random.Generator) -> list[ItemSets]:
    """The users in disjoint groups of these shares."""
    order = rng.permutation(sets.users)
    ends = np.rint(np.cumsum(shares) * sets.users).astype(int)
    return [sets.take(np.sort(part)) for part in np.split(order, ends[:-1])]


PROMISES = ("90% hold", "listed", "promised", "true")


def promises(found: Measurements) -> list[str]:
    """How many intervals hold, how many are listed in a run, and which share of them is and was said to be right."""
    listed = found["listed"]
    shares = [f"{found[key] / listed:.2f}" if listed else "-" for key in ("promised", "true")]
    return [f"{found['coverage']:.2f}", f"{listed:.1f}", *shares]


def page_of_items(measured: dict[Cell, Measurements]) -> list[str]:
    head = ("baskets", "epsilon", f"rank of the top {TOP_ITEMS}", "SVIM", "error: raw", "calibrated", *PROMISES)
    rows = [
        (
            Path(cell.path).name.partition(".")[0],
            f"{cell.epsilon:g}",
            f"{found['ncr']:.2f}",
            f"{found['published']:.2f}",
            f"{found['raw']:,.0f}",
            f"{found['calibrated']:,.0f}",
            *promises(found),
        )
        for cell, found in measured.items()
        if cell.question == "items"
    ]
    return table(head, rows)


def page_of_itemsets(measured: dict[Cell, Measurements]) -> list[str]:
    head = ("baskets", "epsilon", "F", "rank", "F without Calibrate", "rank", "F of SVSM", "rank", *PROMISES)
    rows = [
        (
            Path(cell.path).name.partition(".")[0],
            f"{cell.epsilon:g}",
            *(f"{found[key]:.2f}" for key in ("f", "ncr", "raw f", "raw ncr", "published f", "published")),
            *promises(found),
        )
        for cell, found in measured.items()
        if cell.question == "itemsets"
    ]
    return table(head, rows)


def main() -> None:
    options = parser(__doc__)
    options.add_argument("baskets", nargs="+", help="files of baskets, one basket of numbers on each line")
    options.add_argument("--seed", type=int, default=None, help="the seed of the first run; a new one unless given")
    given = options.parse_args()
    first = secrets.randbits(31) if given.seed is None else given.seed
    epsilons = EPSILONS[1:2] if given.quick else EPSILONS
    cells = [
        Cell(path, question, epsilon)
        for question in ("items", "itemsets")
        for path in given.baskets
        for epsilon in epsilons
    ]
    measured = measure(cells, given, partial(run, first=first))
    runs = [f"Means of {given.runs} runs, with seeds from {first} on:", ""]
    deliver("surveys", [*runs, *page_of_items(measured)], given, PAGE)
    deliver("itemsets", [*runs, *page_of_itemsets(measured)], given, PAGE)


if __name__ == "__main__":
    main()
