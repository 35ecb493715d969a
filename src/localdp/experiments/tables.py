"""The tables of the report: claims with their verdicts, and heavy hitters with thresholds in users."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from localdp.datasets import Dataset
from localdp.experiments.claims.hitters import TRUE, USERS
from localdp.experiments.claims.verdicts import Claim
from localdp.experiments.results import Mean, Results
from localdp.experiments.tasks import AUTO_F1, LIKELIHOOD, MOMENTS, RAW, THRESHOLD_EPSILON, ZERO

Found = dict[str, list[Claim]]
"""The claims on each data set, by its label."""

_SCORED = {"OUE": RAW, "Zero": ZERO, "mean-variance": MOMENTS, "mle": LIKELIHOOD, "auto, rule f1": AUTO_F1}


@dataclass(frozen=True)
class ReportTable:
    """A table with a title. Its last `numbers` columns hold numbers."""

    title: str
    head: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    numbers: int = 0


def claim_tables(found: Found) -> Iterator[ReportTable]:
    """For each data set: claims about Calibrate with both fits, the paper's other claims, and our own measurements."""
    for label, several in found.items():
        both = [claim for claim in several if claim.depends_on_fit]
        other = [claim for claim in several if claim.paper and not claim.depends_on_fit]
        own = [claim for claim in several if not claim.paper]
        yield ReportTable(
            f"What the paper says of Calibrate, with both of its fits, on {label}",
            ("", "the paper", "with mean-variance", "verdict", "with mle", "verdict"),
            [
                (claim.topic, claim.paper, *(cell for each in claim.findings for cell in (each.here, each.verdict)))
                for claim in both
            ],
        )
        yield ReportTable(
            f"What else the paper says, on {label}",
            ("", "the paper", "measured", "verdict"),
            [(claim.topic, claim.paper, claim.findings[0].here, claim.findings[0].verdict) for claim in other],
        )
        yield ReportTable(
            f"Measured beyond the paper, on {label}",
            ("", "measured"),
            [(claim.topic, claim.findings[0].here) for claim in own],
        )


def hitter_table(results: Results, data: Dataset, figure: str) -> ReportTable | None:
    """The thresholds of a figure of heavy hitters, as multiples and in users, with the F-scores.

    None for other figures.
    """
    if figure == "hitters-by-threshold":
        chosen = _thresholds(results, data, lambda mean: mean.epsilon == THRESHOLD_EPSILON)
        first, names = "threshold / significance threshold", [f"{mean.threshold:g}" for mean in chosen]
    elif figure == "hitters-by-epsilon":
        chosen = _thresholds(results, data, lambda mean: mean.threshold == 1.0)
        first, names = "epsilon", [f"{mean.epsilon:g}" for mean in chosen]
    else:
        return None
    rows = []
    for name, mean in zip(names, chosen, strict=True):
        scores = [results.find(data.label, mean.epsilon, each, "F-score", mean.threshold) for each in _SCORED.values()]
        true = results.find(data.label, mean.epsilon, RAW, TRUE, mean.threshold).mean
        rows.append(
            (
                name,
                f"{mean.mean:,.0f}",
                f"{mean.mean / data.n:.3%}",
                f"{true:,.0f}",
                *(f"{score.mean:.3f} ± {score.std_error:.3f}" for score in scores),
            )
        )
    head = (first, "in users", "share of the users", "true hitters", *(f"F-score: {method}" for method in _SCORED))
    return ReportTable(f"F-scores on {data.label}", head, rows, numbers=len(head) - 1)


def _thresholds(results: Results, data: Dataset, wanted: Callable[[Mean], bool]) -> list[Mean]:
    means = results.select(lambda mean: mean.data == data.label and mean.metric == USERS and wanted(mean))
    return sorted(means, key=lambda mean: (mean.epsilon, mean.threshold or 0.0))
