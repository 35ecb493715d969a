"""The plan everybody shares, and the two values made under it: reports on devices, an aggregate at the collector.

    plan.privatize(values) -> Reports        on the device; spends epsilon
    plan.aggregate(reports) -> Aggregate     integers, mergeable in any order
    aggregate.estimate() -> Estimate         unbiased frequencies

The three know each other and nothing else does the binding, so they share this file; the mathematics is in
`localdp.mechanisms`, the bytes in `localdp.wire` and `localdp.archive`.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from localdp import archive, canonical, entropy, exact, wire
from localdp.bitstrings import Rows
from localdp.domain import Domain, Item
from localdp.errors import (
    ArchiveError,
    DomainError,
    EmptyError,
    EpsilonError,
    FrequencyError,
    InvalidInputError,
    LocalDPError,
    PlanError,
    PlanMismatchError,
)
from localdp.estimate import Estimate
from localdp.mechanisms import Mechanism, create

_FORMAT = "localdp-plan/1"


@dataclass(frozen=True, init=False, eq=False)
class Plan:
    """What is asked of whom, and how it is protected: the domain, the mechanism and the privacy budget.

    A plan is immutable and known by its fingerprint; other parameters are another plan. `mechanism` is a name
    (`grr`, `sue`, `oue`, `ss`, `olh`, `blh`, `llh`, `hr` or `auto`); `why` says why it is this one.

    >>> plan = Plan(["tea", "coffee", "water"], mechanism="grr", epsilon=1.0)
    >>> reports = plan.privatize(["tea", "tea", "water", "coffee"])
    >>> plan.aggregate(reports).n
    4
    """

    domain: Domain
    mechanism: Mechanism
    why: str

    def __init__(
        self,
        domain: Domain | int | Iterable[Item],
        mechanism: str | Mechanism = "auto",
        epsilon: float | None = None,
    ) -> None:
        domain = domain if isinstance(domain, Domain) else Domain(domain)
        if isinstance(mechanism, Mechanism):
            if epsilon is not None or mechanism.size != domain.size:
                raise InvalidInputError(
                    "a mechanism given as an object brings its own epsilon, and must have the size of the domain"
                )
            made, why = mechanism, "the mechanism was given"
        else:
            if epsilon is None:
                raise EpsilonError("a plan needs an epsilon, the privacy budget of one report, in (0, 16]")
            choice = create(mechanism, domain.size, exact.checked_epsilon(epsilon))
            made, why = choice.mechanism, choice.why
        for name, value in (("domain", domain), ("mechanism", made), ("why", why)):
            object.__setattr__(self, name, value)

    @cached_property
    def fingerprint(self) -> str:
        """The SHA-256 of the canonical JSON, in hex: the plan's name on the wire."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()

    def to_json(self) -> str:
        """The plan as canonical JSON, with every integer a client in another language needs."""
        return canonical.dumps(self._document())

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Read a plan, and refuse one whose parameters are not exactly what its epsilon gives."""
        try:
            document = json.loads(text)
        except (ValueError, RecursionError):
            raise PlanError("this is not a plan: it is not JSON") from None
        return cls._from_document(document)

    def privatize(self, values: ArrayLike, seed: int | None = None) -> Reports:
        """A private report for each value. A seed makes it reproducible and not private: for simulation only."""
        indices = self.domain.indices(values)
        if not indices.size:
            raise EmptyError("no values were given: a report needs somebody's item")
        source = entropy.secure() if seed is None else entropy.seeded(seed)
        return Reports(self, self.mechanism.privatize(indices, source))

    def read(self, data: bytes | bytearray | memoryview | str) -> Reports:
        """The reports in a batch, binary or JSON; a `WireError` says what is wrong with anything else."""
        shape = (self.fingerprint, self.mechanism.report_bytes)
        if isinstance(data, str) or bytes(data[:1]) == b"{":
            rows = wire.unpack_json(data if isinstance(data, str) else bytes(data), *shape)
        else:
            rows = wire.unpack(data, *shape)
        self.mechanism.validate(rows)
        return Reports(self, rows)

    def aggregate(self, reports: Reports) -> Aggregate:
        """Add up reports: for each item, how many support it."""
        return Aggregate(self).add(reports)

    def simulate(self, frequencies: ArrayLike, seed: int | None = None) -> Aggregate:
        """An aggregate with exactly the law of running every user, when f_i of them hold item i."""
        held = _checked_frequencies(frequencies, self.domain.size)
        checked = None if seed is None else entropy.checked_seed(seed)
        return Aggregate(self, self.mechanism.simulate(held, checked), int(held.sum()))

    def _document(self) -> dict[str, Any]:
        return {
            "format": _FORMAT,
            "domain": self.domain.to_json(),
            "mechanism": self.mechanism.name,
            "epsilon": self.mechanism.requested_epsilon,
            "width": self.mechanism.width,
            "parameters": self.mechanism.parameters(),
        }

    @classmethod
    def _from_document(cls, document: Any) -> Self:
        if not isinstance(document, dict) or document.get("format") != _FORMAT:
            raise PlanError(f'this is not a plan: a plan is a JSON object with "format": "{_FORMAT}"')
        try:
            domain, name, epsilon = document["domain"], document["mechanism"], document["epsilon"]
            items = domain["items"] if "items" in domain else domain["size"]
            plan = cls(items, name, epsilon)
        except LocalDPError as error:
            raise PlanError(f"this plan cannot be used: {error}") from error
        except (KeyError, TypeError):
            raise PlanError("this is not a plan: its domain, mechanism or epsilon is missing or misshapen") from None
        if canonical.dumps(plan._document()) != _canonical_or_none(document):
            raise PlanError(
                "this plan was altered: its parameters are not those that its domain, mechanism and epsilon give, "
                "so it might not protect what it says"
            )
        return plan

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Plan) and self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __repr__(self) -> str:
        return f"<Plan {self.fingerprint[:12]}: {self.mechanism!r}>"


@dataclass(frozen=True, eq=False)
class Reports:
    """Private reports, one row of bytes for each user, laid out as they travel."""

    plan: Plan
    rows: Rows

    def to_bytes(self) -> bytes:
        """The batch in the wire format, for `Plan.read`."""
        return wire.pack(self.plan.fingerprint, self.rows)

    def to_json(self) -> str:
        """The batch as JSON, for curl and other languages."""
        return wire.pack_json(self.plan.fingerprint, self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, part: slice) -> Reports:
        if not isinstance(part, slice):
            raise TypeError("reports are taken by slices, such as reports[10:20]")
        return Reports(self.plan, self.rows[part])

    def __repr__(self) -> str:
        return f"<{len(self)} reports of {self.plan.mechanism.report_bytes} bytes under {self.plan!r}>"


class Aggregate:
    """How many reports support each item: int64 counts, n and the plan. Adding and merging commute.

    >>> plan = Plan(4, mechanism="oue", epsilon=2.0)
    >>> one, two = plan.privatize([0, 1]), plan.privatize([3])
    >>> plan.aggregate(one).merge(plan.aggregate(two)) == plan.aggregate(two).add(one)
    True
    """

    def __init__(self, plan: Plan, counts: NDArray[np.int64] | None = None, n: int = 0) -> None:
        self.plan = plan
        self.counts = np.zeros(plan.domain.size, np.int64) if counts is None else np.array(counts, np.int64)
        self.n = n
        if self.counts.shape != (plan.domain.size,) or (self.counts < 0).any() or (self.counts > n).any():
            raise FrequencyError(f"an aggregate needs {plan.domain.size} counts between 0 and n = {n}")

    def add(self, reports: Reports) -> Self:
        """Count more reports of the same plan."""
        self._check_plan(reports.plan, "reports")
        self.counts += self.plan.mechanism.count(reports.rows)
        self.n += len(reports)
        return self

    def merge(self, other: Aggregate) -> Self:
        """Add another aggregate of the same plan."""
        self._check_plan(other.plan, "aggregate")
        self.counts += other.counts
        self.n += other.n
        return self

    def estimate(self) -> Estimate:
        """The unbiased frequencies behind the counts."""
        if self.n == 0:
            raise EmptyError("this aggregate holds no reports yet (n = 0), so there is nothing to estimate")
        mechanism = self.plan.mechanism
        return Estimate(
            mechanism.estimate(self.counts, self.n),
            n=self.n,
            variance=mechanism.variance(self.n),
            domain=self.plan.domain,
            excess_variance=mechanism.excess_variance,
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the aggregate and its plan to a file that needs nothing else."""
        archive.save(path, {"n": self.n, "plan": self.plan._document()}, self.counts)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a saved aggregate; a file that is not one, or was altered, is an `ArchiveError`."""
        header, counts = archive.load(path)
        try:
            return cls(Plan._from_document(header["plan"]), counts, header["n"])
        except (LocalDPError, KeyError, TypeError) as error:
            raise ArchiveError(f"{path} is not a usable aggregate: {error}") from error

    def _check_plan(self, other: Plan, what: str) -> None:
        if other != self.plan:
            raise PlanMismatchError(
                f"this {what} belongs to plan {other.fingerprint[:12]} ({other.mechanism!r}), not to "
                f"{self.plan.fingerprint[:12]} ({self.plan.mechanism!r}): their counts mean different things"
            )

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Aggregate)
            and self.plan == other.plan
            and self.n == other.n
            and np.array_equal(self.counts, other.counts)
        )

    __hash__ = None  # type: ignore[assignment]  # it changes as reports come in

    def __repr__(self) -> str:
        return f"<Aggregate of {self.n} reports under {self.plan!r}>"


def _canonical_or_none(document: Any) -> str | None:
    try:
        return canonical.dumps(document)
    except ValueError:
        return None


def _checked_frequencies(frequencies: ArrayLike, size: int) -> NDArray[np.int64]:
    given = np.asarray(frequencies)
    if given.shape != (size,):
        raise DomainError(f"frequencies must be a flat list of {size}, one for each item, not of shape {given.shape}")
    try:
        held = given.astype(np.int64)
        whole = bool((held == given).all())
    except (TypeError, ValueError, OverflowError):
        whole = False
    if not whole:
        raise FrequencyError("frequencies count people: every one must be a whole number")
    if (held < 0).any():
        raise FrequencyError(f"frequencies count people: item {int(np.argmax(held < 0))} has {held.min()}")
    if not held.sum():
        raise EmptyError("nobody holds anything: the frequencies sum to 0")
    return held
