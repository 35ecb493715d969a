"""The paper's two ways to fit the power law: how long each takes, and what each finds."""

from __future__ import annotations

import time

from localdp.experiments.tasks import FITS, Measurements, Task

REPETITIONS = 3
SECONDS, ALPHA = "seconds to fit", "alpha"


def run(task: Task) -> Measurements:
    """The processor seconds of each fit (the shortest of three), and its alpha."""
    estimate = task.estimate()
    measured: Measurements = {}
    for fit, method in FITS.items():
        durations = []
        for _ in range(REPETITIONS):
            started = time.process_time()
            calibrated = estimate.calibrate("power-law", fit)  # fits the prior, and computes no posterior yet
            durations.append(time.process_time() - started)
        measured[None, method, SECONDS] = min(durations)
        measured[None, method, ALPHA] = float(str(calibrated.prior.parameters["alpha"]))
    return measured
