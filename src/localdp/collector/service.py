"""Everything that a running collector holds: its database, its threads, and what it remembers."""

from __future__ import annotations

import logging
import os
import time
from functools import partial

from localdp.collector.answering import Answering
from localdp.collector.bodies import Body, Memory
from localdp.collector.checking import wrong_reports
from localdp.collector.collections import Collection, Collections, is_name
from localdp.collector.folding import Folder
from localdp.collector.life import Life
from localdp.collector.metrics import Metrics
from localdp.collector.pools import Pools
from localdp.collector.problems import Problem, unknown_plan
from localdp.collector.publishing import Publishing
from localdp.collector.quotas import Quotas
from localdp.collector.rates import Rate
from localdp.collector.readiness import Readiness
from localdp.collector.results import Results
from localdp.collector.retention import Retention
from localdp.collector.settings import Settings
from localdp.collector.storage import Database, open_database, tokens
from localdp.collector.storage.collections import PLAN
from localdp.collector.studies import Studies
from localdp.collector.tokens import Tokens, checked_token, digest_of, new_token
from localdp.collector.writer import Writer

_log = logging.getLogger("localdp.collector")


class Service:
    """One collector. `start` and `stop` begin and end its threads."""

    def __init__(self, settings: Settings, database: Database | None = None) -> None:
        self.settings = settings
        self.database = open_database(settings.database) if database is None else database
        self.database.claim()
        self.metrics = Metrics()
        self.collections = Collections(self.database)
        self.tokens = Tokens(self.database)
        self.memory = Memory(settings.most_memory)
        self.rate = Rate(settings.rate)
        quotas = Quotas(self.database, settings.day_bytes, settings.plan_bytes, settings.database_bytes)
        check = partial(wrong_reports, self.collections)
        self.writer = Writer(self.database, check, self.metrics, settings.most_waiting, quotas)
        self.folder = Folder(self.database, self.writer, self.collections, self.metrics, settings.fold_every)
        self.answering = Answering(self.database, self.writer, self.folder, settings.answer_time)
        self.studies = Studies(self.database, self.writer, self.collections, settings.fold_every)
        self.life = Life(self.database, self.writer, self.collections, self.studies)
        self.results = Results(self.answering, self.collections)
        self.publishing = Publishing(self.database, self.writer, self.studies, self.results, settings.publish_every)
        self.readiness = Readiness(self.writer)
        self.retention = Retention(self.writer, settings.keep_days)
        self._threaded = (self.folder, self.retention, self.studies, self.publishing)
        self.pools = Pools(settings.threads, settings.longest_answer)
        self.started = time.time()

    def start(self) -> None:
        """Start the threads. What was stored before and is not counted yet is counted now."""
        self.writer.start()
        self.collections.refresh()
        for one in self._threaded:
            one.worker.start()

    def stop(self) -> None:
        """Store what waits, end the threads and close the database."""
        for one in reversed(self._threaded):
            one.worker.stop()
        self.writer.stop()
        self.pools.shutdown()
        self.database.close()

    async def collection(self, name: str) -> Collection:
        """The collection that a URL names; a `Problem` if there is none."""
        found = self.collections.known(name)
        if found is None and is_name(name):
            found = await self.pools.for_devices(self.collections.find, name)
        if found is None or found.kind != PLAN:
            raise await self.pools.for_devices(self._no_plan, name)
        return found

    def _no_plan(self, name: str) -> Problem:
        try:
            self.studies.find(name)
        except Problem:
            return unknown_plan()
        return unknown_plan(name)

    def body(self) -> Body:
        """What reads the body of one request."""
        return Body(self.memory, self.settings.most_body)

    def first_token(self) -> str | None:
        """Make sure that somebody can administer this collector. Returns a new token, which must be shown, or None.

        The token in LOCALDP_ADMIN_TOKEN is taken, unless it was revoked. Without it, a token is made if there is none.
        """
        given = os.environ.get("LOCALDP_ADMIN_TOKEN")
        token = new_token() if given is None else checked_token(given)
        now = int(time.time())
        with self.database.writing() as session:
            if given is not None:
                digest = digest_of(token)
                if tokens.add(session, digest, "LOCALDP_ADMIN_TOKEN", "admin", None, now) is None and any(
                    one.digest == digest and one.revoked is not None for one in tokens.every(session)
                ):
                    _log.warning("the token in LOCALDP_ADMIN_TOKEN was revoked and stays so: put another one there")
                return None
            if tokens.keeps_an_admin(session):
                return None
            tokens.add(session, digest_of(token), "first administrator", "admin", None, now)
            return token
