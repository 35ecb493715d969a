r"""Draws from the posterior of all tables, each of them a consistent set of tables.

**How much kinds differ.** If answers nearly determine each other, kinds of people differ by much more than in most
surveys, and a prior that expects little would draw the tables towards independence. If answers have little or nothing
to do with each other, one that expects more than that fits the noise. So several deviations of the kinds are tried.
With noise e of the law that an observation y has anyway, y + e and y - e have independent errors: the model is fitted
to the one, and the deviation that clearly predicts the other best is taken (J. Leiner, Data Fission, 2023).

**Draws of the model.** Add to every observation another piece of the noise that it has anyway, draw the means of the
priors from the priors, and fit again. If observations were linear in the effects, the result would be an exact draw
from the posterior (J. Bardsley et al., Randomize-Then-Optimize, SIAM J. Sci. Comput. 2014); here it is nearly one.

**What the model leaves.** No table is exactly a mixture of a few kinds. Let a table deviate from the model by N(0,
tau^2 x) in each cell. tau is averaged over by its likelihood, given how far the observations y are from the model:
y - x ~ N(0, tau^2 x + noise). Before anything is seen, it is 0 with probability 0.9. The mean of the deviation is
k (y - x), where k is the average of tau^2 x / (tau^2 x + noise). A draw of it is e + k (y - x - e) with the y of the
same draw and e ~ N(0, k noise / (1 - k)). So with very many people a table becomes what was observed, whatever the
model says.

**One table in a draw.** The table is cut off at 0 and raked to the margins of the same draw (iterative proportional
fitting), so that all tables of a draw have the same margins.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from localdp.kernels.blas import one_thread
from localdp.questionnaires.classes import AGAIN, WITHIN, Model, Seen, Tables
from localdp.questionnaires.observed import Layout, Observed, Together
from localdp.types import Vector

DRAWS = 64
"""How many draws are made."""

HALVINGS = 8
"""How often the information is halved to choose the deviation of the kinds: one halving leaves much to chance."""

HANDICAP = 5.0
"""Other deviations of the kinds than the first must predict better by this log-likelihood, lest chance decides."""

Pair = tuple[int, int]
"""Two questions, by their numbers."""

_TAUS = np.concatenate([[0.0], 2.0 ** np.arange(-10, 1)])
_LOG_PRIOR = np.log(np.concatenate([[0.9], np.full(_TAUS.size - 1, 0.1 / (_TAUS.size - 1))]))
_SMALLEST = 0.02  # a cell is never less than this part of what the model says
_RAKED, _CLOSE, _LEAST = 60, 1e-9, 1e-12


@dataclass(frozen=True, eq=False)
class Draws:
    """The best tables (`alone` and `tables`), and draws of them, with one more axis at the front."""

    layout: Layout
    alone: Vector
    tables: dict[Pair, Vector]
    alone_draws: Vector
    table_draws: dict[Pair, Vector]


@one_thread()
def draw(observed: Observed, ordered: tuple[int, ...], centre: Vector, draws: int = DRAWS) -> Draws:
    """The tables, given what was observed. The same observations give the same draws.

    `centre` are the shares around which the effects lie before anything is observed.
    """
    layout, random = observed.layout, np.random.default_rng(0)
    models = [Model(layout, ordered, centre, deviation) for deviation in WITHIN]
    first = models[0].best_fit(models[0].seen(observed, models[0].product()), random)
    seen = models[0].seen(observed, models[0].tables(first))
    fits = [first, *(model.best_fit(seen, random) for model in models[1:])]
    chosen = _best_deviation(observed, seen, models, fits)
    model, effects = models[chosen], fits[chosen]
    if chosen:
        seen = model.seen(observed, model.tables(effects))
    effects = model.fit(seen, effects)
    at = model.tables(effects)
    own = {key: _own_share(pair, _table(at, layout, key)) for key, pair in observed.by_pair.items()}
    alone = np.empty((draws, layout.cells))
    tables = {(i, j): np.empty((draws, layout.sizes[i], layout.sizes[j])) for i, j in own}
    best = {key: _corrected(at, layout, key, seen.estimates, own[key]) for key in own}
    for one in range(draws):
        moved = _again(observed, seen, at, random)
        towards = random.normal(size=model.effects)
        # It begins where the fit was, moved as the priors were: near the end for effects that nothing was seen of.
        found = model.tables(model.fit(moved, effects + 0.5 * towards, towards, AGAIN))
        alone[one] = found.alone
        for key, pair in observed.by_pair.items():
            noise, k = pair.noise(_table(at, layout, key)), own[key]
            e = noise * np.sqrt(k / np.maximum(1 - k, _LEAST)) * random.normal(size=k.shape)
            tables[key][one] = _corrected(found, layout, key, moved.estimates, k, e)
    return Draws(layout, at.alone, best, alone, tables)


def _corrected(
    found: Tables, layout: Layout, key: Pair, estimates: Vector, own: Vector, moved: Vector | float = 0.0
) -> Vector:
    """The table of a pair with what it has of its own, raked to the margins of the model."""
    rows, columns = layout.of(key[0]), layout.of(key[1])
    x = found.together[rows, columns]
    deviation = moved + own * (estimates[rows, columns] - x - moved)
    return raked(np.maximum(x + deviation, _SMALLEST * x), found.alone[rows], found.alone[columns])


def _again(observed: Observed, seen: Seen, at: Tables, random: np.random.Generator) -> Seen:
    """The observations with another piece of their noise."""
    alone, layout = [], observed.layout
    for one, (place, matrix, shares, weights) in zip(observed.alone, seen.matrices, strict=True):
        moved = shares + one.noise(at.alone[place]) * random.normal(size=shares.size)
        alone.append((place, matrix, moved, weights))
    estimates = seen.estimates.copy()
    for pair in observed.together:
        rows, columns = layout.of(pair.rows), layout.of(pair.columns)
        noise = pair.noise(at.together[rows, columns]) * random.normal(size=pair.shares.shape)
        estimates[rows, columns] += noise
        estimates[columns, rows] += noise.T
    return Seen(tuple(alone), estimates, seen.weights)


def _best_deviation(observed: Observed, seen: Seen, models: Sequence[Model], fits: Sequence[Vector]) -> int:
    """The number of the model that, fitted to one half of the information, predicts the other half best.

    `fits` are the effects of each model for all information; the fits to a half begin there.
    """
    random, at = np.random.default_rng(1), models[0].tables(fits[0])
    missed = np.zeros(len(models))
    for _ in range(HALVINGS):
        one = _again(observed, seen, at, random)
        pairs = zip(seen.matrices, one.matrices, strict=True)
        alone = ((place, matrix, 2 * shares - moved[2], weights) for (place, matrix, shares, weights), moved in pairs)
        other = Seen(tuple(alone), 2 * seen.estimates - one.estimates, seen.weights)
        halves = ((place, matrix, shares, weights / 2) for place, matrix, shares, weights in one.matrices)
        half = Seen(tuple(halves), one.estimates, one.weights / 2)
        missed += [
            model.missed(model.fit(half, fit, steps=AGAIN), other) for model, fit in zip(models, fits, strict=True)
        ]
    missed[0] -= HALVINGS * HANDICAP
    return int(np.argmin(missed))


def _own_share(pair: Together, x: Vector) -> Vector:
    """k: how much of what a cell deviates from the model is its own, and not noise."""
    noise, squares = pair.noise(x) ** 2, (pair.estimates - x) ** 2
    variances = _TAUS[:, None, None] ** 2 * x
    logs = -0.5 * (np.log(variances + noise) + squares / (variances + noise)).sum(axis=(1, 2)) + _LOG_PRIOR
    weights = np.exp(logs - logs.max())
    shares = variances / (variances + noise)
    return np.asarray(np.tensordot(weights / weights.sum(), shares, axes=1))


def _table(at: Tables, layout: Layout, key: Pair) -> Vector:
    return at.together[layout.of(key[0]), layout.of(key[1])]


def raked(table: Vector, rows: Vector, columns: Vector) -> Vector:
    """The table with these margins that is nearest to a given one: rows and columns are scaled in turn.

    >>> raked(np.array([[4.0, 1.0], [1.0, 4.0]]), np.array([0.5, 0.5]), np.array([0.25, 0.75])).sum(axis=0).round(6)
    array([0.25, 0.75])
    """
    found = table.copy()
    for _ in range(_RAKED):
        found *= (columns / np.maximum(found.sum(axis=0), _LEAST))[None, :]
        sums = found.sum(axis=1)
        found *= (rows / np.maximum(sums, _LEAST))[:, None]
        if np.abs(sums - rows).max() < _CLOSE:
            break
    return found
