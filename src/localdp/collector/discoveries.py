"""Discoveries on a collector: a series of rounds, of which one at a time takes uploads.

A discovery is a collection, and its rounds are the parts of it: a round takes uploads exactly as a plan does, under the
fingerprint of the *round*, because two rounds may have equal plans. An upload is tied to its round by its address and
by its key, so a report that was made under one round's document is never counted in another one.

A round ends in three steps: its row is closed, so that nothing more is stored; everything that is stored is counted;
and in one transaction the new state takes the place of the old one and the next round begins. A collector that is
stopped in between goes on from what is stored, and gets the same counts. If two collectors on one database do this at
the same time, the first one changes the state and the second one finds that it is changed.

Rounds have millions of cells. So they are not counted upload by upload as plans are, but once, when they end: piece by
piece into sums that add up, so that the memory does not grow with the number of reports.
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

from localdp.collector.collections import Collection, Collections, is_name, terms_in
from localdp.collector.folding import at_once
from localdp.collector.problems import Problem, invalid, unknown_discovery
from localdp.collector.recount import reports_in
from localdp.collector.storage import Database, collections, parts, uploads
from localdp.collector.storage.aggregates import SUSPECT
from localdp.collector.storage.collections import DISCOVERY
from localdp.collector.storage.database import Session, StorageError
from localdp.collector.storage.parts import StoredPart
from localdp.collector.suspects import verdicts
from localdp.collector.writer import Writer
from localdp.discovery import Discovery
from localdp.discovery.rounds import Round
from localdp.discovery.saved import from_state, state_of
from localdp.errors import LocalDPError
from localdp.plan import Aggregate
from localdp.rounds.series import LEAST_REPORTS
from localdp.validation import shown

_OF_DISCOVERY = ("epsilon", "users", "top", "bits", "most_bytes", "rounds", "name")
_BESIDE = ("title", "question", "automatic", "write_token")
_ALL_DAYS = (-(2**40), 2**40)
_SLICE = 1 << 19  # reports whose sums are made at once: each needs some dozen bytes meanwhile
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
    rounds: tuple[StoredPart, ...]

    @property
    def current(self) -> StoredPart | None:
        """The round under way; None if all are over."""
        return None if self.done is not None else self.rounds[-1]


@dataclass(frozen=True, eq=False)
class CountedRound:
    """The counts of a round, the reports that were left out, and the verdicts on uploads that look forged."""

    aggregate: Aggregate
    suspect: int
    forged: dict[int, int]


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
        fingerprint, form = discovery.fingerprint, discovery.to_json()
        stored = collections.add(session, DISCOVERY, fingerprint, settings, now, form, state)
        if stored is not None:
            self._begin(session, stored.id, discovery, now)
        return stored is not None

    def find(self, name: str) -> Held:
        """The discovery with this fingerprint, or with these first 16 digits of it; a `Problem` if there is none."""
        with self._database.reading() as session:
            version = collections.version(session, name, DISCOVERY) if is_name(name) else None
            if version is None:
                raise unknown_discovery()
            known = self._known.get(version[0])
            if known is not None and (known.rounds[-1].number, known.done) == version[1:]:
                return known
            stored = collections.find(session, version[0])
            assert stored is not None  # noqa: S101 (it was there in this transaction)
            rounds = tuple(parts.of(session, stored.id))
        terms, discovery = DiscoveryTerms(**json.loads(stored.settings)), from_state(Discovery, stored.state)
        held = Held(stored.id, stored.fingerprint, stored.form, terms, stored.created, stored.closed, discovery, rounds)
        self._known[stored.fingerprint] = held
        return held

    def every(self) -> list[Held]:
        """All discoveries, the newest first."""
        with self._database.reading() as session:
            names = collections.every(session, DISCOVERY)
        return [self.find(name) for name in names]

    def reports(self, held: Held) -> int:
        """The reports of the round under way."""
        if held.current is None:
            return 0
        with self._database.reading() as session:
            return uploads.number_waiting(session, held.id, held.current.key)[1]

    def round(self, name: str, fingerprint: str) -> Collection:
        """What takes the uploads of a round, which may be over; a `Problem` if the discovery has no such round."""
        collection = self._collections.find(fingerprint, DISCOVERY)
        if collection is None or collection.id != self.find(name).id:
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
            self._writer.run(lambda session: parts.close(session, held.id, current.key, int(time.time())))
            self._collections.refresh()
            counted = self._counted(held.id, current.key)
            if counted.aggregate.n < LEAST_REPORTS:
                detail = (
                    f"round {number} has {counted.aggregate.n} reports that do not look forged, and needs at least "
                    f"{LEAST_REPORTS}"
                )
                raise Problem(409, "too-few-reports", detail)
            after = held.discovery.advance(counted.aggregate, held.discovery.round)
            self._writer.run(lambda session: self._move_on(session, held, after, counted))
        return self.find(name)

    def _counted(self, collection: int, key: str) -> CountedRound:
        """The counts of all uploads of a round that do not look forged, and which do."""
        plan = self._collections.by_part(collection, key).plan
        mechanism, n, forged = plan.mechanism, 0, dict[int, int]()
        sums = np.zeros(mechanism.partial_size, np.int64)
        suspect = 0
        for piece in uploads.stored(self._database, collection, key, _ALL_DAYS, only_waiting=True):
            if self._stopping.is_set():
                raise StorageError("the collector is stopping")
            sizes = np.array([one.count for one in piece], np.int64)
            reports = reports_in(b"".join(one.body or b"" for one in piece), plan)
            found = verdicts(reports, sizes, self._random)
            forged |= {piece[place].seq: int(found[place]) for place in np.flatnonzero(found).tolist()}
            honest = reports.rows[np.repeat(found == 0, sizes)] if found.any() else reports.rows
            suspect, n = suspect + len(reports) - len(honest), n + len(honest)
            step = min(at_once(plan), _SLICE)
            for start in range(0, len(honest), step):
                sums += mechanism.tally_partial(honest[start : start + step])
        return CountedRound(Aggregate(plan, mechanism.complete(sums, n), n), suspect, forged)

    def _move_on(self, session: Session, held: Held, after: Discovery, counted: CountedRound) -> None:
        now, number = int(time.time()), held.discovery.number
        following = number if after.done else after.number
        if not collections.move_on(session, held.id, number, state_of(after), following, now if after.done else None):
            return  # another collector was first
        parts.end(session, held.id, held.rounds[-1].key, counted.aggregate.n, counted.suspect)
        for seq, verdict in counted.forged.items():
            uploads.judge(session, seq, verdict, SUSPECT)
        if not after.done:
            self._begin(session, held.id, after, now)

    def _begin(self, session: Session, collection: int, discovery: Discovery, now: int) -> None:
        """Store the round under way of a discovery."""
        asked = discovery.round
        plan, least = asked.plan.to_json(), needed(asked, discovery.users)
        name, key = asked.fingerprint, str(asked.number)
        if not parts.add(
            session,
            StoredPart(collection, key, asked.number, name, plan, asked.to_json(), now, None, least, None, None),
        ):
            raise StorageError("a plan or a round has the same fingerprint as this round")

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
            names = collections.every(session, DISCOVERY, open_only=True)[::-1]
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
