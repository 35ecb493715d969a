"""Random sequences of uploads, replays, restarts, failing transactions, counting and retention keep to a model."""

from __future__ import annotations

import asyncio
import random
import shutil
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import httpx
import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

import localdp as ldp
from localdp.collector.app import create_app
from localdp.collector.collections import day_of
from localdp.collector.service import Service
from localdp.collector.settings import Settings
from localdp.collector.storage import aggregates, uploads
from localdp.collector.storage.database import StorageError
from localdp.collector.storage.sqlite import SqliteDatabase
from localdp.collector.terms import Terms

PLAN = ldp.Plan(["tea", "coffee", "water"], "grr", 2.0)
MEMORY = Path("/dev/shm")  # noqa: S108
STEPS, SEQUENCES = 20, 20
OPERATIONS = 400  # of one long sequence


class Unreliable(SqliteDatabase):
    """A database whose next transaction fails, before or after it is committed, if it is told to."""

    fails = None

    @contextmanager
    def writing(self):
        fails, self.fails = self.fails, None
        with super().writing() as session:
            yield session
            if fails == "before":
                raise StorageError("before the commit")
        if fails == "after":
            raise StorageError("after the commit")


class Collector(RuleBasedStateMachine):
    """A collector beside a model: the reports that were stored, by upload id."""

    failures = st.sampled_from([None, None, "before", "after"])

    def __init__(self):
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(dir=MEMORY if MEMORY.is_dir() else None))
        self.runner = asyncio.Runner()
        self.sent, self.stored, self.dropped = {}, {}, False
        self.start()
        with self.database.writing() as session:
            self.service.collections.add(session, PLAN, Terms(), 1)

    def start(self):
        self.database = Unreliable(self.folder / "x.db")
        self.service = Service(Settings(fold_every=1e6, keep_days=0), self.database)
        self.service.writer.start()
        self.app = create_app(self.service)

    def stop(self):
        self.service.writer.stop()
        self.service.pools.shutdown()
        self.database.close()

    def post(self, name, body):
        async def send():
            async with httpx.AsyncClient(transport=httpx.ASGITransport(self.app), base_url="http://test") as client:
                path = f"/v1/plans/{PLAN.fingerprint}/reports"
                return await client.post(path, content=body, headers={"Upload-Id": name.hex()})

        return self.runner.run(send())

    def attempt(self, name, body, fails):
        self.database.fails = fails
        status = self.post(name, body).status_code
        assert status == (503 if fails else 200 if name in self.stored else 201)
        if fails != "before":
            self.stored.setdefault(name, body)

    @rule(reports=st.integers(1, 5), fails=failures)
    def upload(self, reports, fails):
        name = len(self.sent).to_bytes(16, "big")
        self.sent[name] = PLAN.privatize(["tea"] * reports).to_bytes()
        self.attempt(name, self.sent[name], fails)

    @rule(data=st.data(), fails=failures)
    def replay(self, data, fails):
        if self.sent:
            name = data.draw(st.sampled_from(sorted(self.sent)))
            self.attempt(name, self.sent[name], fails)

    @rule(reports=st.integers(1, 5), data=st.data())
    def use_an_id_again(self, reports, data):
        if self.stored:
            name = data.draw(st.sampled_from(sorted(self.stored)))
            assert self.post(name, PLAN.privatize(["water"] * reports).to_bytes()).status_code == 200

    @rule(fails=failures)
    def count(self, fails):
        collection = self.service.collections.find(PLAN.fingerprint)
        self.database.fails = fails
        try:
            self.service.folder.fold(collection, 60.0)
        except StorageError:
            assert fails
        self.database.fails = None

    @rule()
    def restart(self):
        self.stop()
        self.start()

    @rule(fails=failures)
    def drop_old_bodies(self, fails):
        self.database.fails = fails
        try:
            self.service.retention.drop(now=2**40)
            self.dropped = True
        except StorageError:
            self.dropped |= fails == "after"
        self.database.fails = None

    @invariant()
    def as_many_reports_as_in_the_model(self):
        with self.database.reading() as session:
            where = self.service.collections.find(PLAN.fingerprint).where
            waiting = uploads.number_waiting(session, where.collection)[1]
            counted = sum(row.n for row in aggregates.days(session, where))
        assert waiting + counted == sum(int.from_bytes(body[20:24], "little") for body in self.stored.values())

    def teardown(self):
        self.count(None)
        with self.database.reading() as session:
            where = self.service.collections.find(PLAN.fingerprint).where
            days = aggregates.days(session, where)
            n, counts = aggregates.merged(session, where, days, PLAN.domain.size)
        expected = ldp.Aggregate(PLAN)
        for body in self.stored.values():
            expected.add(PLAN.read(body))
        self.stop()
        self.runner.close()
        shutil.rmtree(self.folder)
        assert n == expected.n
        assert np.array_equal(counts, expected.counts)
        assert all(abs(day.day - day_of(time.time())) <= 1 for day in days)


TestCollector = Collector.TestCase
TestCollector.settings = settings(max_examples=SEQUENCES, stateful_step_count=STEPS, deadline=None)


class Chosen:
    """Draws by a seeded generator, where hypothesis would draw."""

    def __init__(self, seed):
        self.random = random.Random(seed)  # noqa: S311 (not for privacy)

    def draw(self, strategy):
        return self.random.choice(strategy.elements)


def test_one_sequence_of_400_operations_keeps_to_the_model():
    machine, chosen, done = Collector(), Chosen(20261117), []
    for _ in range(OPERATIONS):
        reports, fails = chosen.random.randint(1, 5), chosen.random.choice([None, None, "before", "after"])
        operation, values = chosen.random.choice(
            [
                (machine.upload, (reports, fails)),
                (machine.upload, (reports, fails)),
                (machine.replay, (chosen, fails)),
                (machine.use_an_id_again, (reports, chosen)),
                (machine.count, (fails,)),
                (machine.restart, ()),
                (machine.drop_old_bodies, (fails,)),
            ]
        )
        operation(*values)
        machine.as_many_reports_as_in_the_model()
        done.append(operation.__name__)
    stored = len(machine.stored)
    machine.teardown()
    assert len(done) == OPERATIONS
    assert len(set(done)) == 6
    assert stored > 50
