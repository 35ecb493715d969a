"""The advice itself: what to take for so many items and users, and why."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from localdp.advice import sentences
from localdp.advice.options import Option, best_option, every_option
from localdp.advice.shapes import ZIPF, Like, shaped
from localdp.advice.targets import Target, checked_target, percent
from localdp.domain import Domain, Item
from localdp.errors import DomainError, InvalidInputError
from localdp.mechanisms import create
from localdp.plan import Plan
from localdp.table import Table
from localdp.validation import checked_users

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LADDER = (0.5, 1.0, 2.0, 4.0)
"""The epsilons that are compared when none is given."""

COMMON = 0.01
"""Of these, the least at which an item held by this share of the users is seen is recommended."""

CURVE = (0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0)

_WIDTH = 79
_FORMATS = {"epsilon": "g", "share seen": ".3%"}


@dataclass(frozen=True, eq=False)
class Advice:
    """Which mechanism to take at which epsilon, with what every option would give, and why.

    `options` are the mechanisms at the epsilon asked for or found, or the best one at each of several epsilons;
    `recommended` is the mechanism to take and `epsilon` its budget. `like` names the shape of the frequencies that the
    error after Calibrate is expected under. `users_needed` is how many users the target takes, if there is one.
    """

    items: int
    users: int
    epsilon: float
    recommended: str
    like: str
    options: tuple[Option, ...]
    why: tuple[str, ...]
    users_needed: int | None = None

    @cached_property
    def chosen(self) -> Option:
        """The option that is recommended."""
        return next(o for o in self.options if (o.mechanism, o.epsilon) == (self.recommended, self.epsilon))

    def table(self) -> Table:
        """A row for each option; errors and thresholds in users, `calibrated` the root of the mean squared error."""
        numbers = {
            "epsilon": [option.epsilon for option in self.options],
            "bytes": [option.report_bytes for option in self.options],
            "standard error": [option.standard_error for option in self.options],
            "threshold": [option.threshold for option in self.options],
            "share seen": [option.smallest_share for option in self.options],
            "calibrated": [option.calibrated_rms for option in self.options],
        }
        columns = {"mechanism": [option.mechanism for option in self.options]}
        title = f"{self.items:,} items, {self.users:,} users"
        return Table(columns | {name: np.array(values) for name, values in numbers.items()}, title, _FORMATS)

    @cached_property
    def curve(self) -> Table:
        """The errors against epsilon, each with the mechanism that is best there."""
        known = {o.epsilon: o for o in self.options if o.mechanism == self.recommended or len(self._epsilons) > 1}
        best = [known.get(epsilon) or best_option(epsilon, self.chosen.shape) for epsilon in CURVE]
        columns = {
            "epsilon": np.array(CURVE),
            "mechanism": [option.mechanism for option in best],
            "raw": np.array([option.raw_rms for option in best]),
            "calibrated": np.array([option.calibrated_rms for option in best]),
        }
        return Table(columns, "Root mean squared error against epsilon, in users", _FORMATS)

    @property
    def _epsilons(self) -> set[float]:
        return {option.epsilon for option in self.options}

    def plan(self, domain: Domain | int | Sequence[Item] | None = None) -> Plan:
        """The plan that is recommended, for these items (or for 0, 1, .. if none are named)."""
        plan = Plan(self.items if domain is None else domain, self.recommended, self.epsilon)
        if plan.domain.size != self.items:
            raise DomainError(f"the advice is for {self.items:,} items, and the domain has {plan.domain.size:,}")
        return plan

    def plot(self, axes: Axes | None = None) -> Axes:
        """Error against epsilon, raw and calibrated; matplotlib draws it."""
        from localdp import plots

        axes = plots.figure().add_subplot() if axes is None else axes
        x = self.curve["epsilon"]
        axes.plot(x, self.curve["raw"], color=plots.BLACK, marker="x", linestyle=":", label="raw")
        label = f"calibrated, if frequencies are like {self.like}"
        axes.plot(x, self.curve["calibrated"], color=plots.BLUE, marker="o", label=label)
        axes.axvline(self.epsilon, color=plots.VERMILLION, linestyle="--", label=f"epsilon {self.epsilon:g}")
        axes.set_xscale("log", base=2)
        axes.set_xticks(x, [f"{epsilon:g}" for epsilon in CURVE])
        axes.minorticks_off()
        axes.set_yscale("log")
        axes.set_xlabel("epsilon")
        axes.set_ylabel("expected error of a frequency (users)")
        axes.set_title(f"{self.items:,} items, {self.users:,} users")
        axes.legend()
        return axes

    def to_json(self) -> str:
        """Everything, for machines. `raw_error` and `calibrated_error` are means of squares over the items."""
        fields = ("items", "users", "epsilon", "recommended", "like", "users_needed", "why")
        document: dict[str, Any] = {name: getattr(self, name) for name in fields}
        names = ("mechanism", "epsilon", "report_bytes", "standard_error", "threshold", "smallest_share")
        errors = ("raw_error", "calibrated_error", "items_seen")
        document["options"] = [{name: getattr(o, name) for name in (*names, *errors)} for o in self.options]
        document["curve"] = [dict(zip(self.curve.columns, row, strict=True)) for row in self.curve]
        return json.dumps(document, ensure_ascii=False, indent=1)

    def __str__(self) -> str:
        title, head, *rows = str(self.table()).split("\n")
        chosen = self.options.index(self.chosen)
        marked = [f"{'>' if place == chosen else ' '} {row}" for place, row in enumerate(rows)]
        curve = zip(*(self.curve[name].tolist() for name in ("epsilon", "calibrated", "raw")), strict=True)
        paragraphs = [textwrap.fill(sentence, _WIDTH) for sentence in (sentences.LEGEND, *self.why)]
        return "\n".join(
            [title, "", f"  {head}", *marked, "", *_interleaved(paragraphs), sentences.picture(list(curve))]
        )

    def __repr__(self) -> str:
        return (
            f"<Advice for {self.items:,} items, {self.users:,} users: {self.recommended} at epsilon {self.epsilon:g}>"
        )


def advise(
    items: int,
    users: int | None = None,
    *,
    epsilon: float | None = None,
    target_error: float | str | None = None,
    smallest_share: float | str | None = None,
    like: Like = ZIPF,
) -> Advice:
    """What to expect of each mechanism before anything is collected, which one to take, and why.

    With `epsilon`, all mechanisms are compared at that budget; without, the best one at 0.5, 1, 2 and 4. A target is
    a share of the users, such as 0.001 or "0.1%": `target_error` the standard error of a raw frequency,
    `smallest_share` an item that is to be seen. With a target, the least epsilon that reaches it with these users is
    found; with a target and an epsilon, the number of users it takes. `like` says how unequal the items are: "zipf",
    "power-law", a data set ("retail"), a file, or a list of frequencies.

    >>> advice = advise(1_000, 100_000, epsilon=1.0)
    >>> advice.recommended, round(advice.chosen.standard_error)
    ('llh', 607)
    >>> advise(1_000, 100_000, smallest_share="1%").epsilon
    2.55
    """
    items = create("auto", items, LADDER[0]).mechanism.size  # refuses what is no number of items
    target = checked_target(target_error, smallest_share)
    given = None if users is None else checked_users(users)
    if epsilon is None:
        if given is None:
            raise InvalidInputError("say how many users there are, or give an epsilon and a target to find out")
        if target is None:
            return _ladder(items, given, like)
        return _one_epsilon(items, given, target.epsilon(items, given), like, target, found=True)
    chosen = create("auto", items, epsilon).mechanism
    if given is None and target is None:
        raise InvalidInputError("say how many users there are, or give a target to find out how many it takes")
    return _one_epsilon(items, given, chosen.requested_epsilon, like, target)


def _one_epsilon(
    items: int, given: int | None, epsilon: float, like: Like, target: Target | None, found: bool = False
) -> Advice:
    """All mechanisms at one epsilon, for the users given or as many as the target takes."""
    choice = create("auto", items, epsilon)
    needed = None if target is None else target.users(choice.mechanism)
    users = given or checked_users(needed)
    options = every_option(epsilon, shaped(like, items, users))
    chosen = next(option for option in options if option.mechanism == choice.mechanism.name)
    reason = choice.why.removeprefix(chosen.mechanism)
    why = [f"Take {chosen.mechanism}: it{reason}.", sentences.odds(epsilon)]
    if target is not None:
        others = [(step, target.users(create("auto", items, step).mechanism)) for step in LADDER if step != epsilon]
        why.append(sentences.reached(target, chosen, None if found else given, others))
    if found:
        why.insert(
            0, f"Epsilon {epsilon:g} is the least, in steps of 0.01, at which {users:,} users are enough {target}."
        )
    why += [*sentences.outlook(chosen), *sentences.assumption(chosen.shape.name)]
    return Advice(items, users, epsilon, chosen.mechanism, chosen.shape.name, options, tuple(why), needed)


def _ladder(items: int, users: int, like: Like) -> Advice:
    shape = shaped(like, items, users)
    options = tuple(best_option(epsilon, shape) for epsilon in LADDER)
    common = Target(share=COMMON)
    enough = [option for option in options if option.smallest_share <= COMMON]
    chosen = enough[0] if enough else options[-1]
    if enough:
        least = common.epsilon(items, users)
        exactly = f" ({least:g} would just do)" if least < chosen.epsilon else ""
        first = f"the least of these at which an item held by {percent(COMMON)} of the users is seen{exactly}"
    else:
        first = (
            f"with so few users an item held by {percent(COMMON)} of them is not seen at any of these (at epsilon 1 "
            f"that takes {common.users(options[1].made):,} users), and this is the most accurate"
        )
    reason = create("auto", items, chosen.epsilon).why.removeprefix(chosen.mechanism)
    why = [
        f"Take epsilon {chosen.epsilon:g}: {first}. The smaller the epsilon, the better everybody is protected.",
        f"Take {chosen.mechanism}: it{reason}.",
        sentences.odds(chosen.epsilon),
        *sentences.outlook(chosen),
        *sentences.assumption(shape.name),
    ]
    return Advice(items, users, chosen.epsilon, chosen.mechanism, shape.name, options, tuple(why))


def _interleaved(sentences: list[str]) -> list[str]:
    return [part for sentence in sentences for part in (sentence, "")]
