"""The result of a study by now, whatever its kind: tables by name, as far as they are released.

The parts of a questionnaire are estimated together: each part releases its counts by the rules of plans, and the result
is made of what all of them have released. That takes seconds, so the last results are kept, under the counts that they
were made from.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Iterable
from threading import Lock
from typing import Any

from localdp.collector.answering import Answering
from localdp.collector.answers.estimates import figure
from localdp.collector.answers.queries import EstimatesQuery
from localdp.collector.collections import Collections
from localdp.collector.problems import invalid
from localdp.collector.studies import Kept
from localdp.errors import InvalidInputError, TooFewReportsError, UnknownItemError
from localdp.studies import Tally
from localdp.table import Table

_KEPT = 8
_LISTED = 20  # answers that an error names

Found = tuple[int, dict[str, Table], tuple[str, ...]]
"""The number of reports, tables by name, and notes."""


class Results:
    """The results of studies. Threads may share it."""

    def __init__(self, answering: Answering, collections: Collections) -> None:
        self.answering, self.collections = answering, collections
        self._together: OrderedDict[str, Any] = OrderedDict()
        self._lock = Lock()

    def of(self, kept: Kept, segment: str | None = None, given: str | None = None) -> Found:
        """What a study that is done has found, or what one that never is says by now.

        Questionnaires can be read for one `segment`, and for the people who gave an answer: `given` is such as
        "diet:vegan". Nothing that is released is a `TooFewReportsError`.
        """
        if kept.study.estimated_together:
            return self._of_all_parts(kept, segment, None if given is None else _answer(given, kept.study))
        if segment is not None or given is not None:
            raise invalid(f'"segment" and "given" are for questionnaires, and this is a {kept.study.what}')
        return _found(kept) if kept.study.goes_on else self._of_each_part(kept)

    def _of_each_part(self, kept: Kept) -> Found:
        """What the parts of a study say by now: the estimates of each."""
        answers = {
            part.key or "items": self.answering.answer(self.collections.by_part(kept.id, part.key), EstimatesQuery())
            for part in kept.parts
        }
        n = sum(answer.fitted.n for answer in answers.values())
        remarks = dict.fromkeys(note for answer in answers.values() for note in answer.remarks)
        return n, {name: answer.table() for name, answer in answers.items()}, tuple(remarks)

    def summaries(self, kept: Kept, segment: str | None, names: Iterable[str]) -> dict[str, Any]:
        """The mean, the median and percentiles of those of these questions that have a scale."""
        if not kept.study.estimated_together:
            return {}
        _, found, _ = self._together_of(kept, segment)
        every = {name: found[name].summary() for name in names if name in found.survey.questions}
        return {name: {what: figure(one) for what, one in some.items()} for name, some in every.items() if some}

    def _of_all_parts(self, kept: Kept, segment: str | None, given: tuple[str, str] | None) -> Found:
        """What the parts of a study say together: all tables, or those of the people with one answer."""
        n, found, waiting = self._together_of(kept, segment)
        with self._lock:
            try:
                tables = found.tables() if given is None else _given(found, *given)
            except InvalidInputError as error:
                raise invalid(str(error)) from None
        held = f"not released yet, because they have too few reports: {'; '.join(waiting)}"
        return n, tables, (*getattr(found, "notes", ()), *((held,) if waiting else ()))

    def _together_of(self, kept: Kept, segment: str | None) -> tuple[int, Any, list[str]]:
        """What the parts of a study have released, estimated together, and which parts wait."""
        if segment is not None and segment not in kept.terms.segments:
            listed = ", ".join(kept.terms.segments) or "there are none"
            raise invalid(f'"segment" is one of the labels that this {kept.study.what} lists: {listed}')
        tally, digest, waiting, n = Tally(), hashlib.sha256(kept.fingerprint.encode()), list[str](), 0
        least = max(kept.terms.minimum, 1)
        for part in kept.study.parts():
            aggregate, released = self.answering.released(self.collections.by_part(kept.id, part.key), segment)
            n += aggregate.n
            if not aggregate.n:
                waiting.append(f"{part.key} {released.held_back:,} of {least:,}")
            tally = tally.counting(part, aggregate)
            digest.update(f"{aggregate.n} {released.suspect} ".encode() + aggregate.counts.tobytes())
        if not n:
            whose = "" if segment is None else f" for the label {segment}"
            raise TooFewReportsError(
                f"no part of this {kept.study.what} has {least:,} reports{whose} yet ({'; '.join(waiting)}): wait for "
                "more. A day with fewer is released when it is over, together with others like it"
            )
        with self._lock:
            found = self._together.get(digest.hexdigest())
            if found is None:
                found = self._together[digest.hexdigest()] = kept.study.result(tally)
            self._together.move_to_end(digest.hexdigest())
            while len(self._together) > _KEPT:
                self._together.popitem(last=False)
        return n, found, waiting


def _answer(given: str, survey: Any) -> tuple[str, str]:
    """The question and the answer that are named so."""
    name, between, _ = given.partition(":")
    if not between:
        raise invalid('"given" is a question and an answer to it, such as given=diet:vegan')
    known = [one for one in survey.questions if given.startswith(f"{one}:")]
    if not known:
        raise invalid(f"there is no question {name!r:.60}: the questions are {', '.join(survey.questions)!s:.300}")
    longest = max(known, key=len)  # names may have colons of their own
    return longest, given[len(longest) + 1 :]


def _given(found: Any, name: str, text: str) -> dict[str, Table]:
    """The tables of a questionnaire for an answer that was typed."""
    known = found.survey.questions[name]
    try:
        tables: dict[str, Table] = found.tables_given(name, known.typed(text))
    except UnknownItemError:
        listed = ", ".join(map(str, known.cells.items[:_LISTED]))
        raise InvalidInputError(f"{text!r:.60} is no answer to {name!r:.60}: there are {listed!s:.300}") from None
    return tables


def _found(kept: Kept) -> Found:
    found = kept.study.result()
    return sum(part.reports or 0 for part in kept.parts), found.tables(), tuple(getattr(found, "notes", ()))
