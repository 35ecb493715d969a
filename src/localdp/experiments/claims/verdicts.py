"""A claim of the paper, what was measured for it, and the verdict."""

from __future__ import annotations

from dataclasses import dataclass

HOLDS, PARTLY, FAILS = "holds", "holds in part", "does not hold"
TIE, UNTRIED = "tie", "not tried"
"""A tie is a comparison whose difference is within noise, so that neither side can be called better."""
UNDECIDED = "too few trials"
"""A quick run could not tell, and the full run may: it has ties where the full run has winners."""
VERDICTS = (HOLDS, PARTLY, FAILS, TIE, UNTRIED, UNDECIDED)
ON_SURROGATE = ", on a surrogate"
"""Added to every verdict that rests on data which are not the paper's."""


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


def verdict_of_comparisons(signs: list[int], enough: bool = True) -> str:
    """The verdict on "better in every comparison", given 1 for each clear win, 0 for a tie and -1 for a clear loss.

    It holds if every comparison is won. With ties or losses beside the wins it holds in part; ties alone are a tie.
    Without `enough` trials a tie may become anything, so only a win together with a loss decides.

    >>> [verdict_of_comparisons(signs) for signs in ([1, 1], [1, 0], [0, 0], [1, -1], [-1, 0])]
    ['holds', 'holds in part', 'tie', 'holds in part', 'does not hold']
    >>> [verdict_of_comparisons(signs, enough=False) for signs in ([1, 0], [1, -1, 0])]
    ['too few trials', 'holds in part']
    """
    if not signs:
        return UNTRIED
    won, lost = max(signs) > 0, min(signs) < 0
    if 0 in signs and not enough and not (won and lost):
        return UNDECIDED
    if not any(signs):
        return TIE
    return verdict(min(signs) > 0, partly=won)
