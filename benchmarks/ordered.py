"""Ordered answers: ours beside published methods, in one run, and how often our intervals hold.

    python benchmarks/ordered.py                       256 cells, epsilon 0.5, 1, 2 and 4, 20 runs: 15 minutes
    python benchmarks/ordered.py --runs 4 --epsilons 1 --only hill ages
    python benchmarks/ordered.py --coverage            5-step ratings, equal answers and scales, with `auto`
    python benchmarks/ordered.py --speed               10 million reports over 1,024 cells

The real data are read from the folder `--data`; where it is missing, only our own shapes are run.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from ordered_peers import expectation_maximisation, hierarchy, means_of, square_wave, wave_law

import localdp as ldp

SHAPES = ("hill", "two hills", "falling", "leaning", "rising", "long tail")
PERCENTS = (10, 25, 50, 75, 90)


def shaped(name: str, cells: int) -> NDArray[np.float64]:
    """Shares of a smooth shape."""
    t = (np.arange(cells) + 0.5) / cells

    def bump(centre: float, width: float) -> NDArray[np.float64]:
        return np.exp(-0.5 * ((t - centre) / width) ** 2)

    found = {
        "hill": bump(0.45, 0.15),
        "two hills": 0.6 * bump(0.3, 0.07) / 0.07 + 0.4 * bump(0.72, 0.1) / 0.1,
        "falling": np.exp(-6 * t),
        "leaning": t**4 * (1 - t),
        "rising": 0.3 + t**2,
        "long tail": t * np.exp(-12 * t),
    }[name]
    return np.asarray(found / found.sum())


def real_data(folder: Path, cells: int) -> dict[str, NDArray[np.int64]]:
    """Diamond prices, taxi times, Adult's ages and hours, in equal bins from the least to the largest value."""
    if not (folder / "diamond-prices.csv").exists():
        print(f"(no real data: {folder} has no diamond-prices.csv)")
        return {}
    found = {}
    for name, file in (("diamonds", "diamond-prices.csv"), ("taxi", "taxi-pickups.csv")):
        with (folder / file).open() as lines:
            pairs = np.array(list(csv.reader(lines))[1:], float)
        found[name] = np.repeat(pairs[:, 0], pairs[:, 1].astype(int))
    with gzip.open(folder / "adult.csv.gz", "rt") as lines:
        rows = list(csv.DictReader(lines))
    hours = next(name for name in rows[0] if "hour" in name)
    found["ages"] = np.array([float(row["age"]) for row in rows])
    found["hours"] = np.array([float(row[hours]) for row in rows])
    return {
        name: np.bincount(
            np.minimum((values - values.min()) / np.ptp(values) * cells, cells - 1).astype(int), None, cells
        )
        for name, values in found.items()
    }


def measured(shares: NDArray[np.float64], truth: NDArray[np.float64], ranges: NDArray[np.int64]) -> list[float]:
    """Wasserstein and Kolmogorov distance, squared errors of mean and median, and mean error of ranges."""
    sums, true = np.cumsum(shares), np.cumsum(truth)
    place = (np.arange(truth.size) + 0.5) / truth.size
    both = [np.r_[0.0, c] for c in (sums, true)]
    median, true_median = (np.interp(0.5, np.maximum.accumulate(c), np.linspace(0, 1, c.size)) for c in both)
    away = np.abs(np.subtract(*[c[ranges[:, 1]] - c[ranges[:, 0]] for c in both])).mean()
    mean = float(place @ (shares - truth))
    return [np.abs(sums - true).mean(), np.abs(sums - true).max(), mean**2, float(median - true_median) ** 2, away]


Seen = dict[str, list[list[float]]]
"""What was measured in each run, of ours, EMS, hierarchies and mechanisms for the mean alone."""


def one_run(plan: ldp.Plan, held: NDArray[np.int64], ranges: NDArray[np.int64], rng: np.random.Generator) -> Seen:
    """One run of one cell. EMS reads the very reports that we read, if their band has the published width."""
    cells, epsilon = held.size, plan.mechanism.requested_epsilon
    truth = held / held.sum()
    aggregate = plan.simulate(held, seed=int(rng.integers(2**31)))
    if plan.mechanism.name == "wave":
        law = wave_law(cells, epsilon, plan.mechanism.band)
        published = expectation_maximisation(law, aggregate.counts.astype(float), epsilon, smooth=True)
    else:
        published = square_wave(held, epsilon, rng)
    start = time.process_time()
    cal = aggregate.estimate().calibrate()
    shares = cal.shares
    seconds = time.process_time() - start
    true_mean = float(truth @ ((np.arange(cells) + 0.5) / cells))
    return {
        "ours": [measured(shares, truth, ranges)],
        "ems": [measured(published, truth, ranges)],
        "trees": [measured(hierarchy(held, epsilon, rng), truth, ranges)[-1:]],
        "alone": [[(found - true_mean) ** 2 for found in means_of(held, epsilon, rng).values()]],
        "inside": [covered(cal, held, rng)],
        "seconds": [[seconds]],
    }


def compare(args: argparse.Namespace) -> None:
    """Print the ratio of our errors to those of the peers, for every data set and epsilon."""
    rng = np.random.default_rng(args.seed)
    ranges = np.sort(rng.integers(0, args.cells + 1, (200, 2)), axis=1)
    data = {name: rng.multinomial(args.users, shaped(name, args.cells)) for name in SHAPES}
    data |= real_data(args.data, args.cells)
    chosen = {name: held for name, held in data.items() if not args.only or name in args.only}
    plans = {e: ldp.Plan(ldp.Scale(1, args.cells), "auto", e) for e in args.epsilons}
    seen: dict[tuple[str, float], Seen] = {}
    end, runs = time.monotonic() + 60 * args.minutes, 0
    while runs < args.runs and time.monotonic() < end:
        for name, held in chosen.items():
            for epsilon, plan in plans.items():
                for kind, values in one_run(plan, held, ranges, rng).items():
                    seen.setdefault((name, epsilon), {}).setdefault(kind, []).extend(values)
        runs += 1
        print(f"run {runs}", flush=True)
    print(
        f"{args.cells} cells, {runs} runs, seed {args.seed}. Ours divided by EMS (published width, the same reports);"
    )
    print("ranges by a consistent hierarchy; the mean (squared error) also by the best mechanism for it alone.")
    print("Then the share of 90% intervals that hold: mean, percentiles, ranges.\n")
    print("data        eps  mech      W1     KS   mean  median  ranges  mean/alone    mean  perc.  ranges  seconds")
    rows = {key: _row(one) for key, one in seen.items()}
    for (name, epsilon), row in rows.items():
        ratios = "".join(f"{one:7.2f}" for one in row[:5])
        rest = "".join(f"{one:7.2f}" for one in row[6:9])
        print(
            f"{name:<10} {epsilon:>4g}  {plans[epsilon].mechanism.name:<5}{ratios}{row[5]:11.2f} {rest} {row[9]:8.2f}"
        )
    for kind, smooth in (("smooth shapes", True), ("real data", False)):
        some = np.array([row for (name, _), row in rows.items() if (name in SHAPES) == smooth])
        if not some.size:
            continue
        errors = [_doubts(one) for (name, _), one in seen.items() if (name in SHAPES) == smooth]
        doubt = np.sqrt(np.sum(errors, axis=0)) / len(errors)
        print(f"\n{kind}, on average: {some.mean(axis=0).round(2).tolist()}")
        print(f"  standard errors of the first four: {doubt.round(2).tolist()}")
        print(f"  largest: {some.max(axis=0).round(2).tolist()}; least: {some.min(axis=0).round(2).tolist()}")


def _row(seen: Seen) -> list[float]:
    """Ratios of mean errors, shares of intervals that hold, and seconds."""
    mean = {kind: np.mean(values, axis=0) for kind, values in seen.items()}
    ours, hold = mean["ours"], mean["inside"]
    ends = 1 + len(PERCENTS)
    return [
        *(ours[:4] / mean["ems"][:4]),
        ours[4] / mean["trees"][0],
        ours[2] / mean["alone"].min(),
        *(hold[0], hold[1:ends].mean(), hold[ends:].mean()),
        mean["seconds"][0],
    ]


def _doubts(seen: Seen) -> NDArray[np.float64]:
    """The variances of the ratios to EMS: both read the same reports, so their errors go together."""
    ours, ems = (np.array(seen[kind])[:, :4] for kind in ("ours", "ems"))
    ratio = ours.mean(axis=0) / ems.mean(axis=0)
    return np.asarray(((ours - ratio * ems).var(axis=0) / max(len(ours) - 1, 1)) / ems.mean(axis=0) ** 2)


def covered(cal: ldp.Calibrated, held: NDArray[np.int64], rng: np.random.Generator) -> list[bool]:
    """Whether the 90% intervals of the mean, of percentiles and of ten ranges hold the truth."""
    cells, truth = held.size, held / held.sum()
    values, sums = np.arange(1, cells + 1), np.cumsum(truth)
    mean = cal.mean()
    found = [mean.low <= float(truth @ values) <= mean.high]
    for percent in PERCENTS:
        one = cal.percentile(percent)
        found.append(one.low <= 1 + int(np.searchsorted(sums, percent / 100 - 1e-12)) <= one.high)
    for _ in range(10):
        low, high = np.sort(rng.choice(cells, 2)) + 1
        share = cal.share_between(low, high)
        found.append(share.low - 1e-9 <= truth[low - 1 : high].sum() <= share.high + 1e-9)
    return found


def coverage(args: argparse.Namespace) -> None:
    """How often the intervals of mean, percentiles and ranges hold, by kind."""
    rng = np.random.default_rng(args.seed)
    print(f"Share of 90% intervals that hold, {args.runs} runs, seed {args.seed}.\n")
    print("cells  people  answers      eps  mech    mean  percentiles  ranges")
    every = []
    people_of = {5: 500, 24: 5_000, 101: 20_000, 256: 100_000}
    for cells in args.sizes:
        people = people_of.get(cells, 100 * cells)
        for name in ("hill", "falling", "equal", "spiky"):
            for epsilon in args.epsilons:
                plan, inside = ldp.Plan(ldp.Scale(1, cells), args.mechanism, epsilon), []
                for _ in range(args.runs):
                    if name == "equal":
                        shares = np.eye(cells)[cells // 2]
                    elif name == "spiky":
                        shares = shaped("hill", cells) * np.where(np.arange(cells) % 5 == 0, 4, 1)
                    else:
                        shares = shaped(name, cells)
                    held = rng.multinomial(people, shares / shares.sum())
                    cal = plan.simulate(held, seed=int(rng.integers(2**31))).estimate().calibrate()
                    inside.append(covered(cal, held, rng))
                hold = np.mean(inside, axis=0)
                row = [hold[0], hold[1 : 1 + len(PERCENTS)].mean(), hold[1 + len(PERCENTS) :].mean()]
                every.append(row)
                print(
                    f"{cells:>5}  {people:>6}  {name:<10} {epsilon:>5g}  {plan.mechanism.name:<5}"
                    f"{row[0]:7.2f} {row[1]:12.2f} {row[2]:7.2f}",
                    flush=True,
                )
    print(f"\non average: {np.mean(every, axis=0).round(3).tolist()}; least: {np.min(every, axis=0).round(2).tolist()}")


def speed(args: argparse.Namespace) -> None:
    """Count and calibrate 10 million reports; seconds are those of a processor, the least of three times."""
    rng = np.random.default_rng(args.seed)
    values = rng.choice(1024, 10_000_000, p=shaped("two hills", 1024))

    def seconds(work: Callable[[], object]) -> float:
        taken = []
        for _ in range(3):
            start = time.process_time()
            work()
            taken.append(time.process_time() - start)
        return min(taken)

    counted = {}
    for name in ("grr", "wave"):
        plan = ldp.Plan(ldp.Scale(0, 1023), name, 1.0)
        reports = plan.privatize(values, seed=1)
        counted[name] = seconds(lambda: plan.aggregate(reports))  # noqa: B023 (called at once)
        aggregate = plan.aggregate(reports)
        print(f"{name}: 10 million reports counted in {counted[name]:.3f} s")
    print(f"wave takes {counted['wave'] / counted['grr']:.2f} times as long as grr")
    taken = seconds(lambda: aggregate.estimate().calibrate().frequencies.sum())
    print(f"wave: 1,024 cells calibrated in {taken:.2f} s")


def main() -> None:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--minutes", type=float, default=1e6, help="begin no other run after so many")
    parser.add_argument("--cells", type=int, default=256)
    parser.add_argument("--users", type=int, default=100_000)
    parser.add_argument("--epsilons", type=float, nargs="+", default=[0.5, 1.0, 2.0, 4.0])
    parser.add_argument("--only", nargs="+")
    parser.add_argument("--seed", type=int, default=20261118)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--mechanism", default="auto", help="of the plans whose coverage is measured")
    parser.add_argument("--sizes", type=int, nargs="+", default=[5, 24, 101, 256], help="cells, for the coverage")
    parser.add_argument("--coverage", action="store_true")
    parser.add_argument("--speed", action="store_true")
    args = parser.parse_args()
    (coverage if args.coverage else speed if args.speed else compare)(args)


if __name__ == "__main__":
    main()
