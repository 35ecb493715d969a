"""Advice in sentences, for somebody who has never chosen an epsilon."""

from __future__ import annotations

import math
from collections.abc import Sequence

from localdp.advice.options import SEEN, Option
from localdp.advice.shapes import POWER_LAW, ZIPF
from localdp.advice.targets import Target, percent

WIDE = 4.0
"""Above this epsilon a report nearly gives the item away."""

_PLOT = 44


def odds(epsilon: float) -> str:
    """What an epsilon means."""
    factor, sure = math.exp(epsilon), 1 / (1 + math.exp(-epsilon))
    guess = f"{100 * sure:.0f}:{100 * (1 - sure):.0f}" if sure < 0.985 else f"{100 * sure:.6g}% sure"
    sentence = (
        f"Epsilon {epsilon:g} means that whoever sees a report, you included, can multiply their odds between any two "
        f"items by {factor:,.{1 if factor < 100 else 0}f} at most: a guess that was 50:50 becomes {guess} at worst."
    )
    if epsilon > WIDE:
        sentence += (
            " That is weak: a report nearly gives the item away. More users, or fewer items, would allow a smaller one."
        )
    return sentence


def outlook(option: Option) -> list[str]:
    """What the collector would learn with this option, and whether the users are enough."""
    shape, share = option.shape, option.smallest_share
    raw = (
        f"A raw frequency is off by about {_count(option.raw_rms)} users "
        f"({percent(option.raw_rms / shape.users)} of them), rare items as much as frequent ones."
    )
    if share > 1:
        few = " Not even an item that everybody holds would be seen: there are too few users for this epsilon."
        return [raw + few]
    seen = option.items_seen
    some = f"about {seen:,.0f}" if seen >= 1 else "fewer than one"
    assumed = _assumed(shape.name)
    visible = (
        f" An item held by {percent(share)} of the users ({_count(share * shape.users)}) or more is seen, that is, "
        f"stands out of the noise {SEEN:.0%} of the time. I{assumed[1:]}, {some} of {shape.items:,} "
        "items can be told from noise."
    )
    sentences = [raw + visible, _calibrated(option)]
    if seen < 1:
        sentences.append(
            "There are too few users to see single items at this epsilon. Four times as many users halve the error as "
            "a share of them; so does, roughly, a unit of epsilon more."
        )
    return sentences


def assumption(shape: str) -> list[str]:
    """What was assumed where nothing was said."""
    if shape != ZIPF:
        return []
    sentence = (
        "Nothing was said of how unequal the items are, so the r-th most frequent is taken to have a share in "
        "proportion to 1/r (Zipf's law). That touches the last column and how many items are seen, nothing else: take "
        "them as right within a factor of 1.5. If you have data that are like yours, name them with `like`."
    )
    return [sentence]


def reached(target: Target, option: Option, given: int | None, others: Sequence[tuple[float, int]]) -> str:
    """How many users a target takes at this epsilon, and at others."""
    needed = target.users(option.made)
    enough = "" if given is None else f": {given:,} are {'enough' if given >= needed else 'too few'}"
    listed = ", ".join(f"{count:,} at epsilon {epsilon:g}" for epsilon, count in others)
    return f"At epsilon {option.epsilon:g} it takes {needed:,} users {target}{enough}. It takes {listed}."


LEGEND = (
    "bytes: the length of a report. standard error: how far off a raw frequency is, in users. threshold: a raw "
    f"frequency above it is no accident. share seen: of the users, what an item needs to pass it {SEEN:.0%} of the "
    "time. calibrated: the error to expect after Calibrate, in users, over all items."
)
"""The columns of the table."""


def picture(rows: Sequence[tuple[float, float, float]]) -> str:
    """Errors against epsilon in text: rows of epsilon, calibrated and raw error, on a logarithmic scale."""
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
    gain = option.raw_rms / max(option.calibrated_rms, 1e-300)
    if gain < 1.1:
        return "Calibrate has little to gain here: the noise is small beside the differences between the items."
    return (
        f"Calibrate brings that down to about {_count(option.calibrated_rms)} users (root mean square over all items), "
        f"{gain:.{1 if gain < 10 else 0}f} times less, {_assumed(option.shape.name)}. The gain is on rare items: a "
        "frequent one stays off by about the standard error."
    )


def _assumed(shape: str) -> str:
    if shape == ZIPF:
        return "if frequencies fall as 1/rank"
    if shape == POWER_LAW:
        return "if frequencies follow the paper's power law"
    return f"if frequencies are like those of {shape}"


def _count(number: float) -> str:
    return f"{number:,.0f}" if number >= 10 else f"{number:.2g}"
