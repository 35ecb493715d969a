"""The paper's claims about frequencies, noise and estimation errors, and the measurements beside them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from localdp.datasets import Dataset
from localdp.experiments.claims import pairs
from localdp.experiments.claims.pairs import Paired
from localdp.experiments.claims.verdicts import (
    FAILS,
    HOLDS,
    PARTLY,
    TIE,
    UNDECIDED,
    UNTRIED,
    Claim,
    Finding,
    verdict,
    verdict_of_comparisons,
)
from localdp.experiments.measures.normality import combined_p_value
from localdp.experiments.measures.power_laws import UNLIKELY, power_law_test
from localdp.experiments.results import Results
from localdp.experiments.tasks import CUTS, FITS, LIKELIHOOD, RAW, ZERO

SMALLEST_P_VALUE = 0.001
"""The noise is called Gaussian unless the combined p-value of the trials is below this."""
NEAR = 0.1
"""A gain agrees with the paper's if it is within 10% of it, or if the paper's is within its 99% interval."""


@dataclass(frozen=True)
class Published:
    """The paper's numbers for one of its data sets: a remark about the noise, and the gain at each epsilon."""

    noise: str
    gains: dict[float, float]


_UNPUBLISHED = Published("", {})
_PUBLISHED = {
    (8_019_015, 41_270): Published(
        "; the paper predicts a deviation of 5434 and measures a mean of -3.2 and a deviation of 5405 (it calls the "
        "deviations variances)",
        {1.0: 0.16, 5.0: 0.97},
    ),
    (908_576, 16_470): Published("", {1.0: 0.024, 5.0: 0.65}),
}
"""The key is the number of users and the number of items, which identify a data set of the paper."""


def published(data: Dataset) -> Published:
    """The paper's numbers for this data set, if it is one of the paper's."""
    return _PUBLISHED.get((data.n, data.d), _UNPUBLISHED)


def claims(results: Results, data: Dataset, epsilons: list[float]) -> Iterator[Claim]:
    """The claims about frequencies, noise and errors on one data set."""
    yield _power_law(data)
    if 1.0 in epsilons:
        yield _noise(results, data)
    yield _orders_of_magnitude(results, data, epsilons)
    for epsilon in (1.0, 5.0):
        if epsilon in epsilons:
            yield _gain(results, data, epsilon)
    yield _growth(results, data, epsilons)
    yield _zeroing(results, data, epsilons)


def relative_gain(results: Results, data: Dataset, epsilon: float, method: str = LIKELIHOOD) -> Paired:
    """(Zero - Calibrate)/Calibrate, where both are estimation errors: 0.5 means that Zero's error is 50% larger."""
    return pairs.gain(results.find(data.label, epsilon, ZERO), results.find(data.label, epsilon, method))


def _power_law(data: Dataset) -> Claim:
    values, counts = np.unique(data.frequencies[data.frequencies > 0], return_counts=True)
    common = counts >= 10  # the counts of rarer frequencies are mostly noise
    paper = "frequencies roughly follow a power law: nearly a line on logarithmic axes"
    if common.sum() < 3 or np.ptp(counts[common]) == 0:
        return Claim("Frequencies", paper, (Finding("too few items to tell", UNTRIED),))
    x, y = np.log(values[common]), np.log(counts[common])
    correlation, slope = float(np.corrcoef(x, y)[0, 1]), float(np.polyfit(x, y, 1)[0])
    distance, p_value = power_law_test(data.frequencies)
    shown = f"is below {UNLIKELY:g}" if p_value < UNLIKELY else f"is at most {p_value:.2g}"
    found = (
        f"among frequencies that at least 10 items have: slope {slope:.2f}, correlation {correlation:.3f}. Beside the "
        f"nearest of all power laws, the shares of items up to a frequency differ by up to {distance:.3f}: if the "
        f"frequencies were drawn from a power law, the probability of that {shown}"
    )
    line = correlation < -0.95
    judged = verdict(line and p_value >= SMALLEST_P_VALUE, partly=correlation < -0.9)
    return Claim("Frequencies", paper, (Finding(found, judged),))


def _noise(results: Results, data: Dataset) -> Claim:
    theory = math.sqrt(data.n * 4 * math.e / (math.e - 1) ** 2)
    mean, deviation, distance, p_values = (
        results.find(data.label, 1.0, RAW, f"noise {name}") for name in ("mean", "deviation", "distance", "p-value")
    )
    paper = f"the noise is Gaussian, with mean 0 and the variance that theory gives{published(data).noise}"
    p_value = combined_p_value(p_values.values)
    trials = "one trial" if mean.trials == 1 else f"{mean.trials} trials"
    found = (
        f"at epsilon 1, theory gives a standard deviation of {theory:,.0f}; measured over {data.d:,} items and "
        f"{trials}: mean {mean.mean:,.1f}, standard deviation {deviation.mean:,.0f}. Kolmogorov-Smirnov test against "
        f"the Gaussian of the theory: mean distance {distance.mean:.4f}, combined p-value {p_value:.2g} (smallest of "
        f"the trials: {min(p_values.values):.2g})"
    )
    chance = 6 / math.sqrt(data.d * mean.trials)  # six standard errors of the mean, in units of the deviation
    close = abs(mean.mean) < chance * theory and abs(deviation.mean / theory - 1) < max(0.02, chance)
    return Claim("Noise", paper, (Finding(found, verdict(close and p_value >= SMALLEST_P_VALUE, partly=close)),))


def _orders_of_magnitude(results: Results, data: Dataset, epsilons: list[float]) -> Claim:
    findings = []
    for fit, method in FITS.items():
        factors = {
            epsilon: min(
                results.error(data.label, epsilon, RAW) / results.error(data.label, epsilon, each)
                for each in (ZERO, method)
            )
            for epsilon in epsilons
        }
        shown = ", ".join(
            f"{factor:,.{0 if factor >= 10 else 1}f} at {epsilon:g}" for epsilon, factor in factors.items()
        )
        tenfold = [factor >= 10 for factor in factors.values()]
        found = f"OUE's error divided by the larger of the two errors, at each epsilon: {shown}"
        findings.append(Finding(found, verdict(all(tenfold), partly=any(tenfold)), fit))
    paper = "the errors of Zero and Calibrate are smaller than OUE's by orders of magnitude"
    return Claim("Error", paper, tuple(findings))


def _gain(results: Results, data: Dataset, epsilon: float) -> Claim:
    theirs = published(data).gains.get(epsilon)
    findings = []
    zero = results.find(data.label, epsilon, ZERO)
    for fit, method in FITS.items():
        gain = relative_gain(results, data, epsilon, method)
        difference = pairs.difference(zero, results.find(data.label, epsilon, method))
        accuracy = f" ± {gain.std_error:.1%}" if gain.trials > 1 else " (one trial)"
        found = (
            f"(Zero - Calibrate)/Calibrate = {gain.value:.1%}{accuracy}, which is "
            f"{gain.value / (1 + gain.value):.1%} of Zero's error; paired difference Zero - Calibrate: "
            f"{_shown(difference)}"
        )
        findings.append(Finding(found, _gain_verdict(gain, difference, theirs, results.enough), fit))
    paper = "Calibrate improves on Zero" + (f" by {100 * theirs:g}%" if theirs else "")
    return Claim(f"Gain at epsilon {epsilon:g}", paper, tuple(findings))


def _gain_verdict(gain: Paired, difference: Paired, theirs: float | None, enough: bool) -> str:
    if difference.sign == 0:
        return TIE if enough else UNDECIDED
    if difference.sign < 0:
        return FAILS
    if theirs is None:
        return HOLDS
    away = abs(gain.value - theirs)
    if not enough and abs(away - NEAR * theirs) < gain.margin:
        return UNDECIDED  # the interval reaches across the edge of what counts as near
    return HOLDS if away <= max(NEAR * theirs, gain.margin) else PARTLY


def _growth(results: Results, data: Dataset, epsilons: list[float]) -> Claim:
    findings = []
    for fit, method in FITS.items():
        gains = [relative_gain(results, data, epsilon, method) for epsilon in epsilons]
        steps = [_rise(before, after) for before, after in pairwise(gains)]
        shown = ", ".join(
            f"{gain.value:.0%}{' (tie)' if gain.sign == 0 else ''} at {epsilon:g}"
            for epsilon, gain in zip(epsilons, gains, strict=True)
        )
        judged = verdict_of_comparisons(steps, results.enough)
        if judged == FAILS and _rise(gains[0], gains[-1]) > 0:
            judged = PARTLY
        findings.append(Finding(f"(Zero - Calibrate)/Calibrate at each epsilon: {shown}", judged, fit))
    return Claim("Gain and epsilon", "the gain over Zero grows with epsilon", tuple(findings))


def _rise(before: Paired, after: Paired) -> int:
    """1 if the gain clearly rose, -1 if it clearly fell, 0 for a tie. The noise at two epsilons is independent."""
    change = after.value - before.value
    return int(np.sign(change)) if abs(change) > math.hypot(before.margin, after.margin) else 0


def _zeroing(results: Results, data: Dataset, epsilons: list[float]) -> Claim:
    findings = []
    for fit, method in FITS.items():
        changes = [
            pairs.gain(results.find(data.label, epsilon, CUTS[fit]), results.find(data.label, epsilon, method)).value
            for epsilon in epsilons
        ]
        found = f"the error changes by {min(changes):+.1%} to {max(changes):+.1%}, depending on epsilon"
        small = [abs(change) < 0.05 for change in changes]
        findings.append(Finding(found, verdict(all(small), partly=any(small)), fit))
    return Claim(
        "Zero after Calibrate",
        "setting calibrated frequencies below the significance threshold to zero hardly changes the error",
        tuple(findings),
    )


def _shown(number: Paired) -> str:
    accuracy = f" ± {number.std_error:,.0f}" if number.trials > 1 else ""
    return f"{number.value:,.0f}{accuracy} users²" + (", a tie" if number.sign == 0 else "")
