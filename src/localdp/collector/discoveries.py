"""Discoveries on a collector: a series of rounds, of which one at a time takes uploads.

A round takes uploads exactly as a plan does: it has a row among the plans, under the fingerprint of the *round*,
because two rounds may have equal plans. An upload is tied to its round by its address and by its key, so a report that
was made under one round's document is never counted in another one.

A round ends in three steps: its row is closed, so that nothing more is stored; everything that is stored is counted;
and in one transaction the new state takes the place of the old one and the next round begins. A collector that is
stopped in between goes on from what is stored, and gets the same counts. If two collectors on one database do this at
the same time, the first one changes the state and the second one finds that it is changed.

Rounds have millions of cells. So they are not counted upload by upload as plans are, but once, when they end.
"""

from __future__ import annotations

import json
import logging
import math
import threading
import time
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from localdp.collector.collections import Collection, Collections, Terms, is_name, terms_in
from localdp.collector.folding import counted
from localdp.collector.problems import Problem, invalid, unknown_discovery
from localdp.collector.storage import Database, discoveries, plans, uploads
from localdp.collector.storage.database import DayOfUploads, Session, StorageError
from localdp.collector.storage.discoveries import StoredRound
from localdp.collector.writer import Writer
from localdp.discovery import Discovery
from localdp.discovery.rounds import Round
from localdp.errors import LocalDPError
from localdp.plan import Aggregate
from localdp.studies.saved import from_state, state_of
from localdp.studies.series import LEAST_REPORTS
from localdp.validation import shown

_OF_DISCOVERY = ("epsilon", "users", "top", "bits", "most_bytes", "rounds", "name")
_BESIDE = ("title", "question", "automatic", "write_token")
_ALL_DAYS = (-(2**40), 2**40)
_REST, _LONGEST_REST = 20.0, 5.0  # seconds: how long the thread rests, as a multiple of what it took, and at most
_log = logging.getLogger("localdp.collector")


@dataclass(frozen=True)
class DiscoveryTerms:
    """What was asked for beside the discovery. `automatic` ends a round as soon as it has its reports."""

    title: str = ""
    question: str = ""
    automatic: bool = False
    write_token: bool = False


@dataclass(frozen=True)
class Held:
    """A discovery as it is stored: as far as it has come, with all its rounds."""

    id: int
    fingerprint: str
    document: str
    terms: DiscoveryTerms
    created: int
    done: int | None
    discovery: Discovery
    rounds: tuple[StoredRound, ...]

    @property
    def current(self) -> StoredRound | None:
        """The round under way; None if all are over."""
        return None if self.done is not None else self.rounds[-1]


class Discoveries:
    """The discoveries of a database, and the thread that ends the rounds of those that are automatic."""

    def __init__(self, database: Database, writer: Writer, collections: Collections, every: float) -> None:
        self._database, self._writer, self._collections, self._every = database, writer, collections, every
        self._known: dict[str, Held] = {}
        self._one_at_a_time = threading.Lock()
        self._random = np.random.default_rng()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._work, name="localdp-discoveries", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread. A round that it was ending is ended after the next start."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()

    def add(self, session: Session, discovery: Discovery, terms: DiscoveryTerms, now: int) -> bool:
        """Store a new discovery with its first round; False if it is there already."""
        settings, state = json.dumps(asdict(terms)), state_of(discovery)
        number = discoveries.add(session, discovery.fingerprint, discovery.to_json(), settings, state, now)
        if number is not None:
            self._begin(session, number, discovery, terms, now)
        return number is not None

    def find(self, name: str) -> Held:
        """The discovery with this fingerprint, or with these first 16 digits of it; a `Problem` if there is none."""
        with self._database.reading() as session:
            version = discoveries.version(session, name) if is_name(name) else None
            if version is None:
                raise unknown_discovery()
            known = self._known.get(version[0])
            if known is not None and (known.rounds[-1].number, known.done) == version[1:]:
                return known
            stored = discoveries.read(session, version[0])
            rounds = tuple(discoveries.rounds(session, stored.id))
        terms, discovery = DiscoveryTerms(**json.loads(stored.settings)), from_state(Discovery, stored.state)
        held = Held(
            stored.id, stored.fingerprint, stored.document, terms, stored.created, stored.done, discovery, rounds
        )
        self._known[stored.fingerprint] = held
        return held

    def every(self) -> list[Held]:
        """All discoveries, the newest first."""
        with self._database.reading() as session:
            names = discoveries.every(session)
        return [self.find(name) for name in names]

    def reports(self, held: Held) -> int:
        """The reports of the round under way."""
        if held.current is None:
            return 0
        with self._database.reading() as session:
            return uploads.number_waiting(session, held.current.plan)[1]

    def round(self, name: str, fingerprint: str) -> Collection:
        """What takes the uploads of a round, which may be over; a `Problem` if the discovery has no such round."""
        collection = self._collections.find_round(fingerprint)
        if collection is None or collection.discovery != self.find(name).id:
            raise unknown_discovery()
        return collection

    def advance(self, name: str, number: int) -> Held:
        """End a round and begin the next one. A round that is over already is left as it is."""
        with self._one_at_a_time:
            held = self.find(name)
            if held.done is not None or number < held.discovery.number:
                return held
            if number > held.discovery.number:
                raise Problem(409, "not-under-way", f"round {number} has not begun: round {held.discovery.number} is")
            current = held.rounds[-1]
            reports = self.reports(held)
            if reports < LEAST_REPORTS:
                detail = f"round {number} has {reports} reports, and needs at least {LEAST_REPORTS}: wait for more"
                raise Problem(409, "too-few-reports", detail)
            self._writer.run(lambda session: plans.close(session, current.plan, int(time.time())))
            self._collections.refresh()
            aggregate, suspect = self._counted(current.plan)
            after = held.discovery.advance(aggregate, held.discovery.round)
            self._writer.run(lambda session: self._move_on(session, held, after, aggregate.n, suspect))
        return self.find(name)

    def _counted(self, plan: int) -> tuple[Aggregate, int]:
        """The counts of all uploads of a round, and about how many of its reports look forged."""
        pieces = uploads.stored(self._database, plan, _ALL_DAYS)
        kept = [(count, body) for piece in pieces for _, count, body in piece if body is not None]
        sizes = np.array([count for count, _ in kept], np.int64)
        everything = DayOfUploads(0, sizes, b"".join(body for _, body in kept))
        return counted(self._collections.by_id(plan).plan, everything, self._random)

    def _move_on(self, session: Session, held: Held, after: Discovery, reports: int, suspect: int) -> None:
        now, number = int(time.time()), held.discovery.number
        following = number if after.done else after.number
        if not discoveries.move_on(session, held.id, number, state_of(after), following, now if after.done else None):
            return  # another collector was first
        discoveries.end_round(session, held.id, number, reports, suspect)
        discoveries.mark_counted(session, held.rounds[-1].plan)
        if not after.done:
            self._begin(session, held.id, after, held.terms, now)

    def _begin(self, session: Session, number: int, discovery: Discovery, terms: DiscoveryTerms, now: int) -> None:
        """Store the round under way of a discovery."""
        asked = discovery.round
        settings = json.dumps(asdict(Terms(write_token=terms.write_token)))
        plan = plans.add(session, asked.fingerprint, asked.plan.to_json(), settings, now, number)
        if plan is None:
            raise StorageError("a plan or a round has the same fingerprint as this round")
        discoveries.add_round(session, number, asked.number, plan.id, asked.to_json(), needed(asked, discovery.users))

    def _work(self) -> None:
        pause = self._every
        while not self._stopping.wait(pause):
            started = time.perf_counter()
            try:
                self.end_rounds()
            except LocalDPError as error:
                _log.error("the rounds of discoveries could not be looked at: %s", error)
            except Exception:  # the next look may succeed, and other discoveries must go on
                _log.exception("the rounds of discoveries could not be looked at")
            pause = max(self._every, min(_REST * (time.perf_counter() - started), _LONGEST_REST))

    def end_rounds(self) -> None:
        """End the round of every automatic discovery that has its reports."""
        with self._database.reading() as session:
            names = discoveries.under_way(session)
        for name in names:
            held = self.find(name)
            current = held.current
            if current is None or not held.terms.automatic or self._stopping.is_set():
                continue
            if self.reports(held) >= current.needed:
                self.advance(name, current.number)


def needed(asked: Round, users: int) -> int:
    """The reports that a round waits for: as many as users are asked, less what chance may leave out."""
    expected = asked.span.share * users
    return max(LEAST_REPORTS, math.floor(expected - 3 * math.sqrt(expected)))


def requested(body: Any) -> tuple[Discovery, DiscoveryTerms]:
    """The discovery and the terms that a request asks for; a `Problem` that says what cannot be used."""
    if not isinstance(body, dict):
        raise invalid('a discovery is asked for by a JSON object, such as {"epsilon": 2, "users": 100000, "bits": 48}')
    unknown = sorted(set(body) - {*_OF_DISCOVERY, *_BESIDE})
    if unknown:
        known = ", ".join((*_OF_DISCOVERY, *_BESIDE))
        raise invalid(f"{shown(unknown[0])} is not a field of a discovery; there are {known}")
    given = {name: body[name] for name in _OF_DISCOVERY if body.get(name) is not None}
    missing = [name for name in ("epsilon", "users") if name not in given]
    if missing:
        raise invalid(f'a discovery needs "{missing[0]}"')
    automatic = body.get("automatic") or False
    if not isinstance(automatic, bool):
        raise invalid(f'"automatic" is true or false, not {shown(automatic)}')
    terms = terms_in({name: body.get(name) for name in ("title", "question", "write_token")})
    try:
        discovery = Discovery(**given)
    except LocalDPError as error:
        raise invalid(str(error), "invalid-discovery") from error
    return discovery, DiscoveryTerms(terms.title, terms.question, automatic, terms.write_token)
