"""What an estimate asks its question: how the cells belong together, and how the result is read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from localdp.estimate.calibrated import Calibrated
    from localdp.structures import Structure


class Asked(Protocol):
    """What turns calibrated frequencies into the result that people read: a question does."""

    @property
    def structure(self) -> Structure | None:
        """How the cells belong together, if that is known."""

    def result(self, calibrated: Calibrated, /) -> Calibrated:
        """The result."""
