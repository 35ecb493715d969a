"""What can go wrong, each with a sentence that says what was given, what was expected and what to do.

Everything derives from `LocalDPError`. Errors about an argument also derive from `ValueError`, so code that
knows nothing of this library still handles them sensibly.
"""

from __future__ import annotations

from enum import StrEnum


class LocalDPError(Exception):
    """The base of every error this library raises on purpose."""


class InvalidInputError(LocalDPError, ValueError):
    """An argument that cannot be used as given."""


class EpsilonError(InvalidInputError):
    """A privacy budget outside (0, 16], or too small for the mechanism's resolution."""


class DomainError(InvalidInputError):
    """A domain that is empty, has one item, repeats an item, or holds something that is not an item."""


class UnknownItemError(InvalidInputError):
    """A value that is not in the domain."""


class FrequencyError(InvalidInputError):
    """Frequencies, counts or estimates that are negative, not whole, not finite or of the wrong length."""


class EmptyError(InvalidInputError):
    """Nobody to learn from: no values, no reports, n = 0."""


class SeedError(InvalidInputError):
    """A seed that is not a whole number of at least 0."""


class UnknownMechanismError(InvalidInputError):
    """A mechanism name that nobody registered."""


class ImpureMechanismError(InvalidInputError):
    """A mechanism without the two support probabilities p* and q*, so nothing here can debias it."""

    @classmethod
    def of(cls, what: str) -> ImpureMechanismError:
        """The error that says why this cannot be used, and what can be used instead."""
        return cls(
            f"{what} is not a pure mechanism: there is no one probability p* that a report supports the item its user "
            "holds, and no one q* that it supports another, the same for all items. Without them the noise depends on "
            "everybody's items, so its estimates can be neither debiased nor calibrated here; use a pure mechanism "
            "such as 'llh', 'oue' or 'grr'"
        )


class ChannelTooLargeError(InvalidInputError):
    """The exact channel was asked of a domain too large to list."""


class PlanError(InvalidInputError):
    """Text that is not a plan, or a plan whose parameters are not the ones its epsilon gives."""


class PlanMismatchError(InvalidInputError):
    """Reports or aggregates made under another plan."""


class ArchiveError(InvalidInputError):
    """A file that is not a saved aggregate, or was cut short or altered."""


class DataFileError(InvalidInputError):
    """A file that cannot be read, or whose content is not what it should be."""


class MissingPackageError(LocalDPError, ImportError):
    """Something was asked that needs a package which is not installed; the sentence says how to install it."""


class WireCode(StrEnum):
    """Why a batch of reports was refused; the same codes in every language."""

    BAD_MAGIC = "bad-magic"
    UNKNOWN_PLAN = "unknown-plan"
    TRUNCATED = "truncated"
    TRAILING_BYTES = "trailing-bytes"
    EMPTY_BATCH = "empty-batch"
    NONZERO_PADDING = "nonzero-padding"
    SYMBOL_OUT_OF_RANGE = "symbol-out-of-range"
    WRONG_WEIGHT = "wrong-weight"
    BAD_JSON = "bad-json"
    BAD_BASE64 = "bad-base64"
    WRONG_LENGTH = "wrong-length"


class WireError(InvalidInputError):
    """Bytes that are not a batch of this plan's reports. `code` says why, for machines."""

    def __init__(self, code: WireCode, message: str) -> None:
        super().__init__(f"{message} [{code}]")
        self.code = code
