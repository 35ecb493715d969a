"""The paper's claims about heavy hitters, and the measurements beside them.

Thresholds are given as multiples of the significance threshold, and in users beside it.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from localdp.datasets import Dataset
from localdp.experiments.claims import pairs
from localdp.experiments.claims.verdicts import Claim, Finding, verdict, verdict_of_comparisons
from localdp.experiments.results import Mean, Results
from localdp.experiments.tasks import AUTO_F1, FITS, LIKELIHOOD, ORACLE_F1, RAW, THRESHOLD_EPSILON, ZERO

USERS, TRUE = "threshold in users", "true hitters"


def claims(results: Results, data: Dataset, epsilons: list[float]) -> Iterator[Claim]:
    """The claims about heavy hitters on one data set."""
    if THRESHOLD_EPSILON in epsilons:
        scores = Scores(results, data)
        yield _best(scores)
        yield _precision_and_recall(scores)
        yield _zero(scores)
        yield _f1(scores)
    yield _budgets(results, data, epsilons)


class Scores:
    """The scores of a method at each threshold, at the one epsilon where all thresholds are tried."""

    def __init__(self, results: Results, data: Dataset) -> None:
        self._results, self._label = results, data.label
        self.enough = results.enough

        def tried(mean: Mean) -> bool:
            return mean.data == data.label and mean.epsilon == THRESHOLD_EPSILON and mean.threshold is not None

        self.multiples = sorted({mean.threshold for mean in results.select(tried) if mean.threshold is not None})
        self.below = [multiple for multiple in self.multiples if multiple < 1]
        self.above = [multiple for multiple in self.multiples if multiple >= 1]

    def mean(self, method: str, metric: str, multiple: float) -> Mean:
        return self._results.find(self._label, THRESHOLD_EPSILON, method, metric, multiple)

    def __call__(self, method: str, metric: str, multiple: float) -> float:
        return self.mean(method, metric, multiple).mean

    def users(self, multiple: float) -> str:
        return f"{self(RAW, USERS, multiple):,.0f}"

    def sign(self, method: str, other: str, metric: str, multiple: float) -> int:
        """1 if the method's score is clearly higher on the same trials, -1 if clearly lower, 0 for a tie."""
        return pairs.difference(self.mean(method, metric, multiple), self.mean(other, metric, multiple)).sign


def _best(scores: Scores) -> Claim:
    def tally(signs: list[int]) -> str:
        return f"better at {signs.count(1)}, tie at {signs.count(0)}, worse at {signs.count(-1)} of {len(signs)}"

    findings = []
    for fit, method in FITS.items():
        signs = {
            multiple: min(scores.sign(method, other, "F-score", multiple) for other in (RAW, ZERO))
            for multiple in scores.multiples
        }
        found = (
            f"F-score beside the better of OUE and Zero: {tally([signs[m] for m in scores.below])} thresholds below "
            f"the significance threshold, and {tally([signs[m] for m in scores.above])} thresholds from it "
            f"({scores.users(1.0)} users) upwards"
        )
        findings.append(Finding(found, verdict_of_comparisons(list(signs.values()), scores.enough), fit))
    paper = "Calibrate has the best F-score, most clearly for thresholds below the significance threshold"
    return Claim("Heavy hitters, epsilon 4", paper, tuple(findings))


def _precision_and_recall(scores: Scores) -> Claim:
    findings = []
    tried = len(scores.multiples)
    for fit, method in FITS.items():
        precision = [scores.sign(method, RAW, "precision", multiple) for multiple in scores.multiples]
        recall = [-scores.sign(method, RAW, "recall", multiple) for multiple in scores.multiples]
        found = (
            f"precision is higher at {precision.count(1)} and a tie at {precision.count(0)} of {tried} thresholds; "
            f"recall is lower at {recall.count(1)} and a tie at {recall.count(0)} of {tried}"
        )
        findings.append(Finding(found, verdict_of_comparisons(precision + recall, scores.enough), fit))
    paper = "Calibrate has higher precision and lower recall than OUE"
    return Claim("Precision and recall", paper, tuple(findings))


def _zero(scores: Scores) -> Claim:
    same = all(scores(RAW, "F-score", m) == scores(ZERO, "F-score", m) for m in scores.above)
    precision = [scores(ZERO, "precision", m) for m in scores.below]
    recall = [scores(ZERO, "recall", m) for m in scores.below]
    trend = all(np.diff(precision) <= 1e-9) and all(np.diff(recall) >= -1e-9)
    found = (
        f"{'the same' if same else 'not the same'} from it ({scores.users(1.0)} users) upwards; from "
        f"{scores.users(scores.below[-1])} down to {scores.users(scores.below[0])} users, precision goes from "
        f"{precision[-1]:.2f} to {precision[0]:.2f} and recall from {recall[-1]:.2f} to {recall[0]:.2f}"
    )
    paper = (
        "from the significance threshold upwards Zero and OUE are the same; as the threshold falls below it, Zero's "
        "precision rises and its recall falls"
    )
    return Claim("Zero and the threshold", paper, (Finding(found, verdict(same and trend, partly=same)),))


def _f1(scores: Scores) -> Claim:
    gains = [scores(AUTO_F1, "F-score", m) - scores(LIKELIHOOD, "F-score", m) for m in scores.multiples]
    distances = [scores(ORACLE_F1, "F-score", m) - scores(AUTO_F1, "F-score", m) for m in scores.multiples]
    found = (
        f"`auto` with rule `f1` changes the F-score of the paper's method (mle) by {min(gains):+.3f} to "
        f"{max(gains):+.3f}; the oracle with rule `f1` would change it by a further {min(distances):+.3f} to "
        f"{max(distances):+.3f}"
    )
    return Claim("The rule f1", "", (Finding(found),))


def _budgets(results: Results, data: Dataset, epsilons: list[float]) -> Claim:
    findings = []
    for fit, method in FITS.items():
        shown, signs = [], []
        for epsilon in epsilons:
            ours, zero = (results.find(data.label, epsilon, each, "F-score", 1.0) for each in (method, ZERO))
            ahead = pairs.difference(ours, zero)
            signs.append(ahead.sign)
            tie = " (tie)" if ahead.sign == 0 else ""
            users = results.find(data.label, epsilon, RAW, USERS, 1.0).mean
            shown.append(f"{ahead.value:+.3f} ± {ahead.std_error:.3f}{tie} at {epsilon:g} ({users:,.0f} users)")
        found = (
            "Calibrate's F-score minus Zero's on the same trials, at each epsilon (with the threshold): "
            f"{', '.join(shown)}"
        )
        findings.append(Finding(found, verdict_of_comparisons(signs, results.enough), fit))
    paper = "at the significance threshold, Calibrate has the better F-score at every epsilon"
    return Claim("Heavy hitters and epsilon", paper, tuple(findings))
