"""A discovery of several rounds that is small enough for tests: keys of 16 bits, 8 of them in the first round."""

from __future__ import annotations

import numpy as np

import localdp as ldp
from localdp.discovery.codes import Keys
from localdp.discovery.design import Design

DESIGN = Design(shares=(40, 20, 20, 20), bits=(8, 4, 4), reach=0.05)
HEAVY = {40_000: 0.35, 40_001: 0.15, 7: 0.1, 65_535: 0.1}


def small(name="", epsilon=4.0, users=20_000):
    return ldp.Discovery.designed(Keys(16), epsilon, users, 4, name, DESIGN)


def keys(users, seed=0):
    """The heavy keys in their shares, and many others that hardly anybody holds."""
    rng = np.random.default_rng(seed)
    others = rng.integers(0, 1 << 16, users)
    chosen = rng.choice([*HEAVY, -1], users, p=[*HEAVY.values(), 1 - sum(HEAVY.values())])
    return np.where(chosen < 0, others, chosen)


def answered(discovery, values, seed=0):
    """An aggregate of the round under way, in which all these users answer."""
    asked = discovery.round
    indices = asked.candidates.indices(discovery.code.encode(values))
    return asked.plan.aggregate(asked.plan.privatize_indices(indices, seed=seed))
