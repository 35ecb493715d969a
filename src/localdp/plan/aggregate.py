"""AGGREGATE: the number of reports with each outcome. Aggregates can be added up in any order."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from localdp.errors import ArchiveError, EmptyError, InvalidInputError, LocalDPError, PlanMismatchError
from localdp.formats import aggregate_file
from localdp.plan.reports import Reports
from localdp.types import Counts, Progress
from localdp.validation import checked_counts, checked_users, shown

if TYPE_CHECKING:
    from localdp.estimate import Estimate
    from localdp.plan.plan import Plan


class Aggregate:
    """The number of reports that support each item: int64 `counts`, the number of users `n`, and the `plan`.

    Of a mechanism that is not pure, `counts` has the number of reports with each outcome instead.

    `add` and `merge` change the aggregate. Only one thread may use it at a time: give each thread its own aggregate and
    merge them at the end. The order of adding and merging does not matter.

    >>> from localdp import Plan
    >>> plan = Plan(4, mechanism="oue", epsilon=2.0)
    >>> one, two = plan.privatize([0, 1]), plan.privatize([3])
    >>> plan.aggregate(one).merge(plan.aggregate(two)) == plan.aggregate(two).add(one)
    True
    >>> plan.aggregate(one).counts.shape
    (4,)
    """

    def __init__(self, plan: Plan, counts: Counts | None = None, n: int = 0) -> None:
        if not hasattr(plan, "mechanism"):
            raise InvalidInputError(f"an aggregate is made for a plan, not for {shown(plan)}")
        self.plan = plan
        self.n = checked_users(n, least=0)
        size = plan.mechanism.outcomes
        self.counts = np.zeros(size, np.int64) if counts is None else checked_counts(counts, self.n, size)
        if counts is not None:
            plan.mechanism.validate_counts(self.counts, self.n)
        self.sources: frozenset[str] = frozenset()
        """What identifies the files whose reports are counted here (`localdp.plan.identity`), as far as it is known."""
        self.skipped = 0
        """How many rows were left out because they were not reports of this plan. It is not saved."""

    def add(self, reports: Reports, *, progress: Progress | None = None) -> Self:
        """Count more reports of the same plan, and return this aggregate."""
        self._check_plan(reports, Reports)
        n = checked_users(self.n + len(reports), least=0)
        self.counts += self.plan.mechanism.tally(reports.rows, progress=progress)
        self.n = n
        return self

    def merge(self, other: Aggregate, *, repeated: bool = False) -> Self:
        """Add the counts of another aggregate of the same plan, and return this aggregate.

        If both are known to hold the reports of one file, that is an error unless `repeated` is True.
        """
        self._check_plan(other, Aggregate)
        if self.sources & other.sources and not repeated:
            raise InvalidInputError(
                "both aggregates hold the reports of one file, and the same people would be counted twice"
            )
        n = checked_users(self.n + other.n, least=0)
        self.counts += other.counts
        self.n = n
        self.sources |= other.sources
        self.skipped += other.skipped
        return self

    def estimate(self, *, reports_per_person: float | tuple[float, float] = 1) -> Estimate:
        """The unbiased estimate of every item's frequency; under `wave`, what `calibrate()` needs and nothing more.

        `reports_per_person` says how many reports each person has sent, if the same people reported on several days
        and their reports were merged. `n` of the estimate is then the number of people. If it is not known, give the
        fewest and the most, such as (1, 7): the largest number that the noise in the counts does not contradict is
        used. See `localdp.estimate.same_people`.

        >>> from localdp import Plan
        >>> Plan(2, mechanism="grr", epsilon=4.0).simulate([900, 100], seed=1).estimate().frequencies.round()
        array([901.,  99.])
        """
        from localdp.estimate import Estimate  # devices, which estimate nothing, need not load it
        from localdp.estimate.same_people import bounded_reports, checked_reports, variance_of_mean

        if self.n == 0:
            raise EmptyError("this aggregate holds no reports yet (n = 0), so there is nothing to estimate")
        mechanism, kept = self.plan.mechanism, self.plan.mechanism.makes_permanent
        seen, limits = mechanism.observe(self.counts, self.n), checked_reports(reports_per_person, self.n)
        if not mechanism.shows_raw:
            from localdp.estimate.through_channel import read_counts

            return read_counts(seen, self.plan.domain, self.plan.question, mechanism.name, limits)
        found = seen.frequencies
        reports = bounded_reports(found / self.n, self.n, kept.variance(1), mechanism.variance(1), limits)
        people = max(1, round(self.n / reports))
        reports = self.n / people if reports > 1 else 1.0
        asked: dict[str, Any] = {"domain": self.plan.domain, "question": self.plan.question}
        if reports == 1:
            return Estimate(
                found,
                n=people,
                variance=seen.variance,
                excess_variance=seen.excess_variance,
                total=self.plan.question.total(people),
                probabilities=seen.probabilities,
                observation=seen,
                **asked,
            )
        return Estimate(
            found / reports,
            n=people,
            variance=variance_of_mean(kept.variance(people), mechanism.variance(people), reports),
            excess_variance=variance_of_mean(kept.excess_variance, mechanism.excess_variance, reports),
            total=self.plan.question.total(people),
            # Without a second perturbation, the noise is that of a count of `people` reports.
            probabilities=None if mechanism.perturbs_again else seen.probabilities,
            **asked,
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the aggregate and its plan to one file. A file that is there already is replaced.

        >>> import tempfile
        >>> from pathlib import Path
        >>> from localdp import Plan
        >>> path = Path(tempfile.mkdtemp(), "counts.ldp")
        >>> aggregate = Plan(3, mechanism="oue", epsilon=1.0).simulate([5, 3, 2])
        >>> aggregate.save(path)
        >>> Aggregate.load(path) == aggregate
        True
        """
        aggregate_file.save(path, self._header(), self.counts)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a saved aggregate. A file that is not one, or was altered, is an `ArchiveError`."""
        return cls.from_bytes(aggregate_file.read(path), name=os.fspath(path))

    def to_bytes(self) -> bytes:
        """The content of the file that `save` writes."""
        return aggregate_file.pack(self._header(), self.counts)

    @classmethod
    def from_bytes(cls, data: bytes, *, name: str = "this") -> Self:
        """Read the content of a saved aggregate; `name` is what an error calls it."""
        from localdp.plan.plan import Plan

        header, counts = aggregate_file.unpack(data, name)
        if isinstance(header, dict) and "questionnaire" in header:
            raise ArchiveError(
                f"{name} is the aggregate of a questionnaire, and that of one question is expected: `localdp estimate` "
                "shows its tables, and localdp.questionnaires.QuestionnaireAggregate.load reads it"
            )
        if not isinstance(header, dict) or set(header) - {"sources"} != {"n", "plan"}:
            raise ArchiveError(f"{name} is not a usable aggregate: its header has other keys than n, plan and sources")
        sources = header.get("sources", [])
        if not isinstance(sources, list) or not all(isinstance(source, str) for source in sources):
            raise ArchiveError(f"{name} is not a usable aggregate: its sources are not a list of text")
        try:
            loaded = cls(Plan._from_document(header["plan"]), counts, header["n"])
        except LocalDPError as error:
            raise ArchiveError(f"{name} is not a usable aggregate: {error}") from error
        loaded.sources = frozenset(sources)
        return loaded

    def _header(self) -> dict[str, Any]:
        sources = {"sources": sorted(self.sources)} if self.sources else {}
        return {"n": self.n, "plan": self.plan._document(), **sources}

    def _check_plan(self, other: Any, kind: type[Any]) -> None:
        if not isinstance(other, kind):
            made = "; plan.privatize(values) makes reports of values" if kind is Reports else ""
            hint = "; read bytes with plan.read first" if isinstance(other, bytes | str) else made
            raise InvalidInputError(f"expected {kind.__name__}, not {type(other).__name__}{hint}")
        if other.plan is not self.plan and other.plan != self.plan:
            raise PlanMismatchError(
                f"{other!r} cannot be added under {self.plan!r}: their counts mean different things; "
                "count each under its own plan"
            )

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Aggregate)
            and self.plan == other.plan
            and self.n == other.n
            and np.array_equal(self.counts, other.counts)
        )

    __hash__ = None  # type: ignore[assignment]  # an aggregate changes as reports come in

    def __repr__(self) -> str:
        return f"<Aggregate of {self.n} users under {self.plan!r}>"
