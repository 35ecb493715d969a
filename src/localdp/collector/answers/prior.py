"""The fitted prior against the data: a histogram of the raw estimates, and what the prior and the noise predict.

If the prior is right, the bars follow the curve. Where they do not, the calibrated frequencies deserve less trust.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from localdp.collector.answers.fitted import Fitted
from localdp.collector.answers.rendering import one

_BINS = 48
_FURTHEST = 20.0  # standard errors: further out there are single items only, and no shape to see


def answer_prior(fitted: Fitted) -> dict[str, Any]:
    """The histogram and the prediction as a JSON value: items in each bin, and the number that is expected there.

    >>> from localdp import Plan
    >>> from localdp.collector.answers.fitted import fit
    >>> aggregate = Plan(100, epsilon=2.0).simulate([700] + [3] * 99, seed=1)
    >>> answer = answer_prior(fit(aggregate))
    >>> sum(answer["items"]) + answer["beyond"], round(sum(answer["expected"])) <= 100
    (100, True)
    """
    calibrated, deviation = fitted.calibrated, max(fitted.estimate.std_error, 1.0)
    estimates = calibrated.estimates
    low = float(estimates.min())
    high = max(min(float(estimates.max()), _FURTHEST * deviation), low + 1.0)
    edges = np.linspace(low, high, _BINS + 1)
    counts, _ = np.histogram(estimates, edges)
    middles = (edges[1:] + edges[:-1]) / 2
    expected = calibrated.predicted_density(middles) * np.diff(edges) * estimates.size
    prior = calibrated.prior
    return {
        "plan": fitted.plan.fingerprint,
        "n": fitted.n,
        "prior": {"fitted": prior.name, "method": prior.method, "why": list(prior.notes)},
        "edges": [one(edge, 3) for edge in edges.tolist()],
        "items": counts.tolist(),
        "expected": [one(value, 6) for value in expected.tolist()],
        "beyond": int(estimates.size - counts.sum()),
    }
