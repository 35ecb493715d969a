"""The errors that the library raises. Each message says what was given, what was expected and what to do.

All derive from `LocalDPError`. Errors about an argument also derive from `ValueError`, so that code which does not know
this library can handle them as usual.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Self

LONGEST_MESSAGE = 900
"""The number of characters that a message may have: whoever sends bad input must not fill a log with it."""


class LocalDPError(Exception):
    """The base class of all errors that this library raises on purpose.

    >>> import localdp as ldp
    >>> try:
    ...     ldp.Plan(["tea"], epsilon=1.0)
    ... except ldp.LocalDPError as error:
    ...     print(error)
    a domain needs at least two items: with one, everybody's answer is known
    """

    def __init__(self, message: str = "") -> None:
        half = LONGEST_MESSAGE // 2
        super().__init__(message if len(message) <= LONGEST_MESSAGE else f"{message[:half]} ... {message[-half:]}")


class InvalidInputError(LocalDPError, ValueError):
    """An argument that cannot be used as given."""


class EpsilonError(InvalidInputError):
    """A privacy budget that is not above 0 and at most 16, or too small for the mechanism's resolution."""


class DomainError(InvalidInputError):
    """A domain that is empty, has one item, repeats an item, or holds something that is not an item."""


class UnknownItemError(InvalidInputError):
    """A value that is not in the domain."""

    code = "unknown-item"


class FrequencyError(InvalidInputError):
    """Frequencies, counts or estimates that are negative, not whole, not finite or of the wrong length."""


class EmptyError(InvalidInputError):
    """There are no users: no values, no reports, or n = 0."""


class TooFewReportsError(InvalidInputError):
    """There are fewer reports or users than an answer, or a round of a discovery, needs. Nothing is released yet."""


class SeedError(InvalidInputError):
    """A seed that is not a whole number of at least 0."""


class UnknownMechanismError(InvalidInputError):
    """A name that is not the name of a mechanism."""


class ImpureMechanismError(InvalidInputError):
    """A mechanism without the two support probabilities p* and q*, so its estimates cannot be made unbiased."""

    @classmethod
    def of(cls, what: str) -> ImpureMechanismError:
        """The error for `what`, with the reason and with what to use instead."""
        return cls(
            f"{what} is not a pure mechanism. A pure mechanism has two probabilities that are the same for all items: "
            "p*, that a report supports the item its user holds, and q*, that it supports any other item. Without them "
            "the noise depends on everybody's items, so the estimates can be neither debiased nor calibrated here; use "
            "a pure mechanism such as 'llh', 'oue' or 'grr'"
        )

    @classmethod
    def by_outcomes(cls, name: str) -> ImpureMechanismError:
        """The error for a mechanism of this name that is estimated from the law of its outcomes instead."""
        return cls(
            f"{name} is not a pure mechanism: no two probabilities p* and q* describe it, so the paper's formula does "
            "not apply to it. Its estimates follow from the law of its outcomes: call observe(counts, n)"
        )


class ChannelTooLargeError(InvalidInputError):
    """The exact channel was asked for, but the domain is too large to list all reports."""


class PlanError(InvalidInputError):
    """Text that is not a plan, or a plan with other parameters than its epsilon gives.

    Clients in other languages use the same `code`.
    """

    code = "bad-plan"


class PlanLimitError(PlanError):
    """A plan that asks more of a device than its owner or the library allows."""

    code = "plan-limit"


class PlanMismatchError(InvalidInputError):
    """Reports or aggregates made under another plan."""


class ArchiveError(InvalidInputError):
    """A file that is not a saved aggregate, or a saved aggregate that was cut short or altered."""


class DataFileError(InvalidInputError):
    """A data file (values, reports, frequencies) that cannot be read, or has other content than expected."""


class BudgetError(LocalDPError):
    """A device has no budget left for a new value."""


class StoreError(LocalDPError):
    """What a device has spent cannot be read or written, so it reports nothing."""


class OptedOutError(LocalDPError):
    """The owner of the device has opted out, so it reports nothing."""

    code = "opted-out"


class OutboxFullError(LocalDPError):
    """Too many reports of a device are waiting to be sent."""


class MissingPackageError(LocalDPError, ImportError):
    """A package is needed that is not installed; the message says how to install it."""

    @classmethod
    def of_extra(cls, what: str, package: str, extra: str) -> Self:
        """The error that names an extra of localdp, which is on no package index: it is installed from a clone."""
        return cls(f"{what} needs the package {package}: pip install '.[{extra}]' in a clone of localdp's repository")


class EngineError(LocalDPError):
    """A cluster engine cannot do its work: Java is missing, the cluster cannot be reached, or the job failed."""


class WireCode(StrEnum):
    """Why a batch of reports was refused. Clients in other languages use the same codes."""

    BAD_MAGIC = "bad-magic"
    UNKNOWN_PLAN = "unknown-plan"
    TRUNCATED = "truncated"
    TRAILING_BYTES = "trailing-bytes"
    EMPTY_BATCH = "empty-batch"
    NONZERO_PADDING = "nonzero-padding"
    SYMBOL_OUT_OF_RANGE = "symbol-out-of-range"
    WRONG_WEIGHT = "wrong-weight"
    WRONG_ORDER = "wrong-order"
    BAD_JSON = "bad-json"
    BAD_BASE64 = "bad-base64"
    WRONG_LENGTH = "wrong-length"


class WireError(InvalidInputError):
    """Bytes that are not a batch of this plan's reports. `code` gives the reason to programs."""

    def __init__(self, code: WireCode, message: str) -> None:
        super().__init__(f"{message} [{code}]")
        self.code = code


class DoubtfulEstimateWarning(UserWarning):
    """The estimates contradict their stated noise or their known total, so results that rest on them are doubtful."""


class LookalikeItemsWarning(UserWarning):
    """Two items of a plan look the same, because they are one text in two Unicode forms."""
