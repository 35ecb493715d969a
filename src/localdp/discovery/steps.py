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
from localdp.types import Indices, Vector


@dataclass(frozen=True)
class _Seen:
    """What a later round has shown: estimated shares of the cells of open and of finished candidates, the beliefs
    about them before the round, and how users go on behind a prefix.
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
        start = History(
            candidates.open,
            0,
            np.zeros((1, 0)),
            np.array([UNFINISHED]),
            prior=prior,
        ).counted(Measured(noise, 1.0, float(possible.sum())), _of_known(candidates, estimate, noise))
        shares = (frequencies / noise.users)[None]
        return self._chosen(start, candidates, cells, shares, np.zeros(0), prior[None], prior[None][:0], noise)

    def later(self, history: History, candidates: Candidates, estimate: Estimate, noise: Noise) -> History:
        """The candidates after a later round."""
        seen = self._seen(history, candidates, estimate, noise)
        measured = history.counted(Measured(noise, seen.theta, seen.extensions), _of_known(candidates, estimate, noise))
        return self._chosen(
            measured, candidates, seen.cells, seen.of_open, seen.of_finished, seen.priors, seen.whole, noise
        )

    def explained(
        self, history: History, candidates: Candidates, estimate: Estimate, noise: Noise
    ) -> tuple[Vector, Vector]:
        """For each open candidate, its share as the round before estimated it, and that of its extensions that are
        certainly heavy.
        """
        seen = self._seen(history, candidates, estimate, noise)
        rows, columns = self._promising(seen.cells, seen.of_open, seen.priors, noise)
        estimates = seen.of_open[rows, columns]
        sure = belief.chances_of(self.grid, seen.priors, rows, estimates, noise, self.heavy) > belief.SURE
        before = np.clip(history.estimates[: len(candidates.open), -1], 0, 1)
        return before, np.bincount(rows[sure], estimates[sure], len(before)).astype(np.float64)

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
        self,
        history: History,
        candidates: Candidates,
        cells: Any,
        of_open: Matrix,
        of_finished: Vector,
        priors: Matrix,
        whole: Matrix,
        noise: Noise,
    ) -> History:
        """The cells that are kept, as candidates with all that was measured of them; the open ones come first."""
        opened, finished = self._kept_of_open(cells, candidates, of_open, priors, noise)
        count, position = len(candidates.open), candidates.position + candidates.bits
        numbers = np.arange(len(of_finished))
        chances = belief.chances_of(self.grid, whole, numbers, of_finished, noise, self.heavy)
        old = belief.best(Kept(numbers + count, numbers * 0, of_finished, chances), PRICE, SURVIVORS)
        size = self.code.row_bytes
        parts = []
        for kept, since in ((opened, UNFINISHED), (finished, len(history.rounds) - 1), (old, None)):
            rows = with_bits(history.rows[kept.prefix], candidates.position, kept.extension, candidates.bits, size)
            paths = np.column_stack([history.estimates[kept.prefix], kept.estimates])
            ended = history.since[kept.prefix] if since is None else np.full(len(rows), since)
            parts.append((rows, paths, ended))
        open_rows, open_paths, open_since = parts[0]
        order = in_order(open_rows)
        rows, paths, ended = (np.concatenate([new, known]) for new, known in zip(parts[1], parts[2], strict=True))
        after = in_order(rows)
        return replace(
            history,
            rows=np.concatenate([open_rows[order], rows[after]]),
            position=position,
            estimates=np.concatenate([open_paths[order], paths[after]]),
            since=np.concatenate([open_since[order], ended[after]]),
        )

    def _kept_of_open(
        self, cells: Any, candidates: Candidates, of_open: Matrix, priors: Matrix, noise: Noise
    ) -> tuple[Kept, Kept]:
        """The extensions that are kept: prefixes that are still open, and whole values."""
        position = candidates.position + candidates.bits
        rows, columns = self._promising(cells, of_open, priors, noise)
        estimates = of_open[rows, columns]
        chances = belief.chances_of(self.grid, priors, rows, estimates, noise, self.heavy)
        kept = Kept(rows, columns, estimates, chances)
        final = self.code.is_final(cells[rows, columns], position)
        opened = belief.best(kept.take(~final), PRICE, self.room)
        if self.drops:
            found = belief.chances_of(self.grid, priors, opened.prefix, opened.estimates, noise, 2 * self.heavy)
            opened = belief.without_spare(opened, found, belief.SPARE)
        finished = belief.best(kept.take(final), PRICE, SURVIVORS)
        return self._plausible(opened, candidates), self._plausible(finished, candidates)

    def _promising(self, cells: Any, of_open: Matrix, priors: Matrix, noise: Noise) -> tuple[Indices, Indices]:
        """The extensions that are looked at one by one: numbers of open candidates, and of their extensions."""
        lowest = belief.limits(self.grid, priors, noise, self.heavy, PRICE)
        return belief.promising(of_open, cells != IMPOSSIBLE, lowest)

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
