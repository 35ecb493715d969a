"""The tables of the collector, on SQLite and on PostgreSQL: what is stored once is counted once."""

from __future__ import annotations

import os
import sqlite3
import threading

import numpy as np
import pytest

from localdp.collector.storage import aggregates, collections, open_database, parts, tokens, uploads
from localdp.collector.storage.collections import PLAN
from localdp.collector.storage.database import NewUpload, StorageError, Where
from localdp.collector.storage.parts import StoredPart
from localdp.errors import InvalidInputError


@pytest.fixture
def database(database_url):
    opened = open_database(database_url)
    yield opened
    opened.close()


def _new(plan, number=1, day=7, reports=1, body=b"r"):
    return [NewUpload(os.urandom(16), plan, "", day, reports, body * reports) for _ in range(number)]


def _plan(database, digit="a"):
    with database.writing() as session:
        stored = collections.add(session, PLAN, digit * 64, "{}", 1)
        assert parts.add(session, StoredPart(stored.id, "", 0, digit * 64, "{}", "", 1, None, 0, None, None))
        return stored


def _store(database, group):
    with database.writing() as session:
        return uploads.store(session, group)


@pytest.mark.parametrize("size", [1, 2, 255, 512])
def test_a_group_is_stored_and_recognised_when_it_comes_again(database, size):
    plan = _plan(database)
    group = _new(plan.id, size)
    assert _store(database, group) == [True] * size
    assert _store(database, [*group, *_new(plan.id)]) == [False] * size + [True]
    with database.reading() as session:
        assert uploads.number_waiting(session, plan.id) == (size + 1, size + 1)


def test_of_two_uploads_with_one_key_in_a_group_the_first_is_stored(database):
    plan = _plan(database)
    (first,) = _new(plan.id, body=b"a")
    second = first._replace(body=b"b")
    assert _store(database, [first, second, *_new(plan.id)]) == [True, False, True]
    with database.reading() as session:
        (day,) = session.gather(plan.id, "", 10, 10).days
    assert sorted(day.rows) == sorted(b"ar")


def test_a_closed_plan_takes_nothing_and_others_in_the_group_are_stored(database):
    closed, other = _plan(database, "a"), _plan(database, "b")
    with database.writing() as session:
        assert collections.close(session, closed.id, 5)
        assert not collections.close(session, closed.id, 6)
    assert _store(database, [*_new(closed.id), *_new(other.id)]) == [None, True]
    with database.reading() as session:
        assert collections.find(session, "a" * 16).closed == 5
        assert parts.find(session, "a" * 16).closed == 5
        assert uploads.parts_waiting(session) == [(other.id, "")]


def test_what_is_gathered_is_limited_and_comes_by_day_in_order(database):
    plan = _plan(database)
    for day, body in ((7, b"a"), (8, b"b"), (7, b"c")):
        _store(database, _new(plan.id, 1, day, 10, body))
    with database.reading() as session:
        every = session.gather(plan.id, "", 10, 100)
        assert [(day.day, day.uploads, day.reports, day.rows) for day in every.days] == [
            (7, 2, 20, b"a" * 10 + b"c" * 10),
            (8, 1, 10, b"b" * 10),
        ]
        assert not every.more
        for most, most_reports, taken in ((2, 100, 2), (10, 25, 2), (10, 5, 1), (1, 1, 1)):
            some = session.gather(plan.id, "", most, most_reports)
            assert (some.uploads, some.more) == (taken, True)
        assert session.gather(plan.id + 1, "", 10, 10).days == ()


def test_uploads_are_marked_once(database):
    plan = _plan(database)
    _store(database, _new(plan.id, 5))
    with database.reading() as session:
        piece = session.gather(plan.id, "", 3, 100)
    _store(database, _new(plan.id, 1))
    with database.writing() as session:
        assert session.mark(piece)
    with database.writing() as session:
        assert not session.mark(piece)
    with database.reading() as session:
        assert uploads.number_waiting(session, plan.id) == (3, 3)


def test_what_fails_in_a_transaction_leaves_no_trace(database):
    plan = _plan(database)
    group = _new(plan.id, 3)

    def fail():
        with database.writing() as session:
            uploads.store(session, group)
            raise KeyError("stop")

    with pytest.raises(KeyError, match="stop"):
        fail()
    assert _store(database, group) == [True] * 3


def test_a_statement_that_fails_is_our_error_and_the_database_goes_on(database):
    with pytest.raises(StorageError, match="the database failed"), database.writing() as session:
        session.execute("SELECT * FROM nothing")
    assert _plan(database) is not None


def test_counts_of_a_day_add_up_and_change_its_version(database):
    plan = _plan(database)
    with database.writing() as session:
        aggregates.add(session, Where(plan.id), 7, 3, np.array([1, 2, 0]))
        aggregates.add(session, Where(plan.id), 8, 1, np.array([0, 0, 1]))
        aggregates.add(session, Where(plan.id), 7, 2, np.array([1, 0, 2**40]))
    with database.reading() as session:
        seven, eight = aggregates.days(session, Where(plan.id))
        assert (seven.n, seven.version, eight.n, eight.version) == (5, 2, 1, 1)
        n, counts = aggregates.merged(session, Where(plan.id), [seven, eight], 3)
        assert n == 6
        assert counts.tolist() == [2, 2, 2**40 + 1]


def test_a_source_is_claimed_once(database):
    plan = _plan(database)
    with database.writing() as session:
        assert aggregates.claim_sources(session, plan.id, ["x", "y"])
        assert not aggregates.claim_sources(session, plan.id, ["y"])
        assert aggregates.claim_sources(session, plan.id + 1, ["y"])


def test_dropped_bodies_are_gone_and_their_uploads_are_still_known(database):
    plan = _plan(database)
    old, new = _new(plan.id, 3, day=7), _new(plan.id, 2, day=9)
    _store(database, [*old, *new])
    with database.writing() as session:
        assert uploads.drop_bodies(session, 9, 10) == 0  # not counted yet
        assert session.mark(session.gather(plan.id, "", 10, 10))
        assert uploads.drop_bodies(session, 9, 2) == 2
        assert uploads.drop_bodies(session, 9, 2) == 1
    bodies = [one.body for piece in uploads.stored(database, plan.id, "", (0, 99), most_bytes=2) for one in piece]
    assert sorted(bodies, key=str) == [None, None, None, b"r", b"r"]
    assert _store(database, old) == [False] * 3


def test_what_is_looked_for_again_and_again_has_an_index(tmp_path):
    database = open_database(str(tmp_path / "x.db"))
    asked = []
    with database.writing() as session:
        execute = session.execute
        session.execute = lambda sql, values=(): asked.append((sql, values)) or execute(sql, values)
        uploads.drop_bodies(session, 9, 10)
        uploads.parts_waiting(session)
        uploads.number_waiting(session, 1)
        uploads.listed(session, Where(1), aggregates.SUSPECT, 0, 10)
    assert len(asked) == 4
    with database.reading() as session:
        for sql, values in asked:
            (plan,) = {row[3] for row in session.execute(f"EXPLAIN QUERY PLAN {sql}", values)}
            assert " USING INDEX uploads_" in plan or " USING COVERING INDEX uploads_" in plan
    database.close()


def test_tokens_are_added_once_and_revoked_once(database):
    with database.writing() as session:
        assert not tokens.keeps_an_admin(session)
        made = tokens.add(session, b"d" * 32, "name", "admin", None, 1)
        assert tokens.add(session, b"d" * 32, "again", "read", None, 2) is None
        assert tokens.keeps_an_admin(session)
        assert tokens.every(session) == [made]
        assert tokens.revoke(session, made.id, 3)
        assert not tokens.revoke(session, made.id, 4)
        assert not tokens.keeps_an_admin(session)


def test_tables_are_made_once_and_newer_ones_are_refused(database, database_url):
    _plan(database)
    again = open_database(database_url)
    with again.reading() as session:
        assert collections.every(session, PLAN) == ["a" * 64]
    again.close()
    with database.writing() as session:
        session.change("UPDATE schema_version SET version = 99")
    with pytest.raises(InvalidInputError, match=r"version 99.*install a newer localdp"):
        open_database(database_url)


def test_two_collectors_on_one_postgresql_store_an_upload_once(postgres):
    url = postgres()
    one, two = open_database(url), open_database(url)
    plan = _plan(one)
    group = _new(plan.id, 200)
    stored = {}
    start = threading.Barrier(2)

    def send(name, database, order):
        start.wait()
        stored[name] = sum(map(bool, _store(database, order)))

    threads = [
        threading.Thread(target=send, args=("one", one, group)),
        threading.Thread(target=send, args=("two", two, group[::-1])),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(stored.values()) == 200
    with one.writing() as first, two.writing() as second:
        assert first.try_lock(plan.id)
        assert not second.try_lock(plan.id)
        assert second.try_lock(plan.id + 1)
    one.close()
    two.close()


def test_a_full_disk_is_told_apart(tmp_path):
    from localdp.collector.storage.database import StorageFullError

    database = open_database(str(tmp_path / "small.db"))
    plan = _plan(database)
    database._writer.execute("PRAGMA max_page_count = 40")
    with pytest.raises(StorageFullError, match="the disk of the database is full"):
        _store(database, _new(plan.id, 512, reports=1000))
    assert _store(database, _new(plan.id)) == [True]
    database.close()


def test_sqlite_waits_for_the_disk_at_every_commit(tmp_path):
    database = open_database(str(tmp_path / "x.db"))
    with database.writing() as session:
        assert session.execute("PRAGMA synchronous") == [(2,)]
        assert session.execute("PRAGMA journal_mode") == [("wal",)]
    database.close()


@pytest.mark.parametrize("url", ["mysql://x/y", "sqlite://", "https://example.org"])
def test_other_databases_are_refused(url):
    with pytest.raises(InvalidInputError, match="a database"):
        open_database(url)


def test_a_file_that_is_not_a_database_is_refused(tmp_path):
    (tmp_path / "x.db").write_bytes(b"something else" * 100)
    with pytest.raises(StorageError, match="not a database"):
        open_database(str(tmp_path / "x.db"))
    assert sqlite3.sqlite_version_info >= (3, 35)
