r"""What intervals lack if the sum of all frequencies is not known, as where users hold sets.

The prior is learnt from the estimates, and so is its level. With d items and noise of deviation sigma, the mean of the
estimates has an error of sigma / sqrt(d). Where the total is known, it takes this error away. Where it is not, a
posterior mean moves with the level by 1 - b, where b = Var(f | fhat) / sigma^2 is its slope in the estimate itself
(near 0 for items that cannot be told from others, near 1 for those that stand out). So the deviation

    t = (1 - b) sigma / sqrt(d)

is added to that of the posterior, by squares, on either side of the mean.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtri

from localdp.types import Vector


def widened(
    interval: tuple[Vector, Vector], means: Vector, deviations: Vector, noise: float | Vector, level: float, most: int
) -> tuple[Vector, Vector]:
    """Intervals that include the doubt about the level. `noise` are deviations; no frequency is above `most`.

    >>> low, high = widened((np.array([4.0]), np.array([6.0])), np.array([5.0]), np.array([0.5]), 20.0, 0.9, 100)
    >>> low.tolist(), high.tolist()
    ([0.0], [38.0])
    """
    variance = np.square(np.broadcast_to(noise, means.shape))
    slope = np.clip(np.square(deviations) / np.maximum(variance, 1e-300), 0, 1)
    doubt = float(ndtri((1 + level) / 2)) * (1 - slope) * math.sqrt(float(variance.mean()) / means.size)
    low, high = interval
    below, above = np.maximum(means - low, 0), np.maximum(high - means, 0)
    return (
        np.minimum(low, np.floor(np.maximum(means - np.hypot(below, doubt), 0))),
        np.maximum(high, np.ceil(np.minimum(means + np.hypot(above, doubt), most))),
    )
