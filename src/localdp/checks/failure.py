"""The error that a failed check raises."""

from __future__ import annotations


class CheckFailure(AssertionError):  # noqa: N818 (an assertion that failed, as its base says)
    """A check failed; the message says what was checked, what was found and what was expected."""


def require(condition: object, sentence: str) -> None:
    """Raise `CheckFailure` with the sentence unless the condition holds."""
    if not condition:
        raise CheckFailure(sentence)
