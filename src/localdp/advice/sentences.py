"""The sentences of `advise`, written for somebody who has never chosen an epsilon."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence

from localdp.advice.options import SEEN, Option
from localdp.advice.shapes import POWER_LAW, ZIPF
from localdp.advice.targets import Target, percent

WIDE = 4.0
"""Above this epsilon, a report nearly gives the item away."""

WIDTH = 79
"""The most characters in a line."""

_PLOT = 44  # characters across

_COLUMNS = {
    "mechanism": "the way in which devices add noise to their answers",
    "epsilon": "how much a report may reveal; smaller protects better",
    "bytes": "the length of one report",
    "standard error": "typical error of a raw frequency, before Calibrate, in users",
    "threshold": "a raw frequency above this many users is more than noise",
    "share seen": f"the smallest share of users that is detected {SEEN:.0%} of the time",
    "calibrated": "typical error after Calibrate, over all items, in users",
}


def legend() -> str:
    """One line for each column of the table."""
    width = max(map(len, _COLUMNS)) + 4
    return "\n".join(
        textwrap.fill(meaning, WIDTH, initial_indent=f"  {name:<{width - 2}}", subsequent_indent=" " * width)
        for name, meaning in _COLUMNS.items()
    )


def take(reason: str) -> str:
    """Which mechanism to take; the reason begins with its name, as `Choice.why` does."""
    return f"Take {reason}."


def odds(epsilon: float) -> str:
    """What an epsilon means for one person."""
    factor, doubt = math.exp(epsilon), 100 / (1 + math.exp(epsilon))
    digits = max(0, math.ceil(-math.log10(doubt)))  # enough to show that some doubt is left
    guess = f"{100 - doubt:.{digits}f}:{doubt:.{digits}f}"
    sentence = (
        f"Epsilon {epsilon:g} limits what a report tells about its sender, to you and to everybody else: a guess of "
        f"50:50 between two items becomes at most {guess} (the odds grow at most "
        f"{factor:,.{1 if factor < 100 else 0}f}-fold)."
    )
    if epsilon > WIDE:
        sentence += (
            " That is weak protection: a report nearly gives the item away. With more users or fewer items, a smaller "
            "epsilon would do."
        )
    return sentence


def outlook(option: Option) -> list[str]:
    """What the collector will learn with this option, and whether there are enough users."""
    shape, share = option.shape, option.smallest_share
    raw = (
        f"A raw frequency is off by about {_count(option.raw_rms)} users "
        f"({percent(option.raw_rms / shape.users)} of all), for rare items as much as for frequent ones."
    )
    if share > 1:
        return [f"{raw} Even an item that everybody holds is not detected: there are too few users for this epsilon."]
    seen = option.items_seen
    some = f"about {seen:,.0f}" if seen >= 1 else "fewer than one"
    assumed = _assumed(shape.name)
    detected = (
        f"An item is detected, which means that it stands out from the noise {SEEN:.0%} of the time, if at least "
        f"{percent(share)} of the users ({_count(share * shape.users)}) hold it. I{assumed[1:]}, {some} of the "
        f"{shape.items:,} items will stand out."
    )
    sentences = [f"{raw} {detected}", _calibrated(option)]
    if seen < 1:
        sentences.append(
            "There are too few users to detect single items at this epsilon. To halve the error as a share of the "
            "users, take four times as many users, or (roughly) an epsilon that is larger by 1."
        )
    return sentences


def assumption(shape: str) -> list[str]:
    """What was assumed about the frequencies, if the caller did not say how unequal they are."""
    if shape != ZIPF:
        return []
    sentence = (
        "You did not say how unequal the items are, so Zipf's law is assumed: the second most frequent item has half "
        "as many users as the first, the third has a third, and so on. Only the column `calibrated` and the number of "
        "items that stand out depend on it; expect these to be right within a factor of 1.5. If you have data similar "
        "to yours, name them with `like` (`--like`) for better figures."
    )
    return [sentence]


def least_epsilon(target: Target, epsilon: float, users: int) -> str:
    """Says that this epsilon is the smallest one that reaches the target."""
    return f"Epsilon {epsilon:g} is the smallest, in steps of 0.01, at which {users:,} users are enough {target}."


def reached(target: Target, option: Option, given: int | None, others: Sequence[tuple[float, int]]) -> str:
    """How many users a target needs at this epsilon, and at others. `given` is how many there are, if that was said."""
    needed = target.users(option.made)
    enough = "" if given is None else f"; {given:,} are {'enough' if given >= needed else 'too few'}"
    listed = ", ".join(f"epsilon {epsilon:g} needs {count:,}" for epsilon, count in others)
    return f"At epsilon {option.epsilon:g}, {needed:,} users are needed {target}{enough}. By comparison, {listed}."


def smallest_epsilon_that_detects(share: float, epsilon: float, exactly: float) -> str:
    """Why this epsilon of the ladder is recommended. `exactly` is the smallest sufficient one, in steps of 0.01."""
    enough = f" (Epsilon {exactly:g} would be just enough.)" if exactly < epsilon else ""
    return (
        f"Take epsilon {epsilon:g}: of these, it is the smallest, and so the most private, at which an item held by "
        f"{percent(share)} of the users is detected.{enough}"
    )


def no_epsilon_detects(share: float, epsilon: float, needed: int) -> str:
    """Why the largest epsilon of the ladder is recommended. `needed` is the number of users needed at epsilon 1."""
    return (
        f"Take epsilon {epsilon:g}, the most accurate of these: with so few users, an item held by {percent(share)} of "
        f"them is not detected at any of these epsilons. (At epsilon 1, {needed:,} users would be needed.)"
    )


def picture(rows: Sequence[tuple[float, float, float]]) -> str:
    """A plot in text of errors against epsilon, on a logarithmic scale; rows of epsilon, calibrated and raw error."""
    logs = [math.log(max(error, 1e-3)) for _, calibrated, raw in rows for error in (calibrated, raw)]
    low, wide = min(logs), max(max(logs) - min(logs), 1e-9)
    lines = [f"{'epsilon':>7}  {'error in users, o calibrated, x raw':<{_PLOT}}  {'calibrated':>10}  {'raw':>9}"]
    for epsilon, calibrated, raw in rows:
        places = [round((math.log(max(e, 1e-3)) - low) / wide * (_PLOT - 1)) for e in (calibrated, raw)]
        first, last = min(places), max(places)
        cells = [" "] * first + ["."] * (last - first) + [" "] * (_PLOT - last)
        cells[places[1]], cells[places[0]] = "x", "o"
        lines.append(f"{epsilon:>7g}  {''.join(cells)[:_PLOT]}  {_count(calibrated):>10}  {_count(raw):>9}")
    return "\n".join(lines)


def _calibrated(option: Option) -> str:
    """What Calibrate improves."""
    gain = option.raw_rms / max(option.calibrated_rms, 1e-300)
    if gain < 1.1:
        return "Calibrate improves little here: the noise is small compared with the differences between the items."
    return (
        f"Calibrate reduces the error to about {_count(option.calibrated_rms)} users (root mean square over all "
        f"items), {gain:.{1 if gain < 10 else 0}f} times less, {_assumed(option.shape.name)}. Rare items gain most; a "
        "frequent one keeps an error of about the standard error."
    )


def _assumed(shape: str) -> str:
    """The assumption about the frequencies, as half a sentence that begins with "if"."""
    if shape == ZIPF:
        return "if frequencies fall like 1/rank"
    if shape == POWER_LAW:
        return "if frequencies follow the paper's power law"
    return f"if frequencies are like those of {shape}"


def _count(number: float) -> str:
    """A number of users, rounded for reading."""
    return f"{number:,.0f}" if number >= 10 else f"{number:.2g}"
