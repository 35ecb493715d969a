"""The advice itself: which mechanism and epsilon to take for a number of items and users, and why."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from localdp.advice import sentences
from localdp.advice.options import SHARES, Option, best_option, every_option
from localdp.advice.scales import advise_scale, required
from localdp.advice.shapes import Like, Shape, several_shapes, shaped
from localdp.advice.targets import Target, checked_target
from localdp.domain import Domain
from localdp.errors import DomainError, InvalidInputError
from localdp.items import Item
from localdp.mechanisms import create
from localdp.plan import Plan
from localdp.questions import Scale
from localdp.table import Table
from localdp.validation import checked_users, shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LADDER = (0.5, 1.0, 2.0, 4.0)
"""The epsilons that are compared when none is given."""

COMMON = 0.01
"""Without an epsilon and a target, the target is to detect an item that this share of the users holds."""

USUAL = 1.0
"""The epsilon that is shown if no epsilon of at most 4 reaches the target."""

CURVE = (0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0)
"""The epsilons of the plot of errors."""

_FORMATS = {"epsilon": "g", "share seen": ".3%"}
_NOBODY, _FEW = "nobody", 10  # errors below ten users are printed with decimals
_SCALED = ("threshold", _NOBODY, *(f"{share:.0%}" for share in SHARES))
_AT_SHARES = {share: f"at {share:.0%}" for share in SHARES if share > 0}


@dataclass(frozen=True, eq=False)
class Advice:
    """Which mechanism to take at which epsilon, why, and what every option would give.

    `recommended` is the name of the mechanism to take and `epsilon` its budget. `options` are all mechanisms at this
    epsilon, or, if neither an epsilon nor a target was given, the best mechanism at each of several epsilons. `like`
    names the shape of the frequencies, which the error after Calibrate depends on; it is None if the caller did not say
    one, and then errors after Calibrate are ranges over several shapes. `why` is a list of sentences. `users_needed` is
    the number of users that the target needs at this epsilon, or None without a target. `once` is the budget of one
    report where people are asked again and again, and `set_size` that of a plan for sets; both are None elsewhere.

    >>> advice = advise(100, 50_000, epsilon=1.0)
    >>> advice.recommended, advice.chosen.report_bytes
    ('llh', 2)
    >>> advice.plan().mechanism
    <llh on 100 items, epsilon 1, 9-bit reports>
    """

    items: int
    users: int
    epsilon: float
    recommended: str
    like: str | None
    options: tuple[Option, ...]
    why: tuple[str, ...]
    users_needed: int | None = None
    reachable: bool = True
    """Whether an epsilon of at most 4 reaches the usual target; if not, no option is marked as recommended."""
    once: float | None = None
    set_size: int | None = None

    @cached_property
    def chosen(self) -> Option:
        """The option that is recommended."""
        return next(o for o in self.options if (o.mechanism, o.epsilon) == (self.recommended, self.epsilon))

    def table(self) -> Table:
        """A row for each option. Errors and thresholds are in users.

        `standard error` is that of an item that nobody holds, and `at 1%`, `at 10%` and `at 50%` are those of items
        that so many of the users hold. `lowest` and `highest` are root mean squared errors over all items after
        Calibrate, for the most and the least favourable of the shapes; they are equal if the shape is known.
        """
        numbers: dict[str, list[float]] = {
            "epsilon": [option.epsilon for option in self.options],
            "bytes": [option.report_bytes for option in self.options],
            "standard error": [option.standard_error for option in self.options],
        }
        for share, name in _AT_SHARES.items():
            numbers[name] = [option.standard_error_at(share) for option in self.options]
        numbers |= {
            "threshold": [option.threshold for option in self.options],
            "share seen": [option.smallest_share for option in self.options],
            "lowest": [option.lowest[1] for option in self.options],
            "highest": [option.highest[1] for option in self.options],
        }
        columns = {"mechanism": [option.mechanism for option in self.options]}
        title = f"{self.items:,} items, {self.users:,} users"
        return Table(columns | {name: np.array(values) for name, values in numbers.items()}, title, _FORMATS)

    @cached_property
    def curve(self) -> Table:
        """The errors at several budgets of one report, each with the best mechanism there; columns as in `table`."""
        known = {
            o.made.requested_once: o for o in self.options if o.mechanism == self.recommended or len(self._epsilons) > 1
        }
        best = [known.get(budget) or self._best_at(budget) for budget in self._budgets]
        columns = {
            "epsilon": np.array(self._budgets),
            "mechanism": [option.mechanism for option in best],
            "raw": np.array([option.raw_rms for option in best]),
            "lowest": np.array([option.lowest[1] for option in best]),
            "highest": np.array([option.highest[1] for option in best]),
        }
        return Table(columns, "Root mean squared error against epsilon, in users", _FORMATS)

    @property
    def _budgets(self) -> tuple[float, ...]:
        """The budgets of one report that the curve shows."""
        return tuple(budget for budget in CURVE if budget < self.epsilon) if self._again else CURVE

    def _best_at(self, budget: float) -> Option:
        """The best option with this budget for one report."""
        if self._again:
            return best_option(self.epsilon, self.chosen.shapes, {"once": budget})
        return best_option(budget, self.chosen.shapes, self._options)

    @property
    def _again(self) -> bool:
        """Whether people are asked again and again."""
        return self.chosen.made.perturbs_again

    @property
    def _options(self) -> dict[str, Any]:
        """The options of the plan that is recommended."""
        return given_options(self.once, self.set_size)

    @property
    def _epsilons(self) -> set[float]:
        return {option.epsilon for option in self.options}

    def plan(self, domain: Domain | int | Sequence[Item] | None = None) -> Plan:
        """The recommended plan for these items; without a domain, the items are 0, 1, 2 and so on."""
        plan = Plan(self.items if domain is None else domain, self.recommended, self.epsilon, **self._options)
        if plan.domain.size != self.items:
            raise DomainError(
                f"this advice is for {self.items:,} items, but the domain has {plan.domain.size:,}: "
                "ask for advice with that number of items"
            )
        return plan

    def plot(self, axes: Axes | None = None) -> Axes:
        """Plot the raw and the calibrated error against epsilon, with matplotlib."""
        from localdp import plots

        axes = plots.figure().add_subplot() if axes is None else axes
        x = self.curve["epsilon"]
        axes.plot(x, self.curve["raw"], color=plots.BLACK, marker="x", linestyle=":", label="raw")
        known = self.like is not None
        label = f"calibrated, if frequencies are like {self.like}" if known else "calibrated, over several shapes"
        axes.plot(x, self.curve["highest"], color=plots.BLUE, marker="o", label=label)
        if not known:
            axes.plot(x, self.curve["lowest"], color=plots.BLUE, marker="o")
            axes.fill_between(x, self.curve["lowest"], self.curve["highest"], color=plots.BLUE, alpha=0.2)
        budget = self.chosen.made.requested_once
        axes.axvline(budget, color=plots.VERMILLION, linestyle="--", label=f"epsilon {budget:g}")
        axes.set_xscale("log", base=2)
        axes.set_xticks(x, [f"{epsilon:g}" for epsilon in self._budgets])
        axes.minorticks_off()
        axes.set_yscale("log")
        axes.set_xlabel("epsilon of one report" if self._again else "epsilon")
        axes.set_ylabel("expected error of a frequency (users)")
        axes.set_title(f"{self.items:,} items, {self.users:,} users")
        axes.legend()
        return axes

    def to_json(self) -> str:
        """All fields as JSON.

        In `standard_errors` and `calibrated` the keys are shares of the users and names of shapes; `raw_error` is a
        mean squared error over the items.
        """
        fields = ("items", "users", "epsilon", "recommended", "like", "users_needed", "why")
        document: dict[str, Any] = {name: getattr(self, name) for name in fields}
        document |= self._options
        names = ("mechanism", "epsilon", "report_bytes", "threshold", "smallest_share", "raw_error")
        document["options"] = [
            {name: getattr(option, name) for name in names}
            | {"standard_errors": {f"{share:g}": option.standard_error_at(share) for share in SHARES}}
            | {"calibrated": option.calibrated, "items_seen": option.items_seen}
            for option in self.options
        ]
        document["curve"] = [dict(zip(self.curve.columns, row, strict=True)) for row in self.curve]
        return json.dumps(document, ensure_ascii=False, indent=1)

    def __str__(self) -> str:
        table = self.table()
        labels = {name: table[name] for name in ("mechanism", "epsilon")}
        ranges = [sentences.span(option) for option in self.options]
        seen = [f"{share:>10.3%}" if share <= 1 else f"{'none':>10}" for share in table["share seen"].tolist()]
        shown = {"bytes": table["bytes"], "threshold": table["threshold"], "share seen": seen, "calibrated": ranges}
        errors = {_NOBODY: table["standard error"]} | {f"{s:.0%}": table[name] for s, name in _AT_SHARES.items()}
        curve = zip(*(self.curve[name].tolist() for name in ("epsilon", "lowest", "highest", "raw")), strict=True)
        paragraphs = [textwrap.fill(sentence, sentences.WIDTH) for sentence in self.why]
        return "\n\n".join(
            [
                table.title,
                self._marked(labels | shown),
                sentences.legend(),
                f"{sentences.ERRORS}\n\n{self._marked(labels | errors)}",
                *paragraphs,
                sentences.picture(list(curve), "once" if self._again else "epsilon"),
            ]
        )

    def _marked(self, columns: dict[str, Any]) -> str:
        """The columns as lines of text, with a mark at the option that is recommended."""
        numbers = {name: values for name, values in columns.items() if name in _SCALED}
        fine = {name: ",.2f" for name in numbers if min(map(min, numbers.values())) < _FEW}
        head, *rows = str(Table(columns, "", _FORMATS | fine)).strip("\n").split("\n")
        chosen = self.options.index(self.chosen) if self.reachable else None
        marked = [f"{'>' if place == chosen else ' '} {row}".rstrip() for place, row in enumerate(rows)]
        return "\n".join([f"  {head}".rstrip(), *marked])

    def __repr__(self) -> str:
        return (
            f"<Advice for {self.items:,} items, {self.users:,} users: {self.recommended} at epsilon {self.epsilon:g}>"
        )


def advise(
    items: int | Scale | None = None,
    users: int | None = None,
    *,
    epsilon: float | None = None,
    once: float | None = None,
    set_size: int | None = None,
    target_error: float | str | None = None,
    up_to: float | str | None = None,
    smallest_share: float | str | None = None,
    like: Like | None = None,
) -> Advice:
    """Predict the accuracy of each mechanism before anything is collected, and say which to take and why.

    - Given `users`, it finds the smallest epsilon, up to 4, at which an item held by 1% of the users is detected, and
      compares it with 0.5, 1, 2 and 4. If there is none, it says what would be needed.
    - Given `users` and `epsilon`, it compares all mechanisms at this epsilon.
    - Given `users` and a target, it finds the smallest epsilon that reaches the target.
    - Given `epsilon` and a target, it finds the number of users that the target needs.
    - Given `users`, `epsilon` and `once`, it compares the chains, for people who are asked again and again.
    - Given `users`, `epsilon` and `set_size`, it compares the mechanisms for people who hold sets of items.

    - Given a `Scale` in the place of items, `users` and `epsilon`, a
      `ScaleAdvice` says how well mean and median will be known.

    A target is a share of the users, such as 0.001 or "0.1%". `target_error` is the standard error to reach for a raw
    frequency. It is reached for every item, however many users hold it; with `up_to="10%"` it is reached only for items
    that at most 10% of the users hold, which takes fewer users or a smaller epsilon, because the holders of an item add
    noise to its frequency. `smallest_share` is the share of users that hold an item which must be detected.

    `like` says how unequal the items are: "zipf", "equal", another name, a data set such as "retail", a file, or a list
    of frequencies. Without it, errors after Calibrate are given as a range over several shapes.

    >>> advice = advise(1_000, 100_000, epsilon=1.0)
    >>> advice.recommended, round(advice.chosen.standard_error)
    ('llh', 607)
    >>> advise(1_000, 100_000, smallest_share="1%").epsilon
    2.56
    """
    if isinstance(items, Scale):
        others = (once, set_size, target_error, up_to, smallest_share, like)
        return advise_scale(items, *required(users, epsilon, others))  # type: ignore[return-value]
    items = _checked_items(items)
    options = given_options(once, set_size)
    if options:
        *_, name = options
        if users is None or epsilon is None or not target_error is smallest_share is up_to is None:
            raise InvalidInputError(
                f"with {name}, give the users and the epsilon of all reports together, and no target"
            )
        return _with_options(items, checked_users(users), epsilon, options, like)
    target = checked_target(target_error, smallest_share, up_to)
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


def _checked_items(items: Any) -> int:
    """A number of items; if something else was given, the error says what to pass."""
    if items is None or (isinstance(items, Iterable) and not isinstance(items, str)):
        given = "" if items is None else f", not {shown(type(items))}"
        raise InvalidInputError(
            f"advise needs the number of items and the number of users{given}: for answers that you have, pass "
            "advise(8, 300, like=frequencies) with the number of users for each item, such as "
            "list(collections.Counter(answers).values())"
        )
    return create("auto", items, LADDER[0]).mechanism.size  # raises DomainError if it is not a number of items


def _one_epsilon(
    items: int, given: int | None, epsilon: float, like: Like | None, target: Target | None, found: bool = False
) -> Advice:
    """Compare all mechanisms at one epsilon. `found` says that the epsilon was computed from the target.

    If the number of users was not given, it is the number that the target needs.
    """
    choice = create("auto", items, epsilon)
    needed = None if target is None else target.users(choice.mechanism)
    users = given or checked_users(needed)
    options = every_option(epsilon, _shapes(like, items, users))
    chosen = next(option for option in options if option.mechanism == choice.mechanism.name)
    why = [sentences.take(choice.why), sentences.odds(epsilon)]
    if target is not None:
        others = [(step, target.users(create("auto", items, step).mechanism)) for step in LADDER if step != epsilon]
        why.append(sentences.reached(target, chosen, None if found else given, others))
        if found:
            why.insert(0, sentences.least_epsilon(target, epsilon, users))
    why += [*sentences.outlook(chosen), sentences.shuffled(chosen)]
    return Advice(items, users, epsilon, chosen.mechanism, _known(chosen.shapes), options, tuple(why), needed)


def given_options(once: float | None, set_size: int | None) -> dict[str, Any]:
    """Those of these options of a plan that were given, by name."""
    return {name: value for name, value in (("once", once), ("set_size", set_size)) if value is not None}


def _with_options(items: int, users: int, epsilon: float, given: dict[str, Any], like: Like | None) -> Advice:
    """Compare all chains with these two budgets, or all mechanisms for sets of this size."""
    choice = create("auto", items, epsilon, **given)
    made = choice.mechanism
    options = every_option(epsilon, _shapes(like, items, users), given)
    chosen = next(option for option in options if option.mechanism == made.name)
    if made.perturbs_again:
        about = sentences.together(made.requested_epsilon, made.requested_once)
    else:
        about = sentences.sets_of(given["set_size"])
    why = (
        *(sentences.take(choice.why), about, sentences.odds(made.requested_once)),
        *(*sentences.outlook(chosen), sentences.shuffled(chosen)),
    )
    known = _known(chosen.shapes)
    return Advice(items, users, made.requested_epsilon, made.name, known, options, why, **made.options())


def _ladder(items: int, users: int, like: Like | None) -> Advice:
    """Recommend the smallest epsilon that detects a common item, beside the best mechanism at other epsilons."""
    shapes = _shapes(like, items, users)
    target = Target(share=COMMON)
    found = target.smallest_epsilon(items, users, LADDER[-1])
    chosen = best_option(USUAL if found is None else found, shapes)
    others = [best_option(epsilon, shapes) for epsilon in LADDER if epsilon != chosen.epsilon]
    options = sorted([chosen, *others], key=lambda option: option.epsilon)
    reason = create("auto", items, chosen.epsilon).why
    if found is None:
        first = [sentences.out_of_reach(target, items, users, chosen.epsilon, LADDER[-1])]
        first += sentences.larger_shares(items, users, LADDER[-1])
        first.append(sentences.would_take(reason, chosen.epsilon))
    else:
        first = [sentences.least_epsilon(target, found, users), sentences.take(reason)]
    why = (*first, sentences.odds(chosen.epsilon), *sentences.outlook(chosen), sentences.shuffled(chosen))
    known, needed = _known(shapes), target.users(chosen.made)
    reachable = found is not None
    return Advice(items, users, chosen.epsilon, chosen.mechanism, known, tuple(options), why, needed, reachable)


def _shapes(like: Like | None, items: int, users: int) -> tuple[Shape, ...]:
    """The shape that the caller knows, or all that are tried."""
    return several_shapes(items, users) if like is None else (shaped(like, items, users),)


def _known(shapes: tuple[Shape, ...]) -> str | None:
    return shapes[0].name if len(shapes) == 1 else None
