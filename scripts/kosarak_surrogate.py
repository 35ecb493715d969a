"""Make the spectrum of the Kosarak surrogate from the first 100,000 sessions, which ship with the package.

`python scripts/kosarak_surrogate.py` writes `src/localdp/datasets/spectra/kosarak.csv` again, and says whether it
changed. It takes a few seconds and gives the same file on every machine.

The complete Kosarak file has about ten times as many clicks as these sessions, and pages that they do not show. The
surrogate is extrapolated in two steps.

1. Every page has a rate: the clicks it gets in 100,000 sessions, on average. The rates of all pages have a density
   g, and the clicks that were seen are Poisson with that mean. log g is a cubic spline in the logarithm of the rate,
   with a penalty on its third differences, so g is smooth. It is fitted by maximum likelihood. The pages of the
   complete file without a click in these sessions count as pages with no clicks here and at least one in the rest.
2. Each page draws a rate from its posterior, given its clicks so far, and then the clicks of the rest of the file,
   which are Poisson with that rate times the length of the rest. In the end the frequencies above 50 are scaled by a
   fraction of a percent, so that the total is the published one.

The draws turn fixed uniform numbers into rates and clicks through inverse distribution functions. The last bits of the
fit therefore do not matter: a generator that draws more numbers for one page than for another would turn a
rounding difference into another file.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import BSpline
from scipy.optimize import minimize
from scipy.special import gammaincinv, gammaln, logsumexp, pdtr, pdtrik

from localdp import datasets

Vector = NDArray[np.float64]

TARGET = Path(__file__).parent.parent / "src" / "localdp" / "datasets" / "spectra" / "kosarak.csv"
PAGES, CLICKS = 41_270, 8_019_015  # of the complete file
SEED = 2019
PENALTY = 3.0
LEAST_RATE, LARGEST_RATE, POINTS, PIECES = 0.02, 9e4, 420, 45
NEARLY_EXACT = 200  # the rate of a page with at least as many clicks hardly depends on g
SCALED_ABOVE = 50


@dataclass(frozen=True)
class Sessions:
    """The clicks of the pages that were seen, each number once, with how many pages have it; 0 stands for unseen."""

    clicks: Vector
    pages: Vector
    rest: float

    @classmethod
    def shipped(cls) -> Sessions:
        """The first 100,000 sessions. `rest` is the length of the rest of the file, in units of these sessions."""
        seen = datasets.load("kosarak-100k")
        clicks, pages = np.unique(seen.frequencies, return_counts=True)
        return cls(np.append(0.0, clicks), np.append(float(PAGES - seen.d), pages), CLICKS / seen.n - 1)


class RateDensity:
    """The smooth density of the rates, on a grid of their logarithms."""

    def __init__(self, sessions: Sessions) -> None:
        self.sessions = sessions
        self.grid = np.linspace(np.log(LEAST_RATE), np.log(LARGEST_RATE), POINTS)
        rates = np.exp(self.grid)
        clicks = sessions.clicks[:, None]
        self.log_likelihood = clicks * self.grid - rates - gammaln(clicks + 1)
        self.log_likelihood[0] += np.log(-np.expm1(-sessions.rest * rates))  # unseen here, but not in the rest
        self._log_present = np.log(-np.expm1(-(1 + sessions.rest) * rates))
        inner = np.linspace(self.grid[0], self.grid[-1], PIECES + 1)
        knots = np.concatenate([np.full(3, inner[0]), inner, np.full(3, inner[-1])])
        self._basis = BSpline.design_matrix(self.grid, knots, 3).toarray()
        self._differences = np.diff(np.eye(self._basis.shape[1]), 3, axis=0)
        self.log_density = self._fit()

    def _fit(self) -> Vector:
        """log g by penalised maximum likelihood: a quasi-Newton search, then Newton steps until nothing changes."""
        start = np.zeros(self._basis.shape[1])
        rough = minimize(self._loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 3_000, "maxfun": 6_000}).x
        for _ in range(50):
            # Adding a constant to all coefficients changes nothing, so the matrix is singular.
            step = np.linalg.lstsq(self._hessian(rough), self._loss(rough)[1], rcond=1e-12)[0]
            step -= step.mean()
            rough = rough - step
            if np.abs(step).max() < 1e-9:
                break
        else:
            raise RuntimeError("the density of the rates did not converge")
        return self._normalised(rough)

    def _normalised(self, coefficients: Vector) -> Vector:
        exponents = self._basis @ coefficients
        return np.asarray(exponents - logsumexp(exponents))

    def _posteriors(self, coefficients: Vector) -> tuple[Vector, Vector, float]:
        """The posterior of the rate for each number of clicks, that of a page in the file, and the log-likelihood."""
        log_density = self._normalised(coefficients)
        joint = self.log_likelihood + log_density
        evidence = logsumexp(joint, axis=1)
        present = log_density + self._log_present
        total = logsumexp(present)
        value = self.sessions.pages @ evidence - self.sessions.pages.sum() * total
        return np.exp(joint - evidence[:, None]), np.exp(present - total), float(value)

    def _loss(self, coefficients: Vector) -> tuple[float, Vector]:
        posteriors, present, value = self._posteriors(coefficients)
        rough = self._differences @ coefficients
        gradient = self._basis.T @ (self.sessions.pages @ posteriors - self.sessions.pages.sum() * present)
        return -value + PENALTY / 2 * float(rough @ rough), -gradient + PENALTY * (self._differences.T @ rough)

    def _hessian(self, coefficients: Vector) -> Vector:
        posteriors, present, _ = self._posteriors(coefficients)
        pages, basis = self.sessions.pages, self._basis
        means, mean = posteriors @ basis, present @ basis
        within = (basis.T * (pages @ posteriors)) @ basis - (means.T * pages) @ means
        within -= pages.sum() * ((basis.T * present) @ basis - np.outer(mean, mean))
        return np.asarray(-within + PENALTY * self._differences.T @ self._differences)


def frequencies(sessions: Sessions) -> NDArray[np.int64]:
    """The frequencies of all pages, most frequent first."""
    density = RateDensity(sessions)
    random = np.random.default_rng(SEED)
    drawn = []
    for place, (clicks, pages) in enumerate(zip(sessions.clicks, sessions.pages.astype(int), strict=True)):
        for_rate, for_clicks = random.random((2, pages))
        if clicks < NEARLY_EXACT:
            rates = _rates(density.grid, density.log_likelihood[place] + density.log_density, for_rate)
        else:
            rates = gammaincinv(clicks + 0.5, for_rate)
        mean = sessions.rest * rates
        never = pdtr(0, mean) if clicks == 0 else 0.0  # every page has a click somewhere
        more = np.ceil(pdtrik(never + (1 - never) * for_clicks, mean) - 1e-9)
        drawn.append(clicks + np.maximum(more, 1 if clicks == 0 else 0))
    return _with_total(np.sort(np.concatenate(drawn).astype(np.int64))[::-1], CLICKS)


def _rates(grid: Vector, log_weights: Vector, uniforms: Vector) -> Vector:
    """Rates by the inverse distribution function; within a cell of the grid all log-rates are equally likely."""
    weights = np.exp(log_weights - log_weights.max())
    step = grid[1] - grid[0]
    edges = np.append(grid - step / 2, grid[-1] + step / 2)
    return np.asarray(np.exp(np.interp(uniforms, np.append(0.0, np.cumsum(weights) / weights.sum()), edges)))


def _with_total(found: NDArray[np.int64], total: int) -> NDArray[np.int64]:
    """The frequencies, with those above 50 changed in proportion so that they add up to the total."""
    excess = total - int(found.sum())
    large = found > SCALED_ABOVE
    share = found[large] * abs(excess) // int(found[large].sum())
    share[: abs(excess) - int(share.sum())] += 1
    scaled = found.copy()
    scaled[large] += np.sign(excess) * share
    return scaled


def spectrum(found: NDArray[np.int64]) -> str:
    """The CSV file: how many items have each frequency."""
    values, counts = np.unique(found, return_counts=True)
    return "\n".join(
        ["frequency,items", *(f"{value},{count}" for value, count in zip(values, counts, strict=True)), ""]
    )


if __name__ == "__main__":
    made = spectrum(frequencies(Sessions.shipped()))
    same = TARGET.exists() and TARGET.read_text("ascii") == made
    TARGET.write_text(made, "ascii")
    sys.stdout.write(f"{TARGET}: {'as it was' if same else 'changed'}\n")
