"""What the paper says, what is found here, and whether it holds.

Two of its figures need reading. Its "relative improvement" of Calibrate upon Zero is (Zero - Calibrate)/Calibrate,
relative to the smaller error: relative to the larger, 97% would leave next to nothing. And the "variance of 5434" of
the noise on Kosarak is a standard deviation: sqrt(8,019,015 * 4e/(e-1)^2) = 5434 at epsilon 1.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from localdp.datasets import Dataset
from localdp.experiments.results import Results, Row
from localdp.experiments.trials import AUTO, AUTO_F1, CUT, LIKELIHOOD, ORACLE, ORACLE_F1, RAW, ZERO

THRESHOLD_EPSILON = 4.0


@dataclass(frozen=True)
class _Published:
    """The figures of the paper for one of its data sets."""

    noise: str
    gains: dict[float, float]


_UNPUBLISHED = _Published("", {})
_PUBLISHED = {
    (8_019_015, 41_270): _Published(
        "; predicted 0 and 5434, fitted -3.2 and 5405 (called variances, but deviations at epsilon 1)",
        {1.0: 0.16, 5.0: 0.97},
    ),
    (908_576, 16_470): _Published("", {1.0: 0.024, 5.0: 0.65}),
}
"""By the number of users and of items."""


@dataclass(frozen=True)
class Claim:
    """A statement of the paper (or, where it makes none, of ours), in our words, and what was found."""

    topic: str
    paper: str
    here: str
    holds: str


def claims(results: Results, data: Dataset) -> Iterator[Claim]:
    """Every claim, tried on one data set."""
    yield _power_law(data)
    epsilons = sorted(
        {row.epsilon for row in results.select(lambda row: row.data == data.label and row.mechanism == "oue")}
    )
    if 1.0 in epsilons:
        yield _noise(results, data)
    yield _orders_of_magnitude(results, data, epsilons)
    for epsilon in (1.0, 5.0):
        if epsilon in epsilons:
            yield _gain(results, data, epsilon)
    yield _growth(results, data, epsilons)
    yield _zeroing(results, data, epsilons)
    if THRESHOLD_EPSILON in epsilons:
        yield from _thresholds(results, data)
    yield _budgets(results, data, epsilons)
    yield _limit(results, data, epsilons)
    yield _coverage(results, data, epsilons)


def relative_gain(results: Results, data: Dataset, epsilon: float, method: str = LIKELIHOOD) -> float:
    """(Zero - Calibrate)/Calibrate of the estimation errors."""
    zero = results.find(data.label, epsilon, ZERO).mean
    ours = results.find(data.label, epsilon, method).mean
    return (zero - ours) / ours


def _power_law(data: Dataset) -> Claim:
    values, counts = np.unique(data.frequencies[data.frequencies > 0], return_counts=True)
    several = counts >= 10
    if several.sum() < 3:
        return Claim("Frequencies", "a power law: a line on logarithmic axes", "too few items to tell", "not tried")
    x, y = np.log(values[several]), np.log(counts[several])
    correlation, slope = float(np.corrcoef(x, y)[0, 1]), float(np.polyfit(x, y, 1)[0])
    found = f"over frequencies that 10 items or more have: slope {slope:.2f}, correlation {correlation:.3f}"
    return Claim(
        "Frequencies",
        "roughly a power law: nearly a line on logarithmic axes",
        found,
        _verdict(correlation < -0.95, partly=correlation < -0.9),
    )


def _noise(results: Results, data: Dataset) -> Claim:
    theory = math.sqrt(data.n * 4 * math.e / (math.e - 1) ** 2)
    mean = results.find(data.label, 1.0, RAW, "noise mean")
    deviation = results.find(data.label, 1.0, RAW, "noise deviation")
    paper = f"Gaussian with mean 0 and the variance that theory gives{_published(data).noise}"
    found = (
        f"at epsilon 1 theory gives deviation {theory:,.0f}; found mean {mean.mean:,.1f} and deviation "
        f"{deviation.mean:,.0f} (over {data.d:,} items, mean of {mean.trials} trials)"
    )
    chance = 6 / math.sqrt(data.d * mean.trials)
    close = abs(mean.mean) < chance * theory and abs(deviation.mean / theory - 1) < max(0.02, chance)
    return Claim("Noise", paper, found, _verdict(close))


def _orders_of_magnitude(results: Results, data: Dataset, epsilons: list[float]) -> Claim:
    factors = {
        epsilon: min(
            results.find(data.label, epsilon, RAW).mean / results.find(data.label, epsilon, method).mean
            for method in (ZERO, LIKELIHOOD)
        )
        for epsilon in epsilons
    }
    shown = ", ".join(f"{factor:,.0f} at {epsilon:g}" for epsilon, factor in factors.items())
    tenfold = [factor >= 10 for factor in factors.values()]
    return Claim(
        "Error",
        "Zero and Calibrate have errors smaller than OUE's by orders of magnitude",
        f"OUE's error over the larger of theirs, by epsilon: {shown}",
        _verdict(all(tenfold), partly=any(tenfold)),
    )


def _gain(results: Results, data: Dataset, epsilon: float) -> Claim:
    gain = relative_gain(results, data, epsilon)
    zero, ours = (results.find(data.label, epsilon, method) for method in (ZERO, LIKELIHOOD))
    spread = (1 + gain) * math.hypot(zero.std_error / zero.mean, ours.std_error / ours.mean)
    auto = relative_gain(results, data, epsilon, AUTO)
    published = _published(data).gains.get(epsilon)
    paper = "Calibrate improves upon Zero" + (f" by {100 * published:g}%" if published else "")
    near = published is None or abs(gain - published) <= max(3 * spread, 0.05)
    found = (
        f"(Zero - Calibrate)/Calibrate = {gain:.1%}, give or take {spread:.1%} (relative to Zero's error instead: "
        f"{gain / (1 + gain):.1%}); with `auto` {auto:.1%}"
    )
    return Claim(f"Gain at epsilon {epsilon:g}", paper, found, _verdict(gain > 0 and near, partly=gain > 0))


def _growth(results: Results, data: Dataset, epsilons: list[float]) -> Claim:
    gains = {epsilon: relative_gain(results, data, epsilon) for epsilon in epsilons}
    shown = ", ".join(f"{gain:.0%} at {epsilon:g}" for epsilon, gain in gains.items())
    within = [gain for epsilon, gain in gains.items() if 1 <= epsilon <= 5]
    rising = all(b > a for a, b in pairwise(within))
    return Claim(
        "Gain and epsilon",
        "the gain upon Zero grows with epsilon",
        f"(Zero - Calibrate)/Calibrate by epsilon: {shown}",
        _verdict(rising, partly=within[-1] > within[0]),
    )


def _zeroing(results: Results, data: Dataset, epsilons: list[float]) -> Claim:
    changes = [
        results.find(data.label, epsilon, CUT).mean / results.find(data.label, epsilon, LIKELIHOOD).mean - 1
        for epsilon in epsilons
    ]
    return Claim(
        "Zero after Calibrate",
        "zeroing calibrated frequencies below the significance threshold hardly changes the error",
        f"it changes it by {min(changes):+.1%} to {max(changes):+.1%}",
        _verdict(max(map(abs, changes)) < 0.05, partly=min(map(abs, changes)) < 0.05),
    )


def _thresholds(results: Results, data: Dataset) -> Iterator[Claim]:
    score = _Scores(results, data)
    below = [multiple for multiple in score.multiples if multiple < 1]
    beyond = [multiple for multiple in score.multiples if multiple >= 1]
    larger = [
        score(LIKELIHOOD, "F-score", m) > max(score(RAW, "F-score", m), score(ZERO, "F-score", m))
        for m in score.multiples
    ]
    yield Claim(
        "Heavy hitters, epsilon 4",
        "Calibrate has the better F-score, most of all below the significance threshold",
        f"better than OUE and Zero at {sum(larger[: len(below)])} of {len(below)} thresholds below it, and at "
        f"{sum(larger[len(below) :])} of {len(beyond)} from it on",
        _verdict(all(larger), partly=sum(larger) > len(larger) / 2),
    )
    precise = [score(LIKELIHOOD, "precision", m) >= score(RAW, "precision", m) - 1e-9 for m in score.multiples]
    missing = [score(LIKELIHOOD, "recall", m) <= score(RAW, "recall", m) + 1e-9 for m in score.multiples]
    yield Claim(
        "Precision and recall",
        "Calibrate has higher precision and lower recall than OUE",
        f"precision is higher (or equal) at {sum(precise)} of {len(precise)} thresholds, recall lower (or equal) at "
        f"{sum(missing)}",
        _verdict(all(precise) and all(missing), partly=sum(precise + missing) > len(precise)),
    )
    same = all(score(RAW, "F-score", m) == score(ZERO, "F-score", m) for m in beyond)
    precision = [score(ZERO, "precision", m) for m in below]
    recall = [score(ZERO, "recall", m) for m in below]
    trend = all(np.diff(precision) <= 1e-9) and all(np.diff(recall) >= -1e-9)
    yield Claim(
        "Zero and the threshold",
        "from the significance threshold on Zero is OUE; below, as the threshold falls, its precision rises and its "
        "recall falls",
        f"{'the same' if same else 'not the same'} from it on; below, precision goes from {precision[-1]:.2f} to "
        f"{precision[0]:.2f} and recall from {recall[-1]:.2f} to {recall[0]:.2f}",
        _verdict(same and trend, partly=same),
    )
    gains = [score(AUTO_F1, "F-score", m) - score(LIKELIHOOD, "F-score", m) for m in score.multiples]
    short = [score(ORACLE_F1, "F-score", m) - score(AUTO_F1, "F-score", m) for m in score.multiples]
    yield Claim(
        "The rule f1 (ours)",
        "",
        f"`auto` with rule `f1` gains {min(gains):+.3f} to {max(gains):+.3f} upon the paper's rule; the oracle "
        f"with the same rule would gain {min(short):+.3f} to {max(short):+.3f} more",
        "",
    )


class _Scores:
    """The scores of the methods by threshold, at the epsilon where all thresholds are tried."""

    def __init__(self, results: Results, data: Dataset) -> None:
        self._results, self._label = results, data.label

        def tried(row: Row) -> bool:
            return row.data == data.label and row.epsilon == THRESHOLD_EPSILON and row.threshold is not None

        self.multiples = sorted({row.threshold for row in results.select(tried) if row.threshold is not None})

    def __call__(self, method: str, metric: str, multiple: float) -> float:
        return self._results.find(self._label, THRESHOLD_EPSILON, method, metric, multiple).mean


def _budgets(results: Results, data: Dataset, epsilons: list[float]) -> Claim:
    def score(method: str, epsilon: float) -> Row:
        return results.find(data.label, epsilon, method, "F-score", 1.0)

    ahead = [score(LIKELIHOOD, epsilon).mean - score(ZERO, epsilon).mean for epsilon in epsilons]
    shown = ", ".join(f"{gain:+.3f} at {epsilon:g}" for epsilon, gain in zip(epsilons, ahead, strict=True))
    return Claim(
        "Heavy hitters and epsilon",
        "at the significance threshold Calibrate has the better F-score at every epsilon",
        f"Calibrate's F-score less Zero's, by epsilon: {shown}",
        _verdict(all(gain > 0 for gain in ahead), partly=any(gain > 0 for gain in ahead)),
    )


def _limit(results: Results, data: Dataset, epsilons: list[float]) -> Claim:
    def over(method: str) -> str:
        ratios = [
            results.find(data.label, epsilon, method).mean / results.find(data.label, epsilon, ORACLE).mean
            for epsilon in epsilons
        ]
        return f"{min(ratios):.3f} to {max(ratios):.3f}"

    found = f"errors over the oracle's: `auto` {over(AUTO)}, Calibrate {over(LIKELIHOOD)}, Zero {over(ZERO)}"
    return Claim("Distance from the limit (ours)", "", found, "")


def _coverage(results: Results, data: Dataset, epsilons: list[float]) -> Claim:
    shares = [results.find(data.label, epsilon, AUTO, "covered").mean for epsilon in epsilons]
    heavy = [results.find(data.label, epsilon, AUTO, "heavy covered").mean for epsilon in epsilons]
    found = (
        f"90% intervals hold {min(shares):.1%} to {max(shares):.1%} of the true frequencies, and "
        f"{np.nanmin(heavy):.1%} to {np.nanmax(heavy):.1%} of those of items estimated above the significance threshold"
    )
    return Claim("Intervals (ours)", "", found, "")


def _published(data: Dataset) -> _Published:
    return _PUBLISHED.get((data.n, data.d), _UNPUBLISHED)


def _verdict(holds: bool, partly: bool = False) -> str:
    return "holds" if holds else "holds in part" if partly else "does not hold"
