"""Few items, with `ss`: where the power law does worse than no prior at all, and why.

The error of a method is split into what the less frequent half of the items (the light ones) and the other half (the
heavy ones) contribute, so that one sees where it comes from. Two data sets are tried: the most frequent items of the
data, whose rare items are missing, and as many items whose frequencies fall as rank^-1.2.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from localdp.datasets import Dataset
from localdp.estimate import Frequencies
from localdp.experiments.tasks import AUTO, LIKELIHOOD, MOMENTS, RAW, Measurements, Task

SUBSET_ITEMS = 512
"""Subset selection (`ss`) runs on this number of the most frequent items: its simulation is slow on large domains."""
FALL = 1.2
FALLING = f"rank^-{FALL:g}"
TOTAL, LIGHT, HEAVY = "error of all items", "error of light items", "error of heavy items"
FIRST = "error of the most frequent item"
BIAS, BELOW = "mean error of light items", "share of the prior below all items"


def most_frequent(data: Dataset) -> Dataset:
    """The 512 most frequent items of the data."""
    return _part(data, data.frequencies[:SUBSET_ITEMS], f"{SUBSET_ITEMS} items")


def falling(data: Dataset) -> Dataset:
    """As many users as the most frequent items have, on 512 items whose frequencies fall as rank^-1.2."""
    shape = np.arange(1, min(SUBSET_ITEMS, data.d) + 1) ** -FALL
    frequencies = np.maximum(most_frequent(data).n * shape / shape.sum(), 1).astype(np.int64)
    return _part(data, frequencies, FALLING)


def _part(data: Dataset, frequencies: np.ndarray, name: str) -> Dataset:
    return replace(data, frequencies=frequencies, name=f"{data.label}, {name}", is_surrogate=False)


def run(task: Task) -> Measurements:
    """Where the error of raw, power-law and `auto` estimates comes from."""
    truth = task.data.frequencies
    estimate = task.estimate()
    light = np.arange(truth.size) >= truth.size // 2  # the most frequent items come first
    likelihood = estimate.calibrate("power-law", "mle")
    methods: dict[str, Frequencies] = {
        RAW: estimate,
        MOMENTS: estimate.calibrate("power-law", "mean-variance"),
        LIKELIHOOD: likelihood,
        AUTO: estimate.calibrate(),
    }
    measured: Measurements = {}
    for method, found in methods.items():
        errors = found.frequencies - truth
        measured[None, method, TOTAL] = float((errors**2).mean())
        measured[None, method, LIGHT] = float((errors[light] ** 2).sum() / truth.size)
        measured[None, method, HEAVY] = float((errors[~light] ** 2).sum() / truth.size)
        measured[None, method, FIRST] = float(errors[0] ** 2 / truth.size)
        measured[None, method, BIAS] = float(errors[light].mean())
    smaller = np.arange(1.0, float(truth.min()))
    measured[None, LIKELIHOOD, BELOW] = float(np.exp(likelihood.prior.log_mass(smaller)).sum()) if smaller.size else 0.0
    return measured
