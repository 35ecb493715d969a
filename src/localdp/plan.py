"""The plan everybody shares, and the two values made under it: reports on devices, an aggregate at the collector.

    plan.privatize(values) -> Reports        on the device; spends epsilon
    plan.aggregate(reports) -> Aggregate     integers, mergeable in any order
    aggregate.estimate() -> Estimate         unbiased frequencies

The three know each other and nothing else does the binding, so they share this file; the mathematics is in
`localdp.mechanisms`, the bytes in `localdp.wire` and `localdp.archive`.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from localdp import archive, canonical, entropy, wire
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
    WireCode,
    WireError,
)
from localdp.estimate import MOST_USERS, Estimate, checked_users
from localdp.mechanisms import MECHANISMS, Mechanism, create
from localdp.parallel import Progress

_FORMAT = "localdp-plan/1"


@dataclass(frozen=True, init=False, eq=False)
class Plan:
    """What is asked of whom, and how it is protected: the domain, the mechanism and the privacy budget.

    A plan is immutable and known by its fingerprint; other parameters are another plan. `domain` is given as a list of
    items, or as how many there are (then they are 0, 1, 2 and so on), `mechanism` by its name (`grr`, `sue`, `oue`,
    `ss`, `olh`, `blh`, `llh`, `hr` or `auto`); `why` says why it is this one.

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
            _check_given(mechanism, epsilon, domain)
            made, why = mechanism, "the mechanism was given"
        else:
            if epsilon is None and isinstance(mechanism, str):
                raise EpsilonError("a plan needs an epsilon, the privacy budget of one report, in (0, 16]")
            choice = create(mechanism, domain.size, epsilon)
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
            document = canonical.loads(text)
        except ValueError as error:
            raise PlanError(f"this is not a plan: {error}") from None
        return cls._from_document(document)

    def privatize(self, values: ArrayLike, seed: int | None = None, progress: Progress | None = None) -> Reports:
        """A private report for each value. A seed makes it reproducible and not private: for simulation only.

        `progress(done, total)` is called now and then, with numbers of users.
        """
        return self.privatize_indices(self.domain.indices(values), seed, progress)

    def privatize_indices(
        self, indices: NDArray[np.int64], seed: int | None = None, progress: Progress | None = None
    ) -> Reports:
        """As `privatize`, for values given by their places in the domain."""
        indices = Domain(self.domain.size).indices(indices)
        if not indices.size:
            raise EmptyError("no values were given: a report needs somebody's item")
        source = entropy.secure() if seed is None else entropy.seeded(seed)
        return Reports._trusted(self, self.mechanism.privatize(indices, source, progress))

    def read(self, data: bytes | bytearray | memoryview | str) -> Reports:
        """The reports in a batch, binary or JSON; a `WireError` says what is wrong with anything else."""
        if not isinstance(data, str | bytes | bytearray | memoryview):
            raise InvalidInputError(f"a batch of reports is bytes or text, not {type(data).__name__}")
        batch = data if isinstance(data, str) else bytes(data)  # a copy, unless nobody can change it
        shape = (self.fingerprint, self.mechanism.report_bytes)
        if isinstance(batch, str) or batch[:1] == b"{":
            return Reports(self, wire.unpack_json(batch, *shape))
        return Reports(self, wire.unpack(batch, *shape))

    def aggregate(self, reports: Reports, progress: Progress | None = None) -> Aggregate:
        """Add up reports: for each item, how many support it. `progress(done, total)` is called now and then."""
        return Aggregate(self).add(reports, progress)

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
                "this plan was altered: it is not what its domain, mechanism and epsilon give, so it might not "
                "protect what it says"
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
    """Private reports, one row of bytes for each user, laid out as they travel; checked, and not to be changed."""

    plan: Plan
    rows: Rows

    def __post_init__(self) -> None:
        rows = np.asarray(self.rows)
        shape = (len(rows) if rows.ndim else 0, self.plan.mechanism.report_bytes)
        if rows.dtype != np.uint8 or rows.shape != shape:
            raise WireError(
                WireCode.WRONG_LENGTH,
                f"reports under this plan are rows of {shape[1]} bytes, not {rows.dtype} {rows.shape}",
            )
        if rows.flags.writeable:
            rows = rows.copy()
        rows.setflags(write=False)
        self.plan.mechanism.validate(rows)
        object.__setattr__(self, "rows", rows)

    @classmethod
    def _trusted(cls, plan: Plan, rows: Rows) -> Reports:
        """Reports that this process made or checked itself."""
        reports = object.__new__(cls)
        rows.setflags(write=False)
        object.__setattr__(reports, "plan", plan)
        object.__setattr__(reports, "rows", rows)
        return reports

    def to_bytes(self) -> bytes:
        """The batch in the wire format, for `Plan.read`."""
        self._check_some()
        return wire.pack(self.plan.fingerprint, self.rows)

    def to_json(self) -> str:
        """The batch as JSON, for curl and other languages."""
        self._check_some()
        return wire.pack_json(self.plan.fingerprint, self.rows)

    def _check_some(self) -> None:
        if not len(self):
            raise EmptyError("a batch needs at least one report")

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, part: slice) -> Reports:
        if not isinstance(part, slice):
            raise TypeError("reports are taken by slices, such as reports[10:20]")
        return Reports._trusted(self.plan, self.rows[part])

    def __repr__(self) -> str:
        return f"<Reports of {len(self)} users under {self.plan!r}>"


class Aggregate:
    """How many reports support each item: int64 counts, n and the plan. Adding and merging commute.

    An aggregate changes as reports come in and is not for several threads at once: give each its own and merge them.

    >>> plan = Plan(4, mechanism="oue", epsilon=2.0)
    >>> one, two = plan.privatize([0, 1]), plan.privatize([3])
    >>> plan.aggregate(one).merge(plan.aggregate(two)) == plan.aggregate(two).add(one)
    True
    """

    def __init__(self, plan: Plan, counts: NDArray[np.int64] | None = None, n: int = 0) -> None:
        self.plan = plan
        self.n = _total(n)
        self.counts = np.zeros(plan.domain.size, np.int64) if counts is None else _whole(counts)
        if self.counts.shape != (plan.domain.size,) or (self.counts < 0).any() or (self.counts > self.n).any():
            raise FrequencyError(f"an aggregate needs {plan.domain.size} whole counts between 0 and n = {self.n}")

    def add(self, reports: Reports, progress: Progress | None = None) -> Self:
        """Count more reports of the same plan, in place; the aggregate itself is returned."""
        self._check_plan(reports, Reports)
        n = _total(self.n + len(reports))
        self.counts += self.plan.mechanism.tally(reports.rows, progress)
        self.n = n
        return self

    def merge(self, other: Aggregate) -> Self:
        """Add another aggregate of the same plan, in place; the aggregate itself is returned."""
        self._check_plan(other, Aggregate)
        n = _total(self.n + other.n)
        self.counts += other.counts
        self.n = n
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
        if not isinstance(header, dict) or set(header) != {"n", "plan"}:
            raise ArchiveError(f"{path} is not a usable aggregate: its header has other keys than n and plan")
        try:
            return cls(Plan._from_document(header["plan"]), counts, header["n"])
        except LocalDPError as error:
            raise ArchiveError(f"{path} is not a usable aggregate: {error}") from error

    def _check_plan(self, other: Any, kind: type[Any]) -> None:
        if not isinstance(other, kind):
            hint = "; read bytes with plan.read first" if isinstance(other, bytes | str) else ""
            raise InvalidInputError(f"{kind.__name__} are needed here, not {type(other).__name__}{hint}")
        if other.plan != self.plan:
            raise PlanMismatchError(
                f"{other!r} cannot be added under {self.plan!r}: their counts mean different things"
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
        return f"<Aggregate of {self.n} users under {self.plan!r}>"


def _check_given(mechanism: Mechanism, epsilon: float | None, domain: Domain) -> None:
    if epsilon is not None or mechanism.size != domain.size:
        raise InvalidInputError(
            "a mechanism given as an object brings its own epsilon, and must have the size of the domain"
        )
    if mechanism.width != 64:
        raise InvalidInputError("a plan needs a mechanism of 64 bits; narrower ones are for checks that enumerate")
    if MECHANISMS.get(mechanism.name, type(mechanism)) is not type(mechanism):
        raise InvalidInputError(f"{type(mechanism).__name__} is not {mechanism.name!r}: give it a name of its own")


def _canonical_or_none(document: Any) -> str | None:
    try:
        return canonical.dumps(document)
    except (ValueError, RecursionError):
        return None


def _total(n: int) -> int:
    """A number of users that may still be 0."""
    return 0 if isinstance(n, int) and not isinstance(n, bool) and n == 0 else checked_users(n)


def _whole(numbers: ArrayLike) -> NDArray[np.int64]:
    """A copy of the numbers as int64, if they are whole; a `FrequencyError` if not."""
    try:
        given = np.asarray(numbers)
        if given.dtype.kind in "iuf":
            with np.errstate(invalid="ignore"):
                whole = given.astype(np.int64)
            if (whole == given).all():
                return whole
    except (TypeError, ValueError, OverflowError):
        pass
    raise FrequencyError("frequencies and counts are numbers of people: every one must be a whole number")


def _checked_frequencies(frequencies: ArrayLike, size: int) -> NDArray[np.int64]:
    held = _whole(frequencies)
    if held.shape != (size,):
        raise DomainError(f"frequencies must be a flat list of {size}, one for each item, not of shape {held.shape}")
    if (held < 0).any():
        first = int(np.argmax(held < 0))
        raise FrequencyError(f"frequencies count people: item {first} has {held[first]}")
    if held.sum(dtype=np.float64) > MOST_USERS:
        raise FrequencyError("the frequencies sum to more than 2^53 people")
    if not held.any():
        raise EmptyError("nobody holds anything: the frequencies sum to 0")
    return held
