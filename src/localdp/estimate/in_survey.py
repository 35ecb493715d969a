"""What the tables of a questionnaire have in common: they were estimated together, and know each other."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from localdp.calibrate.base import AnyPosterior, Quantity

if TYPE_CHECKING:
    from localdp.estimate.calibrated import Calibrated


class InSurvey(ABC):
    """The place of a table among those of its questionnaire."""

    posterior: AnyPosterior
    shape: tuple[int, ...]
    """The number of answers to each of its questions."""
    notes: tuple[str, ...]

    @abstractmethod
    def no_answer(self, level: float) -> Quantity:
        """The share of the people who did not answer, or not all of its questions."""

    @abstractmethod
    def given(self, answers: Mapping[str, Any]) -> Calibrated:
        """The same table among the people with this answer to another question."""
