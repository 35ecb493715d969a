"""The two classes of priors: a family that can be fitted, and the fitted distribution p_f of the true frequencies.

A family is configuration (`PowerLaw()`); its `fit` returns a new, frozen `FittedPrior`. A fitted prior is a
distribution on the whole numbers 0..n. It is given either by a mass function that changes little from one whole number
to the next, or by finitely many atoms.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np

from localdp.errors import InvalidInputError
from localdp.priors.fitting.observations import Observations
from localdp.types import Vector


@dataclass(frozen=True, eq=False)
class FittedPrior(ABC):
    """A distribution of true frequencies on 0..n, and how it was fitted.

    `notes` says what was decided during the fit: a choice between families, a fallback where the family could not fit.
    A new kind of prior defines `log_mass`, and those properties below that differ from their defaults.
    """

    name: str
    n: int
    parameters: Mapping[str, object] = field(default_factory=lambda: MappingProxyType({}))
    method: str = "given"
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for value in vars(self).values():
            if isinstance(value, np.ndarray):
                value.setflags(write=False)

    def __getstate__(self) -> dict[str, object]:
        return {**vars(self), "parameters": dict(self.parameters)}  # a mapping proxy cannot be pickled or copied

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, parameters=MappingProxyType(state["parameters"]))
        self.__post_init__()

    @abstractmethod
    def log_mass(self, k: Vector) -> Vector:
        """log p_f(k).

        Quadratures also ask for k between whole numbers; return the formula of the smooth part there.
        """

    @property
    def atoms(self) -> tuple[Vector, Vector] | None:
        """The ascending frequencies that have mass and their log-masses, if they are finitely many; otherwise None."""
        return None

    @property
    def first(self) -> int:
        """The smallest frequency of the smooth part: 1 if frequency 0 stands apart (see `zero`) or has no mass."""
        return 1

    @property
    def largest(self) -> float:
        """The largest frequency that has any mass."""
        return float(self.n)

    @property
    def zero(self) -> float:
        """The log-mass of frequency 0 where it stands apart from the smooth part; -inf if 0 has no mass of its own."""
        return -np.inf

    @property
    def edges(self) -> Vector:
        """Where the mass function has a kink or a step; quadratures put the edges of their panels there."""
        return np.zeros(0)

    @property
    def constant_noise(self) -> bool:
        """Whether the variance of the noise is taken to be the same for all items, as the paper does."""
        return False

    @property
    def uses_total(self) -> bool:
        """Whether posteriors use the known sum of all frequencies beside each item's own estimate."""
        return not self.constant_noise

    @property
    def feature(self) -> tuple[float, float] | None:
        """The centre and width of the bulk, for priors with light tails; None for all others.

        Such a prior may pull an estimate from far away, so sums cover its bulk finely and all that lies in between.
        """
        return None

    def __repr__(self) -> str:
        shown = ", ".join(f"{key}={_shown(value)}" for key, value in self.parameters.items())
        return f"<{self.name} prior on 0..{self.n}: {shown or 'no parameters'}; {self.method}>"


@dataclass(frozen=True, eq=False, repr=False)
class AtomicPrior(FittedPrior):
    """A distribution on finitely many frequencies that is known beforehand.

    It is taken at its word: the posterior of an item is given by its own estimate alone, as in Theorem 1 of the paper.
    """

    values: Vector = field(default_factory=lambda: np.zeros(0))
    log_masses: Vector = field(default_factory=lambda: np.zeros(0))

    @property
    def uses_total(self) -> bool:
        return False

    @property
    def atoms(self) -> tuple[Vector, Vector]:
        return self.values, self.log_masses

    def log_mass(self, k: Vector) -> Vector:
        k = np.asarray(k, np.float64)
        place = np.minimum(np.searchsorted(self.values, k), self.values.size - 1)
        return np.where(self.values[place] == k, self.log_masses[place], -np.inf)


class Prior(ABC):
    """A family of distributions of true frequencies.

    A family of your own sets `name` and `methods` and writes `fit_observations`. One with a formula and a few
    parameters derives from `ParametricFamily` instead, which is less work. `localdp.priors.register` makes its name
    known, and `localdp.checks.check_prior` checks it.
    """

    name: ClassVar[str]
    """The name that chooses this family, as in `estimate.calibrate("power-law")`."""
    methods: ClassVar[tuple[str, ...]]
    """The ways to fit it, the default first."""
    light_tails: ClassVar[bool] = False
    """Whether it has no room for frequent items and pulls them down by design, as families around a level do."""
    constant_noise: ClassVar[bool] = False
    """Whether the variance of the noise is taken to be the same for all items, as the paper does."""

    @property
    def uses_total(self) -> bool:
        """Whether posteriors use the known sum of all frequencies beside each item's own estimate."""
        return not self.constant_noise

    @abstractmethod
    def fit_observations(self, observations: Observations, method: str) -> FittedPrior:
        """The member of the family that fits best by this method, which is one of `methods`."""

    def fit(self, observations: Observations, method: str | None = None) -> FittedPrior:
        """Fit by one of the family's methods, the first if none is named."""
        chosen = self.methods[0] if method is None else method
        if chosen not in self.methods:
            raise InvalidInputError(
                f"{self.name} is fitted by {' or '.join(map(repr, self.methods))}, not by {method!r:.40}"
            )
        return self.fit_observations(observations, chosen)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


def frozen_parameters(**parameters: object) -> Mapping[str, object]:
    """Parameters that cannot be changed."""
    return MappingProxyType(parameters)


def _shown(value: object) -> str:
    """A parameter as text, floats with four digits."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)
