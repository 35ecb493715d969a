"""Studies on a collector: parts that take uploads, and what follows them.

A study is a collection, and what it asks are the parts of it. A part takes uploads under the fingerprint of the *part*,
because two parts may have equal plans. An upload is tied to its part by its address and by its key, so a report that
was made under one part's document is never counted in another one.

The only part of a plan is open until the plan is closed, and is counted as uploads come in. The rounds of a discovery
or of a survey of sets come one after the other: the study says what follows (`Study.goes_on`), and how many reports are
waited for. Its parts under way end in three steps: their rows are closed, so that nothing more is stored; everything
that is stored is counted; and in one transaction the new state takes the place of the old one and the next parts begin.
A collector that is stopped in between goes on from what is stored, and gets the same counts. If two collectors on one
database do this at the same time, the first one changes the state and the second one finds that it is changed.

Rounds have millions of cells. So they are not counted upload by upload as plans are, but once, when they end: piece by
piece into sums that add up, so that the memory does not grow with the number of reports.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from dataclasses import dataclass, replace

import numpy as np

from localdp.collector.checking import stored_reports
from localdp.collector.collections import ALL_DAYS, Collection, Collections, add_parts, add_study, names_study
from localdp.collector.folding import at_once
from localdp.collector.problems import Problem, unknown_study
from localdp.collector.storage import Database, aggregates, collections, parts, uploads
from localdp.collector.storage.aggregates import COUNTED, SUSPECT
from localdp.collector.storage.collections import SHORT, StoredCollection
from localdp.collector.storage.database import Session, StorageError, Where
from localdp.collector.storage.parts import StoredPart
from localdp.collector.terms import Terms
from localdp.collector.workers import Worker
from localdp.collector.writer import Writer
from localdp.forgery.uploads import verdicts
from localdp.plan import Aggregate
from localdp.studies import Single, Study, Tally, study_in
from localdp.studies.study import state_of

_SLICE = 1 << 19  # reports whose sums are made at once: each needs some dozen bytes meanwhile
_log = logging.getLogger("localdp.collector")


@dataclass(frozen=True)
class StudyTerms(Terms):
    """The terms of a study with parts that end; `automatic` ends them as soon as they have their reports."""

    automatic: bool = True


@dataclass(frozen=True)
class Kept:
    """A study as it is stored: as far as it has come, with all its parts. `closed` is also when it was done.

    `form` is the document of the study, and `step` grows with every change of its state. `parts` have the
    documents that devices fetch, and no plans beside them.
    """

    id: int
    name: str
    fingerprint: str
    form: str
    terms: Terms
    created: int
    step: int
    closed: int | None
    study: Study
    parts: tuple[StoredPart, ...]

    @property
    def kind(self) -> str:
        """The name of the kind of its study."""
        return self.study.kind

    @property
    def under_way(self) -> tuple[StoredPart, ...]:
        """The parts that take uploads, or are just being counted."""
        return () if self.closed is not None else tuple(part for part in self.parts if part.reports is None)

    @property
    def automatic(self) -> bool:
        """Whether its parts end by themselves."""
        return isinstance(self.terms, StudyTerms) and self.terms.automatic

    def state(self, now: float) -> str:
        """`planned`, `open`, `closed` or `done`."""
        if self.study.done:
            return "done"
        return "closed" if self.closed is not None else self.terms.state(now)


@dataclass(frozen=True)
class Progress:
    """How many reports a part has, counted or not, and how many of the counted ones look forged."""

    reports: int
    suspect: int


@dataclass(frozen=True, eq=False)
class CountedPart:
    """The counts of a part, the reports that were left out, and the verdicts on uploads that look forged."""

    aggregate: Aggregate
    suspect: int
    forged: dict[int, int]


class Studies:
    """The studies of a database, and the thread that ends the parts of those that are automatic."""

    def __init__(self, database: Database, writer: Writer, collections: Collections, every: float) -> None:
        self._database, self._writer, self._collections = database, writer, collections
        self._known: dict[str, Kept] = {}
        self._one_at_a_time = threading.Lock()
        self._random = np.random.default_rng()
        self.worker = Worker("studies", self.end_parts, every)

    def add(self, study: Study, terms: Terms, now: int) -> bool:
        """Store a new study with its first parts; False if it is there already."""
        return self._writer.run(lambda session: add_study(session, study, terms, now)) is not None

    def find(self, name: str) -> Kept:
        """The study with this id, this fingerprint or these first 16 digits of it; a `Problem` if there is none."""
        with self._database.reading() as session:
            version = collections.version(session, name) if names_study(name) else None
            if version is None:
                raise unknown_study()
            known = self._known.get(version[0])
            if known is not None and (known.step, known.closed) == version[1:]:
                return known
            stored = collections.find(session, version[0])
            assert stored is not None  # noqa: S101 (it was there in this transaction)
            rows = tuple(parts.of(session, stored.id))
        kept = self._kept(stored, rows)
        self._known[stored.fingerprint] = kept
        return kept

    def forget(self, fingerprint: str) -> None:
        """Remember nothing of a study that was deleted."""
        self._known.pop(fingerprint, None)

    def every(self, kind: str | None = None) -> list[Kept]:
        """All studies, or those of one kind, the newest first."""
        with self._database.reading() as session:
            names = collections.every(session, kind)
        return [self.find(name) for name in names]

    def known_part(self, name: str, fingerprint: str) -> Collection | None:
        """What `part` finds, if it is in memory: for the event loop, which must not wait."""
        found = self._collections.known(fingerprint)
        return found if found is not None and _names(name, found) else None

    def part(self, name: str, fingerprint: str) -> Collection:
        """What takes the uploads of a part, which may be over; a `Problem` if the study has no such part."""
        found = self._collections.find(fingerprint)
        if found is None or not _names(name, found):
            raise unknown_study()
        return found

    def progress(self, kept: Kept, part: StoredPart) -> Progress:
        """How many reports a part has."""
        if part.reports is not None:
            return Progress(part.reports, part.suspect or 0)
        with self._database.reading() as session:
            waiting = uploads.number_waiting(session, kept.id, part.key)[1]
            rows = aggregates.days(session, Where(kept.id, part.key))
        counted, aside = (sum(row.n for row in rows if row.standing == one) for one in (COUNTED, SUSPECT))
        return Progress(waiting + counted + aside, aside + sum(row.suspect for row in rows))

    def close(self, name: str) -> Kept:
        """Take no more uploads, and end nothing any more. What is closed stays so."""
        kept = self.find(name)
        self._writer.run(lambda session: collections.close(session, kept.id, int(time.time())))
        self._collections.refresh()
        return self.find(name)

    def advance(self, name: str, key: str | None = None) -> Kept:
        """End the parts under way and begin what follows. If the part with this key is over already, nothing is done.

        Without a key, whatever is under way is ended.
        """
        with self._one_at_a_time:
            kept = self.find(name)
            if kept.study.done or self._is_over(kept, key):
                return kept
            try:
                self._end(kept)
            except Problem:
                if self.find(name).step == kept.step:
                    raise
                # Another collector was first: the reports that were missed here are counted there.
            return self.find(name)

    def _end(self, kept: Kept) -> None:
        """End the parts under way and begin what follows."""
        for part in kept.under_way:
            self._check_enough(kept, part.key, self.progress(kept, part).reports, "reports")
        self._writer.run(lambda session: _close(session, kept))
        self._collections.refresh()
        counted = {part.key: self._counted(kept.id, part.key) for part in kept.under_way}
        for key, one in counted.items():
            self._check_enough(kept, key, one.aggregate.n, "reports that do not look forged")
        tally = Tally()
        for asked in kept.study.parts():
            tally = tally.counting(asked, counted[asked.key].aggregate)
        after = kept.study.advance(tally)
        self._writer.run(lambda session: self._move_on(session, kept, after, counted))

    def _is_over(self, kept: Kept, key: str | None) -> bool:
        """Whether the part with this key is over; a `Problem` if it cannot be ended."""
        study, under_way = kept.study, [part.key for part in kept.under_way]
        if not study.goes_on:
            detail = f"nothing follows the {study.called} under way of a {study.what}: close it to take no more reports"
            raise Problem(409, "nothing-follows", detail)
        if key is not None and key not in under_way and any(part.key == key for part in kept.parts):
            return True
        if kept.closed is not None:
            raise study_closed(study)
        if key is not None and key not in under_way:
            detail = f"{study.called} {key[:60]} has not begun: {study.called} {', '.join(under_way)} is under way"
            raise Problem(409, "not-under-way", detail)
        return False

    def _check_enough(self, kept: Kept, key: str, reports: int, what: str) -> None:
        least = max(kept.study.least_reports, kept.terms.minimum)
        if reports < least:
            detail = f"{kept.study.called} {key} has {reports} {what}, and needs at least {least}: wait for more"
            raise Problem(409, "too-few-reports", detail)

    def _counted(self, collection: int, key: str) -> CountedPart:
        """The counts of all uploads of a part that do not look forged, and which do."""
        plan = self._collections.by_part(collection, key).plan
        mechanism, n, forged = plan.mechanism, 0, dict[int, int]()
        sums = np.zeros(mechanism.partial_size, np.int64)
        suspect = 0
        for piece in uploads.stored(self._database, collection, key, ALL_DAYS, only_waiting=True):
            if self.worker.stopping:
                raise StorageError("the collector is stopping")
            sizes = np.array([one.count for one in piece], np.int64)
            reports = stored_reports(b"".join(one.body or b"" for one in piece), plan)
            found = verdicts(plan.mechanism, reports.rows, sizes, self._random)
            forged |= {piece[place].seq: int(found[place]) for place in np.flatnonzero(found).tolist()}
            honest = reports.rows[np.repeat(found == 0, sizes)] if found.any() else reports.rows
            suspect, n = suspect + len(reports) - len(honest), n + len(honest)
            step = min(at_once(plan), _SLICE)
            for start in range(0, len(honest), step):
                sums += mechanism.tally_partial(honest[start : start + step])
        return CountedPart(Aggregate(plan, mechanism.complete(sums, n), n), suspect, forged)

    def _move_on(self, session: Session, kept: Kept, after: Study, counted: dict[str, CountedPart]) -> None:
        now = int(time.time())
        if not collections.move_on(session, kept.id, kept.step, state_of(after), now if after.done else None):
            return  # another collector was first, or it was closed
        for key, one in counted.items():
            parts.end(session, kept.id, key, one.aggregate.n, one.suspect)
            for seq, verdict in one.forged.items():
                uploads.judge(session, seq, verdict, SUSPECT)
        if not after.done:
            add_parts(session, kept.id, after, kept.terms.minimum, len(kept.parts), now)

    def _kept(self, stored: StoredCollection, rows: tuple[StoredPart, ...]) -> Kept:
        settings, text = json.loads(stored.settings), stored.state or stored.form
        study = study_in(text) if text else Single(self._collections.by_part(stored.id, rows[0].key).plan)
        terms = (StudyTerms if study.goes_on else Terms).stored(settings)
        moments = stored.created, stored.step, stored.closed
        form = stored.form or study.to_json()
        texts = (form if row.plan == form else row.document or row.plan for row in rows)  # they may be long
        rows = tuple(replace(row, plan="", document=text) for row, text in zip(rows, texts, strict=True))
        return Kept(stored.id, stored.name, stored.fingerprint, form, terms, *moments, study, rows)

    def end_parts(self) -> bool:
        """End the parts under way of every automatic study that has its reports. What is left can wait."""
        with self._database.reading() as session:
            names = collections.going_on(session)
        for name in names:
            if self.worker.stopping:
                break
            try:
                kept = self.find(name)
                ready = [self.progress(kept, part).reports >= part.needed for part in kept.under_way]
                if kept.automatic and ready and all(ready):
                    self.advance(name, kept.under_way[0].key)
            except Problem as problem:  # it waits, and the others must go on
                _log.error("a %s under way could not be ended: %s", kept.study.called, problem)
        return False


def study_closed(study: Study) -> Problem:
    """An administrator has closed the study."""
    return Problem(409, "study-closed", f"this {study.what} was closed before it was done, and asks nothing any more")


def _close(session: Session, kept: Kept) -> None:
    for part in kept.under_way:
        parts.close(session, kept.id, part.key, int(time.time()))


def _names(name: str, collection: Collection) -> bool:
    """Whether a name is that of the study of a collection."""
    return name in (collection.name, collection.study, collection.study[:SHORT])
