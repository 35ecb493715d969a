"""A collector that is killed (kill -9) while it takes uploads loses nothing that it acknowledged."""

from __future__ import annotations

import importlib.util
import itertools
import sys

import pytest
from paths import ROOT

SPEC = importlib.util.spec_from_file_location("killed_collectors", ROOT / "audits" / "killed_collectors.py")
program = importlib.util.module_from_spec(SPEC)
sys.modules["killed_collectors"] = program  # other processes look for it by this name
SPEC.loader.exec_module(program)

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="this system has no fork")


@pytest.fixture(autouse=True)
def _importable(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "audits")


@pytest.mark.slow
def test_kills_lose_nothing_that_was_acknowledged(database_url):
    done = program.kill(database_url, 6)
    assert done.startswith("6 kills: ")
    assert "the aggregates equal a recount" in done


@pytest.mark.slow
def test_kills_at_the_step_from_older_tables_lose_nothing(tmp_path):
    names = itertools.count()
    done = program.kill_steps(lambda: f"sqlite:///{tmp_path}/{next(names)}.db", 3)
    assert "every row is there" in done


def serve_too_early(url, pipe):
    """A collector that acknowledges uploads some time before it stores them."""
    import time

    from localdp.collector.storage import uploads
    from localdp.collector.writer import Writer

    waiting = []

    def stored(self, group):
        waiting.extend(group)
        if len(waiting) > 50:
            with self._database.writing() as session:
                uploads.store(session, waiting)
            waiting.clear()
        time.sleep(0.001)
        return [True] * len(group)

    Writer._stored = stored
    program.serve(url, pipe)


def test_a_collector_that_acknowledges_too_early_is_caught(tmp_path):
    with pytest.raises(AssertionError, match="acknowledged uploads are not stored"):
        program.kill(str(tmp_path / "x.db"), 5, serve=serve_too_early)


def test_a_count_that_is_wrong_is_caught(tmp_path):
    database = program.open_database(str(tmp_path / "x.db"))
    program.kill(str(tmp_path / "x.db"), 1, serve=program.serve)
    assert program.recount.differences(database) == []
    with database.writing() as session:
        session.change("UPDATE aggregates SET n = n + 1")
    (wrong,) = program.recount.differences(database)
    assert "and others are stored" in wrong
    with database.writing() as session:
        session.change("DELETE FROM aggregates")
    (wrong,) = program.recount.differences(database)
    assert "are not counted" in wrong
    assert program.lost(database, {b"x" * 16: 1}) == 1
    database.close()
