"""A claim of the paper, what was measured for it, and the verdict."""

from __future__ import annotations

from dataclasses import dataclass

HOLDS, PARTLY, FAILS = "holds", "holds in part", "does not hold"
TIE, UNTRIED = "tie", "not tried"
"""A tie is a comparison whose difference is within noise, so that neither side can be called better."""
VERDICTS = (HOLDS, PARTLY, FAILS, TIE, UNTRIED)


@dataclass(frozen=True)
class Finding:
    """What was measured, in words, and the verdict, which is empty where nothing of the paper is judged.

    `fit` is "mean-variance" or "mle" where the result depends on how the power law is fitted, and empty otherwise.
    """

    here: str
    verdict: str = ""
    fit: str = ""


@dataclass(frozen=True)
class Claim:
    """What the paper says about a topic, in our words, and what was found: once, or once with each fit.

    `paper` is empty where the paper says nothing and the measurement is ours alone.
    """

    topic: str
    paper: str
    findings: tuple[Finding, ...]

    @property
    def depends_on_fit(self) -> bool:
        """Whether there is one finding for each of the paper's fits."""
        return bool(self.findings[0].fit)


def verdict(holds: bool, partly: bool = False) -> str:
    """The word for a claim that holds, holds in part, or does not hold."""
    return HOLDS if holds else PARTLY if partly else FAILS


def verdict_of_comparisons(signs: list[int]) -> str:
    """The verdict on "better in every comparison", given 1 for each clear win, 0 for a tie and -1 for a clear loss.

    It holds if there are wins and no losses: a tie does not contradict it. Ties alone are a tie.

    >>> [verdict_of_comparisons(signs) for signs in ([1, 0], [0, 0], [1, -1], [-1, 0])]
    ['holds', 'tie', 'holds in part', 'does not hold']
    """
    if not signs:
        return UNTRIED
    if not any(signs):
        return TIE
    return verdict(min(signs) >= 0, partly=max(signs) > 0)
