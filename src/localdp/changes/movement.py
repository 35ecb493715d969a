r"""How items move: a prior on changes that is learnt from all items together.

Most items hardly move, and a few move a lot. For the change delta_i of an item with the level m_i,

    delta_i  ~  (1 - w) N(0, tau^2 g_i^2)  +  w S(omega),        g_i = (m_i (1 - m_i))^a,

where S is a mixture of normal distributions with the deviations omega g_i, 2 omega g_i, 4 omega g_i, ..., each with
half the weight of the one before: a heavy tail. The exponent a says how the size of a change depends on the level: not
at all (0), as chance would (1/2), or in proportion (1). Nothing of this is known, so everything is averaged by its
evidence: tau, omega, w, and an exponent for each of the two parts.

There is no exact zero in it. A change too small to be seen has a small tau, which the data cannot tell from any other
small one, and intervals keep as wide as that.

**Shares add up to 1**, so a share that grows takes from all others. The movements above are those before shares are
divided by their new sum: delta_i = xi_i - m_i sum_j xi_j. The sum is found by iteration.

**Evidence.** An item is seen through one number z_i, its estimated change divided by the deviation of its error. With a
deviation of r_i errors for its change, z_i has the variance 1 + r_i^2. `evidence` has the logarithm of its density
relative to no change, one row for each deviation and exponent. A history has other evidence and the same prior.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from localdp.types import Vector

EXPONENTS = (0.0, 0.5, 1.0)
"""How the size of changes may depend on the level."""

LEAST = 1 / 8
"""The smallest deviation of changes, in errors of the item that shows them best: nobody can tell it from none."""

FEW = 5.0
"""With this many items or fewer, the smallest deviation is one error: so few say nothing about how items move."""

SMALL, WHOLE = 0.05, 0.5
"""Where errors are large, the smallest deviation is five points at most, and none is more than half of everything."""

_FRACTIONS = (0.003, 0.01, 0.03, 0.1, 0.3)  # w
_MOVERS = 0.5  # the least number of movers that a fraction may stand for
_NEGLIGIBLE = 1e-3  # models with less weight than this, relative to the best, are left out
_ROUNDS, _CLOSE = 6, 1e-3  # of the iteration, which ends when nothing moves by more than this part of an error


def units(levels: Vector, errors: Vector) -> Vector:
    """For each exponent (a row), the deviation of each item's change for one error of the item that shows it best.

    >>> units(np.array([0.5, 0.1]), np.array([0.01, 0.01])).round(4).tolist()
    [[0.01, 0.01], [0.01, 0.006], [0.01, 0.0036]]
    """
    spread = np.maximum(levels * (1 - levels), 1e-12)
    powers = spread ** np.array(EXPONENTS)[:, None]
    largest = np.max(powers / errors, axis=1, keepdims=True)
    return np.asarray(powers / largest, np.float64)


def scales(most: float, items: int, error: float = 0.0) -> Vector:
    """The deviations of changes that are tried, in errors: from ones that nobody sees to ones as large as `most`.

    `error` is the largest share that a deviation of one error stands for.

    >>> scales(4.0, 100).tolist()
    [0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0]
    >>> scales(4.0, 2, error=0.5).tolist()
    [0.1, 0.2, 0.4, 0.8]
    """
    least = float(np.clip(FEW / items, LEAST, 1.0))
    if error > 0:
        least = min(least, SMALL / error)
    steps = int(np.ceil(np.log2(max(most, 4.0) / least))) + 2
    sizes = least * np.exp2(np.arange(steps))
    return np.asarray(sizes[sizes * error <= WHOLE], np.float64)


@dataclass(frozen=True, eq=False)
class Movement:
    """What was learnt: for every item, the probability of each deviation of its change."""

    weights: Vector
    """Axes: exponents, deviations, items. They add up to 1 for every item."""
    prior: Vector
    """What the weights are before an item itself is looked at: axes exponents, deviations."""
    body: tuple[int, int]
    """The exponent and the deviation that most items most probably have."""
    log_evidence: float
    """Of all items together, relative to no change at all."""


def evidence(z: Vector, ratios: Vector) -> Vector:
    """log N(z; 0, 1 + r^2) - log N(z; 0, 1).

    >>> float(evidence(np.array(0.0), np.array(0.0)))
    0.0
    """
    grown = 1 + np.square(ratios)
    return np.asarray(0.5 * (np.square(z) * (1 - 1 / grown) - np.log(grown)))


def posterior_of_changes(
    raw: Vector, errors: Vector, levels: Vector, *, adds_up: bool, unit: Vector | None = None
) -> tuple[Vector, Vector, Vector]:
    """Means, deviations and weights of the normal parts of the posterior of every change: axes parts and items.

    `unit` has the deviation of each change, if it does not follow from the level (see `units`).
    """
    sizes_of_one = units(levels, errors) if unit is None else unit
    relative, largest = sizes_of_one / errors, float(sizes_of_one.max()) if unit is None else 0.0
    drawn = np.zeros(raw.size)
    free = raw.size - 1 if adds_up else raw.size
    for _ in range(_ROUNDS if adds_up else 1):  # only shares that add up take from each other
        own = raw - drawn
        sizes = scales(float(np.abs(own / errors).max(initial=0.0)), raw.size, largest)
        ratios = sizes[None, :, None] * relative[:, None, :]
        weights = learn(evidence(own / errors, ratios), free).weights.reshape(-1, raw.size)
        ratios = ratios.reshape(weights.shape)
        shrink = np.square(ratios) / (1 + np.square(ratios))
        moved = (weights * shrink).sum(axis=0) * own
        before, drawn = drawn, -levels * float(moved.sum()) if adds_up else drawn
        if np.abs(drawn - before).max(initial=0.0) < _CLOSE * errors.min(initial=1.0):
            break
    kept = weights.max(axis=1) > _NEGLIGIBLE * 1e-3
    shrink, weights = shrink[kept], weights[kept] / weights[kept].sum(axis=0)
    return drawn + shrink * own, np.sqrt(shrink) * errors, weights


def learn(logs: Vector, independent: float | None = None) -> Movement:
    """Learn how items move; `logs` is the log evidence with axes exponents, deviations, items.

    `independent` is how many of the items are free to move: one fewer than there are, if shares add up to 1.
    """
    exponents, count, items = logs.shape
    power = 1.0 if independent is None else independent / items
    fractions = np.array([w for w in _FRACTIONS if w * items >= _MOVERS] or [_FRACTIONS[-1]])
    shift = logs.max(axis=(0, 1))
    density = np.exp(np.maximum(logs - shift, -700))
    tails = _tails(density)
    models: list[tuple[float, int, int, int, int, float]] = []
    for a in range(exponents):
        for tau in range(count):
            body = density[a, tau]
            models.append((power * float(np.log(body).sum()), a, tau, -1, -1, 0.0))
            for b in range(exponents):
                for omega in range(tau + 2, count):
                    heavy = tails[b, omega]
                    for w in fractions:
                        found = power * float(np.log(body + w * (heavy - body)).sum())
                        models.append((found - np.log(fractions.size * exponents), a, tau, b, omega, w))
    # A priori, half is on changes of one kind, and half on a few movers of a second kind, whatever its scale.
    values = np.array([model[0] for model in models])
    several = np.array([model[3] >= 0 for model in models])
    values -= np.where(several, np.log(max(count, 1)), 0.0)
    best = float(values.max())
    weights = np.zeros_like(density)
    prior, bodies = np.zeros((exponents, count)), np.zeros((exponents, count))
    chosen = np.exp(values - best)
    for share, (_, a, tau, b, omega, w) in zip(chosen, models, strict=True):
        if share < _NEGLIGIBLE:
            continue
        body = density[a, tau]
        bodies[a, tau] += share
        prior[a, tau] += share * (1 - w)
        if b < 0:
            weights[a, tau] += share
            continue
        prior[b, omega:] += share * w * _geometric(count - omega)
        all_of_it = body + w * (tails[b, omega] - body)
        weights[a, tau] += share * (1 - w) * body / all_of_it
        parts = _geometric(count - omega)[:, None] * density[b, omega:]
        weights[b, omega:] += share * w * parts / all_of_it
    weights /= weights.sum(axis=(0, 1))
    likeliest = divmod(int(bodies.argmax()), count)
    whole = float(logsumexp(values) - np.log(exponents * count)) + power * float(shift.sum())
    return Movement(weights, prior / prior.sum(), likeliest, whole)


def _geometric(count: int) -> Vector:
    """Weights that halve from one to the next, and add up to 1."""
    halves = 0.5 ** np.arange(count)
    return np.asarray(halves / halves.sum())


def _tails(density: Vector) -> Vector:
    """The density of the heavy tail that begins at each deviation."""
    found = np.empty_like(density)
    count = density.shape[1]
    for omega in range(count):
        found[:, omega] = np.einsum("k,aki->ai", _geometric(count - omega), density[:, omega:])
    return found
