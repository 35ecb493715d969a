"""Append Calibrate to another library, multi-freq-ldpy 0.2.5 (`pip install multi-freq-ldpy "xxhash<4"`).

Its clients make the reports. Then its own aggregator and localdp estimate the frequencies from the same reports.
"""

from __future__ import annotations

import numpy as np
from multi_freq_ldpy.pure_frequency_oracles.UE import UE_Aggregator_MI, UE_Client

import localdp as ldp

EPSILON = 2.0
ITEMS = 500
USERS = 50_000


def main() -> None:
    """Print the error of both libraries' estimates."""
    rng = np.random.default_rng(0)
    weights = 1 / np.arange(1, ITEMS + 1) ** 1.3
    values = rng.choice(ITEMS, USERS, p=weights / weights.sum())
    truth = np.bincount(values, minlength=ITEMS)
    reports = [UE_Client(int(value), ITEMS, EPSILON) for value in values]

    theirs = UE_Aggregator_MI(reports, EPSILON) * USERS
    counts = np.sum(reports, axis=0)
    estimate = ldp.Estimate.from_counts(counts, n=USERS, p_star=0.5, q_star=1 / (np.exp(EPSILON) + 1))
    calibrated = estimate.calibrate()
    for name, found in (
        ("multi-freq-ldpy, clipped and normalized", theirs),
        ("the same reports, unbiased", estimate.frequencies),
        ("the same reports, calibrated", calibrated.frequencies),
    ):
        print(f"{name:<42} mean squared error {np.mean((found - truth) ** 2):>8,.0f}, top item {found[0]:>7,.0f}")
    print(f"{'truth':<42} {'':>29}top item {truth[0]:>7,}")


if __name__ == "__main__":
    main()
