"""Studies whose parts are estimated together: each part releases its counts by the rules of plans, and the study's
result is made of what all of them have released.

Estimating takes seconds, so the last results are kept, under the counts that they were made from.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from threading import Lock
from typing import Any

from localdp.collector.answering import Answering
from localdp.collector.collections import Collections
from localdp.collector.problems import invalid
from localdp.collector.studies import Kept
from localdp.errors import InvalidInputError, TooFewReportsError, UnknownItemError
from localdp.studies import Tally
from localdp.table import Table

_KEPT = 8

Found = tuple[int, dict[str, Table], tuple[str, ...]]
"""The number of reports, tables by name, and notes."""


class Together:
    """The results of studies whose parts are estimated together. Threads may share it."""

    def __init__(self, answering: Answering, collections: Collections) -> None:
        self._answering, self._collections = answering, collections
        self._results: OrderedDict[str, Any] = OrderedDict()
        self._lock = Lock()

    def result(self, kept: Kept, segment: str | None = None, given: tuple[str, str] | None = None) -> Found:
        """What the parts of a study have released, estimated together; a `TooFewReportsError` if that is nothing.

        With `segment`, from the reports with this label; with `given`, a question and an answer, the tables of the
        people who gave that answer.
        """
        if segment is not None and segment not in kept.terms.segments:
            listed = ", ".join(kept.terms.segments) or "there are none"
            raise invalid(f'"segment" is one of the labels that this {kept.study.what} lists: {listed}')
        tally, digest, waiting, n = Tally(), hashlib.sha256(kept.fingerprint.encode()), [], 0
        for part in kept.study.parts():
            aggregate, released = self._answering.released(self._collections.by_part(kept.id, part.key), segment)
            n += aggregate.n
            if not aggregate.n:
                waiting.append(part.key)
            tally = tally.counting(part, aggregate)
            digest.update(f"{aggregate.n} {released.suspect} ".encode() + aggregate.counts.tobytes())
        if not n:
            raise TooFewReportsError(
                f"no part of this {kept.study.what} has {max(kept.terms.minimum, 1):,} reports yet: wait for more"
            )
        with self._lock:
            found = self._results.get(digest.hexdigest())
            if found is None:
                found = self._results[digest.hexdigest()] = kept.study.result(tally)
            self._results.move_to_end(digest.hexdigest())
            while len(self._results) > _KEPT:
                self._results.popitem(last=False)
            try:
                tables = found.tables() if given is None else _given(found, *given)
            except InvalidInputError as error:
                raise invalid(str(error)) from None
        held = f"not released yet, because they have too few reports: {', '.join(waiting)}"
        return n, tables, (*getattr(found, "notes", ()), *((held,) if waiting else ()))


def _given(found: Any, name: str, text: str) -> dict[str, Table]:
    """The tables of a questionnaire for an answer that was typed."""
    known = found.survey.questions.get(name)
    if known is None:
        raise InvalidInputError(f"there is no question {name!r:.60}")
    try:
        tables: dict[str, Table] = found.tables_given(name, known.typed(text))
    except UnknownItemError:
        raise InvalidInputError(f"{text!r:.60} is no answer to {name!r:.60}") from None
    return tables
