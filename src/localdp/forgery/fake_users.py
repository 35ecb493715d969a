"""What forged reports can do: how far one of them moves an item, and how many it takes.

A forged report may be any report that devices can send. Its support is what counts: with c_i reports that support item
i, the estimate is fhat_i = (c_i - n q*) / (p* - q*). One more report that supports item i adds exactly

    push = (1 - q*) / (p* - q*)  users                                   to the estimate of item i,

whatever the other bits of the report are, and no report can add more. (Under a mechanism that is not pure, the most it
can add is the largest weight of an outcome in an estimate: `Mechanism.push`.) An honest holder adds 1 on
average, so a forged report counts as much as `push` honest users. To move an item by one standard error of an item that
nobody holds takes

    sqrt(n q* (1 - q*)) / (p* - q*) / push = sqrt(n q* / (1 - q*))  forged reports.

One report pushes every item that it supports. A report of unary encoding may support all items, one of `grr` supports
one, one of `ss` always the same number, and one of `llh` at most N/g items, those that share a symbol. These attacks
are studied by Cao, Jia & Gong, "Data poisoning attacks to local differential privacy protocols", USENIX Security 2021.

A mechanism with a smaller push is harder to attack. More noise makes it seem harder: where the standard error is
larger, it takes more forged reports to move an item by one. So mechanisms are compared by both, in the same units.

>>> from localdp import Plan
>>> answer = fake_users(Plan(100, "oue", epsilon=1.0), users=10_000)
>>> round(answer.push, 2), answer.needed, answer.items_at_once
(3.16, 61, 100)
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from localdp.errors import EpsilonError, ImpureMechanismError
from localdp.mechanisms import Mechanism, create, offered
from localdp.table import Table
from localdp.validation import checked_users


@dataclass(frozen=True)
class Forged:
    """What forged reports do to one item under one mechanism, among `users` users."""

    mechanism: str
    users: int
    report_bytes: int
    push: float
    """The users that one forged report adds to the estimate of an item: (1 - q*) / (p* - q*)."""
    items_at_once: int | None
    """The most items that one report can push; None where that depends on a hash."""
    std_error: float
    """The standard error of an item that nobody holds, in users."""

    @classmethod
    def under(cls, mechanism: Mechanism, users: int) -> Forged:
        """What forged reports do under this mechanism."""
        error = math.sqrt(mechanism.variance(users))
        return cls(mechanism.name, users, mechanism.report_bytes, mechanism.push, mechanism.most_supported, error)

    @property
    def needed(self) -> int:
        """The forged reports that move an item by one standard error of this mechanism or more."""
        return self.needed_for(self.std_error)

    def needed_for(self, moved: float) -> int:
        """The forged reports that move an item by this number of users or more."""
        return math.ceil(moved / self.push * (1 - 1e-12))


@dataclass(frozen=True)
class FakeUsers:
    """How many forged reports move an item by one standard error under a plan, and how that is elsewhere.

    `others` are all mechanisms at the same budget, number of items and number of users, the plan's own among them, the
    hardest to attack first: those whose reports push an item the least.
    """

    own: Forged
    others: tuple[Forged, ...]

    @property
    def push(self) -> float:
        """The users that one forged report adds to the estimate of an item."""
        return self.own.push

    @property
    def items_at_once(self) -> int | None:
        """The most items that one report can push; None where that depends on a hash."""
        return self.own.items_at_once

    @property
    def needed(self) -> int:
        """The forged reports that move an item by one standard error."""
        return self.own.needed

    @property
    def harder(self) -> tuple[Forged, ...]:
        """The mechanisms with a smaller push than the plan's, the smallest first."""
        return tuple(other for other in self.others if other.push < self.push * (1 - 1e-9))

    def table(self) -> Table:
        """A row for each mechanism. `needed` counts its own standard errors, `needed here` those of the plan."""
        columns = {
            "mechanism": [other.mechanism for other in self.others],
            "push": np.array([other.push for other in self.others]),
            "standard error": np.array([other.std_error for other in self.others]),
            "needed": np.array([other.needed for other in self.others]),
            "needed here": np.array([other.needed_for(self.own.std_error) for other in self.others]),
            "bytes": np.array([other.report_bytes for other in self.others]),
        }
        return Table(columns, f"Forged reports that move one item, {self.own.users:,} users", {"push": ",.2f"})

    @property
    def sentences(self) -> tuple[str, ...]:
        """The same in plain words."""
        own, harder = self.own, self.harder
        several = own.items_at_once is None or own.items_at_once > 1
        most = "several" if own.items_at_once is None else f"up to {own.items_at_once:,}"
        first = (
            f"One forged report adds {in_users(own.push)} users to the estimate of an item that it supports"
            + (f", and it can support {most} items at once" if several else "")
            + f". {own.needed:,} forged report{'' if own.needed == 1 else 's'} among {own.users:,} users move an item "
            f"by one standard error ({in_users(own.std_error)} users)."
        )
        if not harder:
            return first, "No other mechanism at this budget makes that harder."
        best = harder[0]
        noise = best.std_error / own.std_error - 1
        cost = (
            f"{noise:.0%} larger" if noise > 0.005 else f"{-noise:.0%} smaller" if noise < -0.005 else "about as large"
        )
        return first, (
            f"{best.mechanism} makes it hardest: there a forged report adds {in_users(best.push)} users, so the same "
            f"move takes {best.needed_for(own.std_error):,} of them; its standard error is {cost}."
        )


class Planned(Protocol):
    """A plan, of which only the mechanism matters here."""

    @property
    def mechanism(self) -> Mechanism:
        """The mechanism under which devices report."""


def fake_users(plan: Planned, users: int) -> FakeUsers:
    """How many forged reports move an item by one standard error, under this plan and under other mechanisms."""
    n, mechanism = checked_users(users), plan.mechanism
    own = Forged.under(mechanism, n)
    every = [Forged.under(other, n) for other in _others(mechanism)]
    if own not in every:
        every.append(own)
    return FakeUsers(own, tuple(sorted(every, key=lambda forged: forged.push)))


def _others(mechanism: Mechanism) -> Iterator[Mechanism]:
    """The mechanisms to compare with, at the same budget."""
    options = {name: value for name, value in mechanism.options().items() if name in ("once", "set_size")}
    for name in offered(options):
        with suppress(ImpureMechanismError, EpsilonError):
            yield create(name, mechanism.size, mechanism.requested_epsilon, **options).mechanism


def in_users(number: float) -> str:
    """A number of users as text, with three digits or all of them."""
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"
