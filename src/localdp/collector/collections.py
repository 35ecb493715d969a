"""A collection: what this collector takes reports for, with its title, question, minimum and dates.

A collection holds a study, which has parts that take uploads: one, if the study is a plan, or one for each round of a
discovery or of a survey of sets. The plan of a part says how values are protected, and devices see all of it. What is
beside it here is for people and for the collector, and does not change the plan's fingerprint. Nothing of a part
changes, except that it can be closed.
"""

from __future__ import annotations

import json
import threading
from dataclasses import asdict, dataclass, fields
from datetime import UTC, date, datetime, timedelta

from localdp.collector.notes import about
from localdp.collector.problems import invalid
from localdp.collector.storage import Database, collections, parts
from localdp.collector.storage.collections import PLAN, SHORT, StoredCollection
from localdp.collector.storage.database import Session, StorageError, Where
from localdp.collector.storage.parts import StoredPart
from localdp.collector.terms import DAY, Terms
from localdp.plan import Plan
from localdp.studies import Single, Study
from localdp.studies.study import state_of

ALL_DAYS = (-(2**40), 2**40)
_LAST = datetime.max.replace(tzinfo=UTC).timestamp() - 1


@dataclass(frozen=True)
class Collection:
    """A part of a collection, with its plan and the terms. `begins`, `ends` and `closed` are seconds since 1970.

    The collection has the number `id` in the database and the id `name` for people; `kind` is that of its study, whose
    fingerprint is `study`, and `part` the key of the part. A part with an end (`has_end`) is counted when it ends, and
    every other one as uploads come in. Uploads are known by `fingerprint_bytes`, and their batches begin with
    `wire_bytes`, the plan's own fingerprint. The two differ for a round: several rounds may have the same plan.
    """

    id: int
    name: str
    kind: str
    study: str
    part: str
    has_end: bool
    plan: Plan
    terms: Terms
    created: int
    closed: int | None
    begins: float
    ends: float
    fingerprint_bytes: bytes
    wire_bytes: bytes

    @property
    def where(self) -> Where:
        return Where(self.id, self.part)


class Collections:
    """The parts of all collections, kept in memory. What another collector closes is noticed by `refresh`."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = threading.Lock()
        self._by_name: dict[str, Collection] = {}
        self._by_part: dict[tuple[int, str], Collection] = {}
        self._studies: dict[int, str] = {}
        self._settings: dict[int, str] = {}

    def known(self, name: str) -> Collection | None:
        """What `find` finds, if it is in memory: for the event loop, which must not wait."""
        return self._by_name.get(name)

    def find(self, name: str) -> Collection | None:
        """The part of any study with this fingerprint, or with these first 16 digits of it."""
        found = self._by_name.get(name)
        if found is None and is_name(name):
            with self._database.reading() as session:
                stored = parts.find(session, name)
                found = None if stored is None else self._keep(session, stored)
        return found

    def by_part(self, collection: int, part: str = "") -> Collection:
        """The part with this key of the collection with this number in the database."""
        if (collection, part) not in self._by_part:
            self.refresh()
        return self._by_part[collection, part]

    def study(self, collection: int) -> str:
        """The fingerprint of the study of the collection with this number."""
        if collection not in self._studies:
            self.refresh()
        return self._studies[collection]

    def every(self) -> list[Collection]:
        """All collections whose study is a plan, the newest first."""
        self.refresh()
        return sorted((one for one in self._by_part.values() if one.kind == PLAN), key=lambda one: -one.id)

    def refresh(self) -> None:
        """Read what was added, closed, opened again or corrected, and forget what was deleted."""
        with self._database.reading() as session:
            there = set()
            for collection, key, fingerprint, closed, settings in parts.every(session):
                there.add((collection, key))
                known = self._by_part.get((collection, key))
                if known is None or known.closed != closed or self._settings.get(collection) != settings:
                    stored = parts.find(session, fingerprint)
                    if stored is not None:
                        self._keep(session, stored)
                self._settings[collection] = settings
        with self._lock:
            for gone in self._by_part.keys() - there:
                fingerprint = self._by_part.pop(gone).fingerprint_bytes.hex()
                for name in (fingerprint, fingerprint[:SHORT]):
                    self._by_name.pop(name, None)
                self._studies.pop(gone[0], None)
                self._settings.pop(gone[0], None)

    def add(self, session: Session, plan: Plan, terms: Terms, now: int) -> Collection | None:
        """Store a new collection; None if there is one of this plan already. One that has ended is refused."""
        stored = add_study(session, Single(plan), terms, now)
        return None if stored is None else _collection(stored, parts.of(session, stored.id)[0], plan)

    def _keep(self, session: Session, part: StoredPart) -> Collection:
        known = self._by_part.get((part.collection, part.key))
        plan = Plan.from_json(part.plan) if known is None else known.plan
        collection = _collection(collections.by_id(session, part.collection), part, plan)
        with self._lock:
            self._by_part[part.collection, part.key] = collection
            self._studies[part.collection] = collection.study
            self._by_name[part.fingerprint] = self._by_name[part.fingerprint[:SHORT]] = collection
        return collection


def add_study(session: Session, study: Study, terms: Terms, now: int) -> StoredCollection | None:
    """Store a collection of a study at its start; None if there is one already. One that has ended is refused."""
    is_its_part = any(part.fingerprint == study.fingerprint for part in study.parts())  # as a plan is
    form, state = "" if is_its_part else study.to_json(), state_of(study) if study.goes_on else ""
    stored = collections.add(session, study.kind, study.fingerprint, json.dumps(asdict(terms)), now, form, state)
    if stored is None:
        return None
    about(stored.name)
    add_parts(session, stored.id, study, terms.minimum, 0, now)
    if terms.moments()[1] <= now:  # the transaction is undone, so it can be created with another date
        raise invalid(f'"closes" is in the past ({terms.closes}), so no report could be sent: give a later date')
    return stored


def add_parts(session: Session, collection: int, study: Study, minimum: int, number: int, now: int) -> None:
    """Store the open parts of a study, with numbers from this one on. What must be ended waits for the minimum too."""
    for place, part in enumerate(study.parts(), number):
        plan, needed = part.plan.to_json(), study.needed(part)
        document = "" if part.fingerprint == part.plan.fingerprint else part.to_json()
        waits = max(needed, minimum) if needed else 0
        row = (collection, part.key, place, part.fingerprint, plan, document, now, None, waits, None, None)
        if not parts.add(session, StoredPart(*row)):
            raise StorageError(f"another collection has a part with the same fingerprint as this {study.what}")


def is_name(name: str) -> bool:
    """Whether this could be the name of a plan: 16 or 64 hexadecimal digits in lower case."""
    return len(name) in (SHORT, 64) and not name.strip("0123456789abcdef")


def names_study(name: str) -> bool:
    """Whether this could name a study: by its fingerprint, or by its id."""
    return is_name(name) or (len(name) == 21 and name[0] == "c" and not name[1:].strip("0123456789abcdef"))


def _collection(stored: StoredCollection, part: StoredPart, plan: Plan) -> Collection:
    settings = json.loads(stored.settings)
    terms = Terms.stored({name: settings[name] for name in settings.keys() & {one.name for one in fields(Terms)}})
    begins, ends = terms.moments()
    return Collection(
        stored.id,
        stored.name,
        stored.kind,
        stored.fingerprint,
        part.key,
        part.needed > 0,
        plan,
        terms,
        part.opened,
        part.closed,
        begins,
        ends,
        bytes.fromhex(part.fingerprint),
        bytes.fromhex(plan.fingerprint),
    )


def day_of(seconds: float) -> int:
    """The UTC day of a moment, as days since 1 January 1970."""
    return int(seconds // DAY)


def date_of(day: int) -> date:
    """The date of a day that is counted from 1 January 1970."""
    return date(1970, 1, 1) + timedelta(days=day)


def days_between(first: date | None, last: date | None) -> tuple[int, int]:
    """A range of dates as days since 1 January 1970; None is no limit."""
    low, high = (None if one is None else (one - date(1970, 1, 1)).days for one in (first, last))
    return ALL_DAYS[0] if low is None else low, ALL_DAYS[1] if high is None else high


def iso_day(day: int) -> str:
    """A day as in 2026-01-31."""
    return date_of(day).isoformat()


def iso_moment(seconds: float) -> str:
    """A moment as in 2026-01-31T18:00:00Z; the end of the last day that has a date is its last second."""
    return datetime.fromtimestamp(min(seconds, _LAST), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
