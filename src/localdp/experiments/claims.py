"""The paper's claims, the measurements beside them, and whether each claim holds.

Two of the paper's numbers need interpretation. Its "relative improvement" of Calibrate over Zero is
(Zero - Calibrate)/Calibrate, relative to the smaller error: relative to the larger one, an improvement of 97% would
leave almost no error. And the "variance of 5434" of the noise on Kosarak is a standard deviation:
sqrt(8,019,015 * 4e/(e-1)^2) = 5434 at epsilon 1.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from localdp.datasets import Dataset
from localdp.experiments.results import Mean, Results
from localdp.experiments.trials import AUTO, AUTO_F1, CUT, LIKELIHOOD, ORACLE, ORACLE_F1, RAW, ZERO

THRESHOLD_EPSILON = 4.0


@dataclass(frozen=True)
class _Published:
    """The paper's numbers for one of its data sets: a remark about the noise, and the gain at each epsilon."""

    noise: str
    gains: dict[float, float]


_UNPUBLISHED = _Published("", {})
_PUBLISHED = {
    (8_019_015, 41_270): _Published(
        "; the paper predicts a deviation of 5434 and measures a mean of -3.2 and a deviation of 5405 (it calls the "
        "deviations variances)",
        {1.0: 0.16, 5.0: 0.97},
    ),
    (908_576, 16_470): _Published("", {1.0: 0.024, 5.0: 0.65}),
}
"""The key is the number of users and the number of items, which identify a data set of the paper."""


@dataclass(frozen=True)
class Claim:
    """What the paper says about a topic, in our words, what was measured here, and the verdict.

    `paper` and `holds` are empty where the paper says nothing and the measurement is ours alone.
    """

    topic: str
    paper: str
    here: str
    holds: str


def claims(results: Results, data: Dataset) -> Iterator[Claim]:
    """Every claim, compared with the results on one data set."""
    yield _power_law(data)
    epsilons = sorted(
        {mean.epsilon for mean in results.select(lambda mean: mean.data == data.label and mean.mechanism == "oue")}
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
    """(Zero - Calibrate)/Calibrate, where both are estimation errors: 0.5 means that Zero's error is 50% larger."""
    zero = results.error(data.label, epsilon, ZERO)
    ours = results.error(data.label, epsilon, method)
    return (zero - ours) / ours


def _power_law(data: Dataset) -> Claim:
    values, counts = np.unique(data.frequencies[data.frequencies > 0], return_counts=True)
    common = counts >= 10  # the counts of rarer frequencies are mostly noise
    paper = "frequencies roughly follow a power law: nearly a line on logarithmic axes"
    if common.sum() < 3 or np.ptp(counts[common]) == 0:
        return Claim("Frequencies", paper, "too few items to tell", "not tried")
    x, y = np.log(values[common]), np.log(counts[common])
    correlation, slope = float(np.corrcoef(x, y)[0, 1]), float(np.polyfit(x, y, 1)[0])
    found = f"among frequencies that at least 10 items have: slope {slope:.2f}, correlation {correlation:.3f}"
    return Claim("Frequencies", paper, found, _verdict(correlation < -0.95, partly=correlation < -0.9))


def _noise(results: Results, data: Dataset) -> Claim:
    theory = math.sqrt(data.n * 4 * math.e / (math.e - 1) ** 2)
    mean = results.find(data.label, 1.0, RAW, "noise mean")
    deviation = results.find(data.label, 1.0, RAW, "noise deviation")
    paper = f"the noise is Gaussian, with mean 0 and the variance that theory gives{_published(data).noise}"
    trials = "one trial" if mean.trials == 1 else f"mean of {mean.trials} trials"
    found = (
        f"at epsilon 1, theory gives a standard deviation of {theory:,.0f}; measured: mean {mean.mean:,.1f}, standard "
        f"deviation {deviation.mean:,.0f} (over {data.d:,} items, {trials})"
    )
    chance = 6 / math.sqrt(data.d * mean.trials)  # six standard errors of the mean, in units of the deviation
    close = abs(mean.mean) < chance * theory and abs(deviation.mean / theory - 1) < max(0.02, chance)
    return Claim("Noise", paper, found, _verdict(close))


def _orders_of_magnitude(results: Results, data: Dataset, epsilons: list[float]) -> Claim:
    factors = {
        epsilon: min(
            results.error(data.label, epsilon, RAW) / results.error(data.label, epsilon, method)
            for method in (ZERO, LIKELIHOOD)
        )
        for epsilon in epsilons
    }
    shown = ", ".join(f"{factor:,.0f} at {epsilon:g}" for epsilon, factor in factors.items())
    tenfold = [factor >= 10 for factor in factors.values()]
    return Claim(
        "Error",
        "the errors of Zero and Calibrate are smaller than OUE's by orders of magnitude",
        f"OUE's error divided by the larger of the two errors, at each epsilon: {shown}",
        _verdict(all(tenfold), partly=any(tenfold)),
    )


def _gain(results: Results, data: Dataset, epsilon: float) -> Claim:
    gain = relative_gain(results, data, epsilon)
    zero, ours = (results.find(data.label, epsilon, method) for method in (ZERO, LIKELIHOOD))
    # An upper bound: both errors come from the same trials and rise and fall together, which this ignores.
    spread = (1 + gain) * math.hypot(*(mean.std_error / max(mean.mean, 1e-9) for mean in (zero, ours)))
    auto = relative_gain(results, data, epsilon, AUTO)
    published = _published(data).gains.get(epsilon)
    paper = "Calibrate improves on Zero" + (f" by {100 * published:g}%" if published else "")
    near = published is None or abs(gain - published) <= max(3 * spread, 0.1 * published)
    accuracy = f"standard error at most {spread:.1%}" if zero.trials > 1 else "one trial"
    found = (
        f"(Zero - Calibrate)/Calibrate = {gain:.1%}, {accuracy} ({gain / (1 + gain):.1%} relative to Zero's error); "
        f"with `auto` instead of the power law: {auto:.1%}"
    )
    return Claim(f"Gain at epsilon {epsilon:g}", paper, found, _verdict(gain > 0 and near, partly=gain > 0))


def _growth(results: Results, data: Dataset, epsilons: list[float]) -> Claim:
    gains = {epsilon: relative_gain(results, data, epsilon) for epsilon in epsilons}
    shown = ", ".join(f"{gain:.0%} at {epsilon:g}" for epsilon, gain in gains.items())
    by_epsilon = list(gains.values())
    rising = all(after > before for before, after in pairwise(by_epsilon))
    return Claim(
        "Gain and epsilon",
        "the gain over Zero grows with epsilon",
        f"(Zero - Calibrate)/Calibrate at each epsilon: {shown}",
        _verdict(rising, partly=by_epsilon[-1] > by_epsilon[0]),
    )


def _zeroing(results: Results, data: Dataset, epsilons: list[float]) -> Claim:
    changes = [
        results.error(data.label, epsilon, CUT) / results.error(data.label, epsilon, LIKELIHOOD) - 1
        for epsilon in epsilons
    ]
    return Claim(
        "Zero after Calibrate",
        "setting calibrated frequencies below the significance threshold to zero hardly changes the error",
        f"the error changes by {min(changes):+.1%} to {max(changes):+.1%}, depending on epsilon",
        _verdict(max(map(abs, changes)) < 0.05, partly=min(map(abs, changes)) < 0.05),
    )


def _thresholds(results: Results, data: Dataset) -> Iterator[Claim]:
    score = _Scores(results, data)
    tried = len(score.multiples)
    below = [multiple for multiple in score.multiples if multiple < 1]
    above = [multiple for multiple in score.multiples if multiple >= 1]
    larger = [
        score(LIKELIHOOD, "F-score", m) > max(score(RAW, "F-score", m), score(ZERO, "F-score", m))
        for m in score.multiples
    ]
    yield Claim(
        "Heavy hitters, epsilon 4",
        "Calibrate has the best F-score, most clearly for thresholds below the significance threshold",
        f"better than OUE and Zero at {sum(larger[: len(below)])} of {len(below)} thresholds below the significance "
        f"threshold, and at {sum(larger[len(below) :])} of {len(above)} thresholds from it upwards",
        _verdict(all(larger), partly=sum(larger) > len(larger) / 2),
    )
    precision_higher = [score(LIKELIHOOD, "precision", m) >= score(RAW, "precision", m) - 1e-9 for m in score.multiples]
    recall_lower = [score(LIKELIHOOD, "recall", m) <= score(RAW, "recall", m) + 1e-9 for m in score.multiples]
    yield Claim(
        "Precision and recall",
        "Calibrate has higher precision and lower recall than OUE",
        f"precision is higher or equal at {sum(precision_higher)} of {tried} thresholds, recall is lower or equal at "
        f"{sum(recall_lower)} of {tried}",
        _verdict(all(precision_higher) and all(recall_lower), partly=sum(precision_higher) + sum(recall_lower) > tried),
    )
    same = all(score(RAW, "F-score", m) == score(ZERO, "F-score", m) for m in above)
    precision = [score(ZERO, "precision", m) for m in below]
    recall = [score(ZERO, "recall", m) for m in below]
    trend = all(np.diff(precision) <= 1e-9) and all(np.diff(recall) >= -1e-9)
    yield Claim(
        "Zero and the threshold",
        "from the significance threshold upwards Zero and OUE are the same; as the threshold falls below it, Zero's "
        "precision rises and its recall falls",
        f"{'the same' if same else 'not the same'} from it upwards; below it, precision goes from {precision[-1]:.2f} "
        f"to {precision[0]:.2f} and recall from {recall[-1]:.2f} to {recall[0]:.2f}",
        _verdict(same and trend, partly=same),
    )
    gains = [score(AUTO_F1, "F-score", m) - score(LIKELIHOOD, "F-score", m) for m in score.multiples]
    distances = [score(ORACLE_F1, "F-score", m) - score(AUTO_F1, "F-score", m) for m in score.multiples]
    yield Claim(
        "The rule f1 (ours)",
        "",
        f"`auto` with rule `f1` changes the F-score of the paper's method by {min(gains):+.3f} to {max(gains):+.3f}; "
        f"the oracle with rule `f1` would change it by a further {min(distances):+.3f} to {max(distances):+.3f}",
        "",
    )


class _Scores:
    """The scores of a method at each threshold, at the one epsilon where all thresholds are tried."""

    def __init__(self, results: Results, data: Dataset) -> None:
        self._results, self._label = results, data.label

        def tried(mean: Mean) -> bool:
            return mean.data == data.label and mean.epsilon == THRESHOLD_EPSILON and mean.threshold is not None

        self.multiples = sorted({mean.threshold for mean in results.select(tried) if mean.threshold is not None})

    def __call__(self, method: str, metric: str, multiple: float) -> float:
        return self._results.find(self._label, THRESHOLD_EPSILON, method, metric, multiple).mean


def _budgets(results: Results, data: Dataset, epsilons: list[float]) -> Claim:
    def score(method: str, epsilon: float) -> Mean:
        return results.find(data.label, epsilon, method, "F-score", 1.0)

    ahead = [score(LIKELIHOOD, epsilon).mean - score(ZERO, epsilon).mean for epsilon in epsilons]
    shown = ", ".join(f"{gain:+.3f} at {epsilon:g}" for epsilon, gain in zip(epsilons, ahead, strict=True))
    return Claim(
        "Heavy hitters and epsilon",
        "at the significance threshold, Calibrate has the better F-score at every epsilon",
        f"Calibrate's F-score minus Zero's, at each epsilon: {shown}",
        _verdict(all(gain > 0 for gain in ahead), partly=any(gain > 0 for gain in ahead)),
    )


def _limit(results: Results, data: Dataset, epsilons: list[float]) -> Claim:
    def ratio_to_oracle(method: str) -> str:
        ratios = [
            results.error(data.label, epsilon, method) / results.error(data.label, epsilon, ORACLE)
            for epsilon in epsilons
        ]
        return f"{min(ratios):.3f} to {max(ratios):.3f}"

    found = (
        f"error divided by the oracle's: {ratio_to_oracle(AUTO)} for `auto`, {ratio_to_oracle(LIKELIHOOD)} for "
        f"Calibrate, {ratio_to_oracle(ZERO)} for Zero"
    )
    return Claim("Distance from the limit (ours)", "", found, "")


def _coverage(results: Results, data: Dataset, epsilons: list[float]) -> Claim:
    shares = [results.find(data.label, epsilon, AUTO, "covered").mean for epsilon in epsilons]
    heavy = [results.find(data.label, epsilon, AUTO, "heavy covered").mean for epsilon in epsilons]
    found = f"90% intervals contain {min(shares):.1%} to {max(shares):.1%} of the true frequencies"
    if known := [share for share in heavy if not math.isnan(share)]:
        found += f"; for items estimated above the significance threshold, {min(known):.1%} to {max(known):.1%}"
    return Claim("Intervals (ours)", "", found, "")


def _published(data: Dataset) -> _Published:
    return _PUBLISHED.get((data.n, data.d), _UNPUBLISHED)


def _verdict(holds: bool, partly: bool = False) -> str:
    return "holds" if holds else "holds in part" if partly else "does not hold"
