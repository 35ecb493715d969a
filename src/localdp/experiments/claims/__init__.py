"""The paper's claims, what was measured for each of them, and the verdicts.

Claims about Calibrate are judged twice, once with each of the paper's two fits.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from localdp.datasets import Dataset
from localdp.experiments.claims import errors, hitters, own, theory
from localdp.experiments.claims.verdicts import ON_SURROGATE, Claim, Finding
from localdp.experiments.results import Results

__all__ = ["claims"]


def claims(results: Results, data: Dataset) -> Iterator[Claim]:
    """Every claim, compared with the results on one data set. Verdicts say if the data are a surrogate."""
    for claim in _claims(results, data):
        yield replace(claim, findings=tuple(_said(finding, data) for finding in claim.findings))


def _said(finding: Finding, data: Dataset) -> Finding:
    known = data.is_surrogate and finding.verdict
    return replace(finding, verdict=finding.verdict + ON_SURROGATE) if known else finding


def _claims(results: Results, data: Dataset) -> Iterator[Claim]:
    epsilons = results.epsilons(data.label)
    yield from errors.claims(results, data, epsilons)
    yield from hitters.claims(results, data, epsilons)
    yield from theory.claims(results, data)
    yield from own.claims(results, data, epsilons)
