"""What a check raises."""

from __future__ import annotations


class CheckFailure(AssertionError):  # noqa: N818 (an assertion that failed, as its base says)
    """A check found something wrong; the message says what."""


def require(condition: object, sentence: str) -> None:
    """Fail with the sentence unless the condition holds."""
    if not condition:
        raise CheckFailure(sentence)
