"""From the estimates of a round to the candidates of the next one. The rule is derived in `belief`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from localdp.discovery import belief
from localdp.discovery.belief import Grid, Kept, Matrix, Noise
from localdp.discovery.books import IMPOSSIBLE
from localdp.discovery.codes import Code
from localdp.discovery.design import PRICE, SURVIVORS
from localdp.discovery.history import UNFINISHED, History, Measured
from localdp.discovery.prefixes import Candidates, in_order, with_bits
from localdp.estimate import Estimate
from localdp.types import Vector


@dataclass(frozen=True)
class _Seen:
    """What a round has shown: estimated shares of the cells of open and of finished candidates, the beliefs about them
    before the round, and how users go on behind a prefix.
    """

    cells: Any
    of_open: Matrix
    of_finished: Vector
    priors: Matrix
    whole: Matrix
    theta: float
    extensions: float


@dataclass(frozen=True)
class Step:
    """What decides which candidates are kept: the code, the grid, the share of a heavy item, the room for open
    candidates in the next round, and whether the least likely are dropped so that this round asks for more bits.
    """

    code: Code
    grid: Grid
    heavy: float
    room: int
    drops: bool = False

    def first(self, candidates: Candidates, estimate: Estimate, noise: Noise) -> History:
        """The candidates after the first round."""
        cells = _cells_of(self.code, candidates)
        possible = cells.ravel() != IMPOSSIBLE
        frequencies = estimate.frequencies[: candidates.first_known]
        seen = frequencies if possible.all() else frequencies[possible]
        fitted = replace(estimate, frequencies=seen, domain=seen.size, total=None).calibrate("smooth").prior  # type: ignore[arg-type]
        prior = self.grid.prior(fitted, noise.users)
        start = History(candidates.open, 0, np.zeros((1, 0)), np.array([UNFINISHED]), prior=prior)
        priors, extensions = prior[None], float(possible.sum())
        shown = _Seen(cells, (frequencies / noise.users)[None], np.zeros(0), priors, priors[:0], 1.0, extensions)
        return self._chosen(start, candidates, shown, estimate, noise)

    def later(self, history: History, candidates: Candidates, estimate: Estimate, noise: Noise) -> History:
        """The candidates after a later round."""
        seen = self._seen(history, candidates, estimate, noise)
        return self._chosen(history, candidates, seen, estimate, noise)

    def explained(
        self, history: History, candidates: Candidates, estimate: Estimate, noise: Noise
    ) -> tuple[Vector, Vector]:
        """For each open candidate, its share as the round before estimated it, and that of its extensions that are
        certainly heavy.
        """
        seen = self._seen(history, candidates, estimate, noise)
        found = self._promising(seen, noise)
        sure = found.take(found.probabilities > belief.SURE)
        before = np.clip(history.estimates[: len(candidates.open), -1], 0, 1)
        return before, np.bincount(sure.prefix, sure.estimates, len(before)).astype(np.float64)

    def _seen(self, history: History, candidates: Candidates, estimate: Estimate, noise: Noise) -> _Seen:
        shares = estimate.frequencies[: candidates.first_known] / noise.users
        count, size = len(candidates.open), 1 << candidates.bits
        of_open = shares[: count * size].reshape(count, size)
        cells = _cells_of(self.code, candidates)
        extensions = float((cells != IMPOSSIBLE).sum()) / count if count else 1.0
        beliefs = history.beliefs(self.grid)
        opened, whole = beliefs[:count], beliefs[count:]
        sure = self.grid.tail(opened, self.heavy) > belief.SURE
        possible = np.where(cells[sure] != IMPOSSIBLE, of_open[sure], np.nan)
        theta = belief.concentration(self.grid, opened[sure], possible, noise, extensions)
        priors = opened @ self.grid.spread(theta, extensions)
        return _Seen(cells, of_open, shares[count * size :], priors, whole, theta, extensions)

    def _chosen(
        self, before: History, candidates: Candidates, seen: _Seen, estimate: Estimate, noise: Noise
    ) -> History:
        """The cells that are kept, as candidates with all that was measured of them; the open ones come first."""
        known = _of_known(candidates, estimate, noise)
        history = before.counted(Measured(noise, seen.theta, seen.extensions), known)
        opened, finished = self._kept_of_open(seen, candidates, noise)
        count, position = len(candidates.open), candidates.position + candidates.bits
        numbers = np.arange(len(seen.of_finished))
        chances = belief.chances_of(self.grid, seen.whole, numbers, seen.of_finished, noise, self.heavy)
        old = belief.best(Kept(numbers + count, numbers * 0, seen.of_finished, chances), PRICE, SURVIVORS)
        size = self.code.row_bytes
        parts = []
        for kept, since in ((opened, UNFINISHED), (finished, len(history.rounds) - 1), (old, None)):
            rows = with_bits(history.rows[kept.prefix], candidates.position, kept.extension, candidates.bits, size)
            paths = np.column_stack([history.estimates[kept.prefix], kept.estimates])
            ended = history.since[kept.prefix] if since is None else np.full(len(rows), since)
            parts.append((rows, paths, ended))
        open_rows, open_paths, open_since = parts[0]
        order = in_order(open_rows)
        rows, paths, ended = (np.concatenate([new, older]) for new, older in zip(parts[1], parts[2], strict=True))
        after = in_order(rows)
        return replace(
            history,
            rows=np.concatenate([open_rows[order], rows[after]]),
            position=position,
            estimates=np.concatenate([open_paths[order], paths[after]]),
            since=np.concatenate([open_since[order], ended[after]]),
        )

    def _kept_of_open(self, seen: _Seen, candidates: Candidates, noise: Noise) -> tuple[Kept, Kept]:
        """The extensions that are kept: prefixes that are still open, and whole values."""
        position = candidates.position + candidates.bits
        kept = self._promising(seen, noise)
        final = self.code.is_final(seen.cells[kept.prefix, kept.extension], position)
        opened = belief.best(kept.take(~final), PRICE, self.room)
        if self.drops:
            found = belief.chances_of(self.grid, seen.priors, opened.prefix, opened.estimates, noise, 2 * self.heavy)
            opened = belief.without_spare(opened, found, belief.SPARE)
        finished = belief.best(kept.take(final), PRICE, SURVIVORS)
        return self._plausible(opened, candidates), self._plausible(finished, candidates)

    def _promising(self, seen: _Seen, noise: Noise) -> Kept:
        """The extensions of open candidates that are looked at one by one."""
        lowest = belief.limits(self.grid, seen.priors, noise, self.heavy, PRICE)
        rows, columns = belief.promising(seen.of_open, seen.cells != IMPOSSIBLE, lowest)
        estimates = seen.of_open[rows, columns]
        chances = belief.chances_of(self.grid, seen.priors, rows, estimates, noise, self.heavy)
        return Kept(rows, columns, estimates, chances)

    def _plausible(self, kept: Kept, candidates: Candidates) -> Kept:
        """Those that begin a value."""
        position, bits = candidates.position, candidates.bits
        rows = with_bits(candidates.open[kept.prefix], position, kept.extension, bits, self.code.row_bytes)
        good = [self.code.is_plausible(row.tobytes(), position + bits) for row in rows]
        return kept.take(np.array(good, np.bool_))


def last(history: History, candidates: Candidates, estimate: Estimate, noise: Noise) -> History:
    """The candidates after the last round: all of them, with one more estimate each."""
    shares = estimate.frequencies[: candidates.first_known] / noise.users
    counted = history.counted(Measured(noise, 1.0, 1.0), _of_known(candidates, estimate, noise))
    return replace(counted, estimates=np.column_stack([history.estimates, shares]))


def _of_known(candidates: Candidates, estimate: Estimate, noise: Noise) -> Vector:
    """The estimated shares of the known values."""
    return np.asarray(estimate.frequencies[candidates.first_known : -1] / noise.users)


def _cells_of(code: Code, candidates: Candidates) -> Any:
    """The state of the code behind each extension of each open candidate."""
    states = [code.state_of(row.tobytes(), candidates.position) for row in candidates.open]
    shape = (len(states), 1 << candidates.bits)
    if len(set(states)) == 1:
        return np.broadcast_to(code.extended(states[0], candidates.bits), shape)
    if not states:
        return np.zeros(shape, np.int16)
    return np.stack([code.extended(state, candidates.bits) for state in states])
