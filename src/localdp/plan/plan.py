"""The plan that devices, the collector and the analyst share: which items there are, and how values are protected.

    plan.privatize(values) -> Reports        on the device; spends epsilon
    plan.aggregate(reports) -> Aggregate     integers, mergeable in any order
    aggregate.estimate() -> Estimate         unbiased frequencies

The mathematics is in `localdp.mechanisms`, the bytes are in `localdp.formats`.
"""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any, Self

from numpy.typing import ArrayLike

from localdp.domain import Domain
from localdp.errors import (
    EmptyError,
    EpsilonError,
    InvalidInputError,
    LocalDPError,
    LookalikeItemsWarning,
    PlanError,
    PlanMismatchError,
)
from localdp.forgery.plausibility import FALSE_ALARMS, Plausibility, plausibility
from localdp.formats import batch, canonical_json
from localdp.formats.notebook import facts_html
from localdp.frozen import Frozen
from localdp.held import Held, OneEach
from localdp.item_sets import ItemSets
from localdp.items import Item
from localdp.mechanisms import Mechanism, create, kind_named
from localdp.plan.aggregate import Aggregate
from localdp.plan.limits import Limits
from localdp.plan.part_key import PartKey
from localdp.plan.reports import Reports
from localdp.questions import Choice, Choices, Question, Scale, domain_with, question_in
from localdp.randomness import keystream
from localdp.table import printable
from localdp.types import Indices, Progress
from localdp.validation import checked_frequencies, checked_seed

_FORMAT = "localdp-plan/1"
_OPTIONS = ("once", "answers")  # of the mechanisms that have them


class Plan(Frozen):
    """The question, the mechanism and the privacy budget epsilon, shared by devices, collector and analyst.

    `domain` is a list of items, the number of items (then they are 0, 1, 2 and so on), or a question, such as
    `Choice(items)`; the attribute `domain` has the items that are counted. `mechanism` is a name that
    `localdp.mechanisms` lists, such as `oue`, or `auto`; the attribute `why` gives the reason for the choice. A plan
    cannot be changed. Its `fingerprint` identifies it: plans with other parameters have other fingerprints.

    With `once`, devices can be asked again and again: every report perturbs a permanent response once more. Then
    `epsilon` is what all reports of a device reveal together, and `once`, which must be smaller, is what one of them
    reveals. The mechanism is `grr`, `sue` or `oue` for both perturbations, `oue+sue`, `sue+oue` or `auto`.

    `other` names a catch-all item, which stands for every value that is not listed. Without one, values outside the
    list are refused, and a device that stays silent tells that its value is outside, whatever epsilon is. `answers`,
    which is for `dbit` only, is the number of items that each user answers for.

    With `set_size`, every user holds a set of items, perhaps an empty one, as under `Choices(items, most=set_size)`.
    Estimates are right if no set has more than `set_size` items; a larger one counts for less.

    `part` is for plans that belong to a study: the study's fingerprint and the name of the part. It makes the plan
    another one than the same plan outside the study.

    >>> plan = Plan(["tea", "coffee", "water"], mechanism="grr", epsilon=1.0)
    >>> reports = plan.privatize(["tea", "tea", "water", "coffee"])
    >>> plan.aggregate(reports).n
    4
    >>> Plan(["tea", "coffee"], epsilon=1.0, other="something else").privatize(["cocoa"])
    <Reports of 1 users under <Plan ...>>
    >>> Plan(1000, epsilon=2.0, once=0.5).mechanism
    <oue+sue on 1000 items, epsilon 2 and 0.5 for one report, 1000-bit reports>
    >>> Plan(["tea", "milk", "bread"], epsilon=2.0, set_size=2).privatize([["tea", "milk"], ["bread"], []])
    <Reports of 3 users under <Plan ...>>
    """

    def __init__(
        self,
        domain: Question | Domain | int | Iterable[Item],
        mechanism: str | Mechanism = "auto",
        epsilon: float | None = None,
        *,
        other: Item | None = None,
        once: float | None = None,
        answers: int | None = None,
        set_size: int | None = None,
        part: PartKey | None = None,
    ) -> None:
        brought = mechanism.options() if isinstance(mechanism, Mechanism) else {"set_size": set_size}
        self.question = _asked(domain, other, set_size, brought)
        self.domain = self.question.cells
        if not isinstance(domain, Domain | Question):
            _warn_of_lookalikes(self.domain)
        self.part = part
        if isinstance(mechanism, Mechanism):
            _check_given(mechanism, (epsilon, once, answers, set_size), self.question)
            self.mechanism, self.why = mechanism, "the mechanism was given"
        else:
            if epsilon is None and isinstance(mechanism, str):
                raise EpsilonError(
                    "a plan needs an epsilon, the privacy budget of one report: a number above 0 and at most 16, such "
                    "as epsilon=1.0; `localdp.advise` helps to choose one"
                )
            options = self.question.options()
            choice = create(mechanism, self.domain.size, epsilon, once=once, answers=answers, **options)
            self.mechanism, self.why = choice.mechanism, choice.why
        self._freeze()

    @cached_property
    def fingerprint(self) -> str:
        """The SHA-256 of the plan's canonical JSON, in hex. Batches of reports carry it."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()

    def to_json(self) -> str:
        """The plan as canonical JSON, with every integer that a client in another language needs.

        >>> Plan(2, mechanism="grr", epsilon=1.0).to_json()
        '{"domain":{"size":2},"epsilon":1,"format":"localdp-plan/1","mechanism":"grr",...,"width":64}'
        """
        return self._text

    @cached_property
    def _text(self) -> str:
        """The canonical JSON. It is kept, because the fingerprint and every copy that is sent or saved need it."""
        return canonical_json.dumps(self._document())

    @classmethod
    def from_json(
        cls,
        text: str | bytes,
        *,
        most_epsilon: float | None = None,
        most_report_bytes: int | None = None,
        most_items: int | None = None,
        needs_other: bool = False,
    ) -> Self:
        """Read a plan that `to_json` wrote; spaces and line breaks may differ.

        The parameters are derived again from the domain, the mechanism and epsilon. A plan that claims other
        parameters is a `PlanError`, because it might protect less than its epsilon says.

        A device sets limits on what it is ready to do: a larger epsilon than `most_epsilon`, a longer report than
        `most_report_bytes` or more items than `most_items` are a `PlanLimitError`, and with `needs_other` also a plan
        without a catch-all. Whatever is set, a plan whose reports are longer than 16 MiB or take more than 2^17
        rounds of drawing is refused too.

        >>> plan = Plan(["tea", "coffee"], mechanism="grr", epsilon=1.0)
        >>> Plan.from_json(plan.to_json(), most_epsilon=2.0) == plan
        True
        >>> Plan.from_json(plan.to_json(), most_epsilon=0.5)
        Traceback (most recent call last):
        ...
        localdp.errors.PlanLimitError: this plan asks for epsilon 1, and this device gives at most 0.5
        """
        limits = Limits(most_epsilon, most_report_bytes, most_items, needs_other)
        try:
            document = canonical_json.loads(text)
            limits.check_document(document)
            plan = cls._from_document(document)
        except RecursionError:
            raise PlanError("this is not a plan: it is nested too deeply") from None
        except LocalDPError:
            raise
        except (json.JSONDecodeError, UnicodeDecodeError):
            named = isinstance(text, str) and "{" not in text
            hint = " (give the text itself, not the name of a file or an address)" if named else ""
            raise PlanError(f"this is not a plan: it is not text in JSON{hint}") from None
        except (ValueError, ArithmeticError) as error:
            raise PlanError(f"this is not a plan: {error}") from None
        limits.check(plan.mechanism)
        limits.check_question(plan.question)
        return plan

    def privatize(self, values: ArrayLike, *, seed: int | None = None, progress: Progress | None = None) -> Reports:
        """One private report for each value. Values are items of the domain, one for each user.

        Under a plan with `set_size`, a value is a list of items, which may be empty.

        With a seed the reports are reproducible but not private: use it for simulations only. `progress(done, total)`
        is called now and then, with numbers of users.

        >>> Plan(["tea", "coffee"], mechanism="grr", epsilon=1.0).privatize(["tea", "tea", "coffee"])
        <Reports of 3 users under <Plan ...>>
        """
        return self.privatize_held(self.question.read(values), seed=seed, progress=progress)

    def privatize_held(self, held: Held, *, seed: int | None = None, progress: Progress | None = None) -> Reports:
        """Like `privatize`, with the indices of what users hold instead of their values."""
        source = keystream.secure() if seed is None else keystream.seeded(seed)
        return self.privatize_from(held, source, progress=progress)

    def privatize_from(self, held: Held, source: keystream.Entropy, *, progress: Progress | None = None) -> Reports:
        """Like `privatize_held`, with noise from this source."""
        if not held.users:
            raise EmptyError(f"no values were given: give {self.question.words.answer} for each user")
        return Reports.of_checked_rows(self, self.mechanism.answer(held, source, progress=progress))

    def privatize_sets(self, sets: ItemSets, *, seed: int | None = None, progress: Progress | None = None) -> Reports:
        """Like `privatize` under a plan with `set_size`, with the indices of the items instead of the items."""
        return self.privatize_held(sets, seed=seed, progress=progress)

    def privatize_indices(
        self, indices: Indices, *, seed: int | None = None, progress: Progress | None = None
    ) -> Reports:
        """Like `privatize`, with the index of each value instead of the value."""
        return self.privatize_held(OneEach(indices), seed=seed, progress=progress)

    def read(self, data: bytes | bytearray | memoryview | str) -> Reports:
        """Read a batch of reports, as `Reports.to_bytes` or `Reports.to_json` wrote it.

        Every report is checked. Anything that is not a batch of this plan's reports is a `WireError` with a `code`.

        >>> plan = Plan(["tea", "coffee"], mechanism="grr", epsilon=1.0)
        >>> len(plan.read(plan.privatize(["tea", "coffee"]).to_bytes()))
        2
        >>> plan.read(b"something else")
        Traceback (most recent call last):
        ...
        localdp.errors.WireError: this is not a batch of reports: it does not start with LDP1 [bad-magic]
        """
        if not isinstance(data, str | bytes | bytearray | memoryview):
            raise InvalidInputError(f"a batch of reports is bytes or text, not {type(data).__name__}")
        received = data if isinstance(data, str) else bytes(data)  # copies what the caller could change later
        shape = (self.fingerprint, self.mechanism.report_bytes)
        if isinstance(received, str) or received[:1] == b"{":
            return Reports(self, batch.unpack_json(received, *shape))
        return Reports(self, batch.unpack(received, *shape))

    def aggregate(self, reports: Reports, *, progress: Progress | None = None) -> Aggregate:
        """Count, for each item, the reports that support it. `progress(done, total)` is called now and then."""
        return Aggregate(self).add(reports, progress=progress)

    def plausibility(self, reports: Reports, *, false_alarms: float = FALSE_ALARMS) -> Plausibility:
        """Test whether reports of different devices look like those of honest ones.

        An honest batch is called implausible with a probability of at most `false_alarms`. What is tested, and what no
        test can find, is described in `localdp.forgery.plausibility`.

        >>> plan = Plan(100, mechanism="oue", epsilon=1.0)
        >>> plan.plausibility(plan.privatize([7] * 10, seed=1)).plausible
        True
        """
        if reports.plan != self:
            raise PlanMismatchError(f"{reports!r} were not made under {self!r}")
        return plausibility(self.mechanism, reports.rows, false_alarms)

    def simulate(self, frequencies: ArrayLike | Mapping[Item, int], *, seed: int | None = None) -> Aggregate:
        """A random aggregate, as if `frequencies[i]` users held item i and each had sent a report.

        Frequencies can also be given by item: as a mapping, such as `{"tea": 600, "milk": 400}`, or as a pandas
        Series whose index holds the items, such as `answers.value_counts()`; items that are not in it have no users.
        The aggregate has exactly the distribution of the real thing, and takes a small part of the time.

        >>> Plan(3, mechanism="oue", epsilon=1.0).simulate([1000, 200, 0], seed=7).n
        1200
        """
        held = checked_frequencies(self.domain.by_position(frequencies), self.domain.size)
        checked = None if seed is None else checked_seed(seed)
        return Aggregate(self, self.mechanism.simulate(held, checked), int(held.sum()))

    def _document(self) -> dict[str, Any]:
        """The plan as a JSON value."""
        return {
            "format": _FORMAT,
            **self.question.document(),
            **({} if self.part is None else {"part": self.part.document()}),
            "mechanism": self.mechanism.name,
            "epsilon": self.mechanism.requested_epsilon,
            "width": self.mechanism.width,
            "parameters": self.mechanism.parameters(),
            **self.mechanism.options(),
        }

    @classmethod
    def _from_document(cls, document: Any) -> Self:
        """The plan that a JSON value describes; `PlanError` if it is not one."""
        if not isinstance(document, dict) or document.get("format") != _FORMAT:
            raise PlanError(f'this is not a plan: a plan is a JSON object with "format": "{_FORMAT}"')
        try:
            question = question_in(document)
            options = {name: document[name] for name in _OPTIONS if name in document}
            part = PartKey.read(document["part"]) if "part" in document else None
            plan = cls(question, document["mechanism"], document["epsilon"], part=part, **options)
        except LocalDPError as error:
            raise PlanError(f"this plan cannot be used: {error}") from error
        except (KeyError, TypeError):
            raise PlanError("this is not a plan: its domain, mechanism or epsilon is missing or misshapen") from None
        # The domain holds the very items that were read, so only the rest is compared: there may be very many items.
        derived = plan._document()
        without_domain = {"domain": None} if "domain" in derived else {}
        if not canonical_json.same(derived | without_domain, document | without_domain):
            raise PlanError(
                "this plan was altered: it is not what its domain, mechanism and epsilon give, so it might not "
                "protect what it says"
            )
        return plan

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Plan) and self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def _repr_html_(self) -> str:
        """What a notebook shows: the parts of the plan, one to a line."""
        some = ", ".join(printable(str(item)) for item in self.domain.items[:5])
        more = f", \N{HORIZONTAL ELLIPSIS} {self.domain.size - 5:,} more" if self.domain.size > 5 else ""
        facts = [
            ("items", f"{self.domain.size:,}: {some}{more}"),
            ("catch-all", "none" if self.domain.other is None else printable(str(self.domain.other))),
            ("mechanism", self.mechanism.name),
            ("reason", self.why),
            ("epsilon", f"{self.mechanism.requested_epsilon:g} (realised: {self.mechanism.epsilon:.12g})"),
            ("report", f"{self.mechanism.report_bits:,} bits"),
            ("fingerprint", self.fingerprint),
        ]
        return facts_html("Plan", facts)

    def __repr__(self) -> str:
        return f"<Plan {self.fingerprint[:12]}: {self.mechanism!r}>"


def _asked(
    domain: Question | Domain | int | Iterable[Item],
    other: Item | None,
    set_size: int | None,
    options: Mapping[str, Any],
) -> Question:
    """The question that was given, or the one that items, a catch-all and options make.

    The options are those that were given, or those of the mechanism if one was given instead.
    """
    if isinstance(domain, Question):
        if other is not None or set_size is not None:
            raise InvalidInputError("a question brings its own catch-all and set size: leave out other and set_size")
        return domain
    most, ordered = options.get("set_size"), options.get("ordered")
    if ordered is not None and domain in (ordered, ordered + 1):  # the mechanism's own cells, and perhaps one apart
        return Scale(0, ordered - 1, other=None if domain == ordered else "other")
    cells = domain_with(domain, other)
    return Choice(cells) if most is None else Choices(cells, most)


def _check_given(mechanism: Mechanism, others: tuple[object, ...], question: Question) -> None:
    if any(other is not None for other in others) or mechanism.size != question.cells.size:
        raise InvalidInputError(
            "a mechanism given as an object brings its own epsilon, and must have the size of the domain"
        )
    if mechanism.width != 64:
        raise InvalidInputError("a plan needs a mechanism of 64 bits; narrower ones are for checks that enumerate")
    asked = question.options()
    if mechanism.options().get("set_size") != asked.get("set_size"):
        raise InvalidInputError(f"{mechanism!r} does not fit the question {question!r}: their set sizes differ")
    if mechanism.options().get("ordered", asked.get("ordered")) != asked.get("ordered"):
        raise InvalidInputError(f"{mechanism!r} does not fit the question {question!r}: it is for a Scale")
    known, made = kind_named(mechanism.name), mechanism.named_kind
    if known is not None and known is not made:
        same = known.__qualname__ == made.__qualname__
        remedy = "its class was defined anew: make the mechanism anew" if same else "give it a name of its own"
        raise InvalidInputError(f"{type(mechanism).__name__} is not {mechanism.name!r}: {remedy}")


def _warn_of_lookalikes(domain: Domain) -> None:
    """Warn of two items that look the same: they are one text in two Unicode forms."""
    pair = domain.lookalikes()
    if pair is not None:
        one, two = map(ascii, pair)
        warnings.warn(
            f"the items {one:.60} and {two:.60} look the same: they are one text in two Unicode forms, and a value "
            "counts only for the item in its own form. Bring items and values into one form first, such as NFC",
            LookalikeItemsWarning,
            stacklevel=3,
        )
