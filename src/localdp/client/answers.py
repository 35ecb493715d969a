"""From a value to a report: what a client asks of its two ways to answer, `permanent` and `one_part`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from localdp.client.outbox import Delivery


class Answers(ABC):
    """How one device answers in one study."""

    place: int | None = None
    """The place of the device, which decides what it is asked; None if everybody is asked."""

    @abstractmethod
    def report(self, value: Any, document: str | bytes | None) -> bytes | None:
        """A batch of one report, which is paid for; None if the device is not asked."""

    @abstractmethod
    def send(self, value: Any, document: str | bytes | None, wording: int | None = None) -> Delivery:
        """Make a report, keep it until it is delivered, and try to send what waits."""

    @property
    @abstractmethod
    def part(self) -> str | None:
        """The fingerprint of the part that this device's reports are of; None if it is not known."""

    @abstractmethod
    def send_once(
        self, value: Any, every: str | None, document: str | bytes | None, wording: int | None = None
    ) -> Delivery:
        """Make the report of this period unless there is one, keep it until it is delivered, and try to send."""

    @abstractmethod
    def answered(self, every: str | None) -> bool:
        """Whether there is a report of this period, which is delivered or in the outbox."""

    def clear_cache(self) -> None:  # noqa: B027 (whoever remembers nothing need not write this)
        """Drop what is in memory and can be derived again."""
