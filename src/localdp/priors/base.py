"""What a prior is: a family that can be fitted, and the fitted distribution p_f of the true frequencies.

A family is configuration (`PowerLaw()`); `fit` returns a new, frozen `FittedPrior`, which is used as it is. A fitted
prior is a distribution on whole numbers 0..n, given either by its mass function, smooth from one whole number to the
next, or by finitely many atoms.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import ClassVar

import numpy as np

from localdp.errors import InvalidInputError
from localdp.priors.fitting.observations import Observations
from localdp.types import Vector


@dataclass(frozen=True, eq=False)
class FittedPrior(ABC):
    """A distribution of true frequencies on 0..n, and how it was come by.

    `notes` says what was decided on the way: a choice between families, a fallback where the family could not fit.
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

    @abstractmethod
    def log_mass(self, k: Vector) -> Vector:
        """log p_f(k); between whole numbers, where it is smooth, its natural extension."""

    @property
    def atoms(self) -> tuple[Vector, Vector] | None:
        """The frequencies and their logarithmic masses, if there are finitely many."""
        return None

    @property
    def first(self) -> int:
        """The smallest frequency of the smooth part."""
        return 1

    @property
    def largest(self) -> float:
        """The largest frequency there is any mass at."""
        return float(self.n)

    @property
    def zero(self) -> float:
        """The logarithmic mass at frequency 0, where that stands apart from the smooth part; -inf without."""
        return -np.inf

    @property
    def edges(self) -> Vector:
        """Where the mass function has a kink or a step."""
        return np.zeros(0)

    @property
    def resolution(self) -> float:
        """How far from an atom the frequencies lie that it stands for; intervals are widened by it."""
        return 0.0

    @property
    def constant_noise(self) -> bool:
        """Whether it takes the variance as the paper does: the same for frequent items as for rare ones."""
        return False

    @property
    def feature(self) -> tuple[float, float] | None:
        """The place and width of the bulk, for priors that are narrow and have light tails."""
        return None

    def __repr__(self) -> str:
        shown = ", ".join(f"{key}={_shown(value)}" for key, value in self.parameters.items())
        return f"<{self.name} prior on 0..{self.n}: {shown or 'no parameters'}; {self.method}>"


@dataclass(frozen=True, eq=False, repr=False)
class AtomicPrior(FittedPrior):
    """A distribution on finitely many frequencies."""

    values: Vector = field(default_factory=lambda: np.zeros(0))
    log_masses: Vector = field(default_factory=lambda: np.zeros(0))
    spacing: float = 0.0

    @property
    def resolution(self) -> float:
        return self.spacing

    @property
    def atoms(self) -> tuple[Vector, Vector]:
        return self.values, self.log_masses

    def log_mass(self, k: Vector) -> Vector:
        k = np.asarray(k, np.float64)
        place = np.minimum(np.searchsorted(self.values, k), self.values.size - 1)
        return np.where(self.values[place] == k, self.log_masses[place], -np.inf)


class Prior(ABC):
    """A family of distributions of true frequencies."""

    name: ClassVar[str]
    methods: ClassVar[tuple[str, ...]]
    """The ways to fit it, the default first."""
    constant_noise: ClassVar[bool] = False
    """Whether it takes the variance as the paper does: the same for frequent items as for rare ones."""

    @abstractmethod
    def fit_observations(self, observations: Observations, method: str) -> FittedPrior:
        """The member of the family that fits."""

    def fit(self, observations: Observations, method: str | None = None) -> FittedPrior:
        """Fit by one of the family's methods, the first if none is named."""
        chosen = self.methods[0] if method is None else method
        if chosen not in self.methods:
            raise InvalidInputError(
                f"{self.name} is fitted by {' or '.join(map(repr, self.methods))}, not by {method!r}"
            )
        return self.fit_observations(observations, chosen)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


def frozen_parameters(**parameters: object) -> Mapping[str, object]:
    """Parameters that cannot be changed."""
    return MappingProxyType(parameters)


def _shown(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
