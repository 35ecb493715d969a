"""The sentences of `advise`, written for somebody who has never chosen an epsilon."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from dataclasses import replace

from localdp.advice.options import SHARES, Option
from localdp.advice.shapes import EQUAL, EXPONENTIAL, EXPONENTS, HELD, POWER_LAW, ZIPF
from localdp.advice.targets import Target, percent
from localdp.amplification import certified, rounded_up
from localdp.changes.planning import people_for_change, periods_for_change, smallest_change
from localdp.estimate.thresholds import SEEN

WIDE = 4.0
"""Above this epsilon, a report nearly gives the item away."""

WIDTH = 79
"""The most characters in a line."""

_MANY = 0.1  # few items are held by more than this share of the users
_LARGER = (0.02, 0.05, 0.1, 0.2, 0.5)  # shares of users that are tried if a smaller one cannot be detected
_PLOT = 38  # characters across

_COLUMNS = {
    "mechanism": "the way in which devices add noise to their answers",
    "epsilon": "how much a report may reveal; smaller protects better",
    "bytes": "the length of one report",
    "threshold": "a raw frequency above this many users is more than noise",
    "share seen": f"the smallest share of users that is detected {SEEN:.0%} of the time",
    "calibrated": "typical error after Calibrate, over all items, in users",
}

ERRORS = """The standard error (typical error of a raw frequency, before Calibrate, in
users) of an item that this share of the users holds:"""
"""The heading of the table of standard errors."""


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


def would_take(reason: str, epsilon: float) -> str:
    """Which mechanism `auto` takes at an epsilon that is not recommended."""
    return f"At epsilon {epsilon:g} the mechanism would be {reason}."


def larger_shares(items: int, users: int, most: float) -> list[str]:
    """Which epsilon detects items of larger shares, for those shares that some epsilon up to `most` detects."""
    found = [(percent(share), Target(share=share).smallest_epsilon(items, users, most)) for share in _LARGER]
    parts = [f"{share} needs epsilon {epsilon:g}" for share, epsilon in found if epsilon is not None][:3]
    if not parts:
        return []
    advice = "If you care only about more frequent items, name their share of the users with `--smallest-share`"
    return [f"{advice} (`smallest_share`): {', '.join(parts)}."]


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


def sets_of(set_size: int) -> str:
    """What the errors of plans for sets are about."""
    return (
        f"Errors are those of numbers of holders, if nobody holds more than {set_size} items; larger sets count for "
        "less. Errors after Calibrate are for users who hold one item on average."
    )


def together(epsilon: float, once: float) -> str:
    """What all reports of one device reveal together, where every report has a budget of its own."""
    return f"All reports of one person together spend epsilon {epsilon:g}, however many; one report spends {once:g}."


def shuffled(option: Option) -> str:
    """What a trusted shuffler would add to the protection."""
    delta = min(1e-6, 0.1 / option.users)
    found = certified(option.made, option.users, delta)
    return (
        "If somebody whom people trust mixed the reports and forgot who sent which (a shuffler) before anybody else "
        f"sees them, what they tell about one person would be limited to epsilon {rounded_up(found, 2)}, but for a "
        f"probability of {delta:.2g}. A collector that sees addresses is no shuffler; the page 'What a shuffler adds' "
        "says what is."
    )


def outlook(option: Option) -> list[str]:
    """What the collector will learn with this option, and whether there are enough users."""
    share, errors = option.smallest_share, [_count(option.standard_error_at(at)) for at in SHARES]
    held = [f"by {percent(at)} of the users by {error}" for at, error in zip(SHARES[1:], errors[1:], strict=True)]
    why = ", because the holders of an item add noise to its frequency" if option.made.excess_variance > 0 else ""
    raw = (
        f"The raw frequency of an item that nobody holds is off by about {errors[0]} users "
        f"({percent(option.standard_error / option.users)} of all), that of an item held {', '.join(held[:-1])} and "
        f"{held[-1]}{why}."
    )
    if share > 1:
        return [f"{raw} Even an item that everybody holds is not detected: there are too few users for this epsilon."]
    detected = (
        f"An item is detected, which means that it stands out from the noise {SEEN:.0%} of the time, if at least "
        f"{percent(share)} of the users ({_count(share * option.users)}) hold it. {_standing_out(option)}"
    )
    sentences = [f"{raw} {detected}", _calibrated(option), changes(option)]
    if option.items_seen.get(ZIPF, max(option.items_seen.values())) < 1 or option.items_detected == 0:
        sentences.append(
            "There are too few users to detect single items at this epsilon. To halve the error as a share of the "
            "users, take four times as many users, or (roughly) an epsilon that is larger by 1."
        )
    return sentences


def changes(option: Option) -> str:
    """How many people it takes to see a change from one survey to the next, or how large a change these people show."""
    needed, least = people_for_change(option.made), smallest_change(option.made, option.users)
    periods = periods_for_change(option.made, option.users)
    return (
        f"To see an item go from 10% to 12% takes {_count(needed)} people before and as many after (seen {SEEN:.0%} of "
        f"the time, at a level of 5%); {_count(option.users)} each show a change of {100 * least:.2g} points. A long "
        f"history knows where the item was: with {_count(option.users)} people in each period, it needs about "
        f"{_count(periods)} {'period' if periods == 1 else 'periods'} after such a step, if other people report in it."
    )


def span(option: Option) -> str:
    """The error after Calibrate as a table shows it: one number for one shape, from lowest to highest for several."""
    return _range(option.lowest[1], option.highest[1])


def least_epsilon(target: Target, epsilon: float, users: int) -> str:
    """Says that this epsilon is the smallest one that reaches the target."""
    return (
        f"Take epsilon {epsilon:g}: it is the smallest, in steps of 0.01, and so the most private, at which {users:,} "
        f"users are enough {target}."
    )


def reached(target: Target, option: Option, given: int | None, others: Sequence[tuple[float, int]]) -> str:
    """How many users a target needs at this epsilon, and at others. `given` is how many there are, if that was said."""
    needed = target.users(option.made)
    enough = "" if given is None else f"; {given:,} are {'enough' if given >= needed else 'too few'}"
    listed = ", ".join(f"epsilon {epsilon:g} needs {count:,}" for epsilon, count in others)
    sentence = f"At epsilon {option.epsilon:g}, {needed:,} users are needed {target}{enough}. By comparison, {listed}."
    if given is not None and given < needed:
        ways = target.remedies(option.made.size, given, option.epsilon)
        sentence += f" At epsilon {option.epsilon:g} this would do: {ways}."
    if target.error is not None and target.up_to > _MANY:
        fewer = replace(target, up_to=_MANY).users(option.made)
        if fewer < needed:
            sentence += (
                f" If the error matters only for items that up to {percent(_MANY)} of the users hold, {fewer:,} are "
                f"enough at epsilon {option.epsilon:g}: say so with `up_to` (`--up-to`)."
            )
    return sentence


def out_of_reach(target: Target, items: int, users: int, epsilon: float, most: float) -> str:
    """Says that no epsilon up to `most` reaches the target, and what would at this epsilon."""
    return (
        f"There is no epsilon to recommend: up to {most:g}, none is enough {target}, with {users:,} users and "
        f"{items:,} items, and a larger one hides little. A larger epsilon than {epsilon:g} would cost privacy and "
        f"still miss the target, so the figures below are for epsilon {epsilon:g}. There, this would do: "
        f"{target.remedies(items, users, epsilon)}."
    )


def picture(rows: Sequence[tuple[float, float, float, float]], budget: str = "epsilon") -> str:
    """A plot in text of errors against the budget of one report, on a logarithmic scale.

    A row has a budget, the lowest and the highest calibrated error, which may be equal, and the raw error.
    """
    logs = [[math.log(max(error, 1e-3)) for error in errors] for _, *errors in rows]
    low = min(map(min, logs))
    wide = max(max(map(max, logs)) - low, 1e-9)
    lines = [f"{budget:>7}  {'error in users, o calibrated, x raw':<{_PLOT}}  {'calibrated':>18}  {'raw':>9}"]
    for (epsilon, lowest, highest, raw), places in zip(rows, logs, strict=True):
        first, second, cross = (round((place - low) / wide * (_PLOT - 1)) for place in places)
        cells = [" "] * _PLOT
        cells[first : max(cross, second)] = ["."] * (max(cross, second) - first)
        cells[first:second] = ["="] * (second - first)
        cells[cross], cells[first], cells[second] = "x", "o", "o"
        lines.append(f"{epsilon:>7g}  {''.join(cells)}  {_range(lowest, highest):>18}  {_range(raw, raw):>9}")
    return "\n".join(lines)


def _standing_out(option: Option) -> str:
    """How many items will stand out, by shape."""
    seen, items = option.items_seen, option.made.size
    if len(seen) == 1:
        ((name, found),) = seen.items()
        if option.items_detected == 0:
            luck = f", though by chance {_some(found)} of the {items:,} items may" if found >= 0.5 else ""
            return f"I{_if(name)[1:]}, no item is that frequent, so none stands out reliably{luck}."
        return f"I{_if(name)[1:]}, {_some(found)} of the {items:,} items will stand out."
    (few, least), (many, most) = (chosen(seen.items(), key=lambda entry: entry[1]) for chosen in (min, max))
    if _some(least) == _some(most):
        return f"{_some(most).capitalize()} of the {items:,} items will stand out."
    return (
        f"How many of the {items:,} items will stand out depends on how unequal they are: from {_some(least)} "
        f"({_if(few)}) to {_some(most)} ({_if(many)})."
    )


def _some(found: float) -> str:
    return f"about {found:,.0f}" if found >= 1 else "fewer than one"


def _calibrated(option: Option) -> str:
    """What Calibrate improves."""
    (best, lowest), (worst, highest) = option.lowest, option.highest
    if option.raw_rms < 1.1 * lowest:
        why = (
            "the noise is small compared with the differences between the items"
            if option.standard_error < option.spread
            else "so few items say little about how frequent items are in general"
        )
        return f"Calibrate improves little here: {why}."
    rare = "Rare items gain most; a frequent one keeps an error of about its standard error."
    if len(option.shapes) == 1:
        return (
            f"Calibrate reduces the error to about {_count(highest)} users (root mean square over all items), "
            f"{_times(option.raw_rms / max(highest, 1e-300))} times less, {_if(best)}. {rare}"
        )
    listed = ", ".join(f"{name} {_count(error)}" for name, error in option.calibrated.items())
    return (
        f"Calibrate reduces the error (root mean square over all items) from {_count(option.raw_rms)} users to between "
        f"{_count(lowest)} ({_if(best)}) and {_count(highest)} ({_if(worst)}). You did not say how unequal the items "
        f"are, so {len(option.shapes)} very different shapes were tried: {listed}. If you know the shape or have "
        f"similar data, name it with `like` (`--like`). {rare}"
    )


def _if(shape: str) -> str:
    """What the frequencies are like, as half a sentence that begins with "if"."""
    if shape == ZIPF:
        return "if frequencies fall like 1/rank"
    if shape in EXPONENTS:
        return f"if frequencies fall like 1/rank^{EXPONENTS[shape]:g}"
    if shape in HELD:
        return f"if {percent(HELD[shape])} of the items are held, equally often"
    return {
        EQUAL: "if all items are equally frequent",
        EXPONENTIAL: "if frequencies are distributed exponentially",
        POWER_LAW: "if frequencies follow the paper's power law",
    }.get(shape, f"if frequencies are like those of {shape}")


def _times(factor: float) -> str:
    return f"{factor:.{1 if factor < 10 else 0}f}"


def _range(low: float, high: float) -> str:
    """Two numbers of users as one or as a range."""
    first, last = (_count(number) if number < 1e6 else f"{number:.1e}" for number in (low, high))
    return first if first == last else f"{first} to {last}"


def _count(number: float) -> str:
    """A number of users, rounded for reading."""
    return f"{number:,.0f}" if number >= 10 else f"{number:.2g}"
