"""What docs/deploy.md tells operators to do: backup and restore, upgrade, several collectors, and what to watch."""

from __future__ import annotations

import re
import secrets
import shlex
import shutil
import sqlite3
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest
from paths import ROOT
from running import ITEMS, new_client, running

from localdp.collector import recount
from localdp.collector.settings import Settings
from localdp.collector.storage import open_database, schema
from localdp.errors import InvalidInputError

PAGE = (ROOT / "docs" / "deploy.md").read_text("utf-8")
REPORTS = 3  # in each upload


def _command(first):
    """The words of the command on the page that starts with this one."""
    return shlex.split(re.search(rf"^\$ ({first} .*)$", PAGE, re.MULTILINE)[1])


class Load:
    """Senders that go on until the block ends. What was sent and what was acknowledged is known at every moment."""

    def __init__(self, collectors, plan):
        self._urls, self._plan = [one.url for one in collectors], plan
        self._stop = threading.Event()
        self.sent, self.acknowledged = {}, set()

    def _send(self, number):
        with new_client() as client:
            while not self._stop.is_set():
                name = secrets.token_hex(16)
                self.sent[name] = self._plan.privatize([ITEMS[number % len(ITEMS)]] * REPORTS).to_bytes()
                url = f"{self._urls[number % len(self._urls)]}/v1/plans/{self._plan.fingerprint}/reports"
                answer = client.post(url, content=self.sent[name], headers={"Upload-Id": name})
                assert answer.status_code == 201, answer.text
                self.acknowledged.add(name)

    def __enter__(self):
        self._pool = ThreadPoolExecutor(4)
        self._senders = [self._pool.submit(self._send, number) for number in range(4)]
        self.wait_for(40)
        return self

    def wait_for(self, more):
        """Wait until so many more uploads are acknowledged."""
        enough = len(self.acknowledged) + more
        until = time.monotonic() + 60
        while len(self.acknowledged) < enough and not any(one.done() for one in self._senders):
            assert time.monotonic() < until, "the collectors are too slow"
            time.sleep(0.01)

    def __exit__(self, *error):
        self._stop.set()
        self._pool.shutdown()
        for sender in self._senders:
            sender.result()


def _check_copy(copy, plan, load, before, until):
    """The copy has all uploads of `before`, none that is not in `until`, and each is counted once."""
    with running(copy) as restored:
        restored.fold(plan)
        counted = restored.state(plan)["counted"]
        again = {name: restored.upload(plan, body, name).status_code for name, body in load.sent.items()}
        there = {name for name, status in again.items() if status == 200}
        assert set(again.values()) <= {200, 201}
        assert before <= there <= until
        assert counted == REPORTS * len(there)
        restored.fold(plan)
        assert restored.state(plan)["counted"] == REPORTS * len(load.sent)
        assert recount.differences(restored.service.database) == []


def test_a_backup_of_sqlite_during_load_has_every_upload_that_was_acknowledged(tmp_path):
    program, _, sql = _command("sqlite3")
    path, copy = tmp_path / "collector.db", tmp_path / "copy.db"
    sql, replaced = re.subn(r"INTO '[^']+'", f"INTO '{copy}'", sql)
    assert replaced == 1
    with running(path) as collector:
        plan = collector.collection()
        with Load([collector], plan) as load:
            before = set(load.acknowledged)
            if shutil.which(program):
                subprocess.run([program, path, sql], check=True, timeout=60)  # noqa: S603
            else:
                sqlite3.connect(path).execute(sql)
            until = set(load.sent)
            load.wait_for(10)
    _check_copy(copy, plan, load, before, until)


def test_two_collectors_on_one_postgresql_and_a_dump_during_load(postgres, tmp_path):
    import pgserver

    programs = Path(pgserver.__file__).parent / "pginstall" / "bin"
    dump = [programs / word if word == "pg_dump" else word for word in _command("pg_dump")]
    restore = [programs / word if word == "pg_restore" else word for word in _command("pg_restore")]
    url, other, file = postgres(), postgres(), str(tmp_path / "collector.dump")
    dump[-2:], restore[-2:] = [f"--file={file}", url], [f"--dbname={other}", file]
    with ExitStack() as stack:
        one, two = (stack.enter_context(running(url)) for _ in range(2))
        plan = one.collection()
        with Load([one, two], plan) as load:
            before = set(load.acknowledged)
            subprocess.run(dump, check=True, timeout=60)  # noqa: S603
            until = set(load.sent)
            load.wait_for(10)
        one.fold(plan)
        assert one.state(plan)["counted"] == two.state(plan)["counted"] == REPORTS * len(load.acknowledged)
        assert recount.differences(one.service.database) == []
        stored = [collector.service.metrics.value("uploads_stored") for collector in (one, two)]
        assert min(stored) > 0
        assert sum(stored) == len(load.acknowledged)
    subprocess.run(restore, check=True, timeout=60)  # noqa: S603
    _check_copy(other, plan, load, before, until)


def test_an_older_database_is_upgraded_at_the_start_and_a_newer_one_is_refused(database_url, monkeypatch):
    with running(database_url) as collector:
        plan = collector.collection()
        collector.upload(plan, plan.privatize(["tea"] * 5).to_bytes())
        collector.fold(plan)
    more = (*schema.STEPS, ("ALTER TABLE collections ADD COLUMN remark TEXT", "CREATE TABLE remarks (id {serial})"))
    with monkeypatch.context() as newer:
        newer.setattr(schema, "STEPS", more)
        for _ in range(2):  # the second start finds nothing to do
            with running(database_url) as collector:
                assert collector.state(plan)["counted"] == 5
                with collector.service.database.reading() as session:
                    assert session.execute("SELECT version FROM schema_version") == [(len(more),)]
                    assert session.execute("SELECT remark FROM collections") == [(None,)]
    with pytest.raises(InvalidInputError, match=f"tables of version {len(more)}, .* install a newer localdp"):
        open_database(database_url)


def test_every_metric_on_the_page_exists(tmp_path):
    named = set(re.findall(r"localdp_[a-z_]+[a-z]", PAGE))
    with running(tmp_path / "collector.db") as collector:
        collector.client.get("/healthz")
        text = collector.client.get("/metrics").text
    there = set(re.findall(r"^(localdp_\w+)", text, re.MULTILINE))
    assert len(named) >= 10
    assert named <= there


def test_the_files_in_deploy_agree_with_the_command_and_its_limits():
    from localdp.cli.serve import command

    service = (ROOT / "deploy" / "localdp.service").read_text("utf-8")
    container = (ROOT / "deploy" / "Containerfile").read_text("utf-8")
    nginx = (ROOT / "deploy" / "nginx.conf").read_text("utf-8")
    known = {f"--{name.replace('_', '-')}" for name in command.__annotations__}
    for text in (service, container, PAGE):
        used = {
            option for line in re.findall(r"localdp\"?,? \"?serve.*", text) for option in re.findall(r"--[a-z-]+", line)
        }
        assert used
        assert used <= known
    assert int(re.search(r"client_max_body_size (\d+)m;", nginx)[1]) << 20 == Settings.most_body
    assert int(re.search(r"LimitNOFILE=(\d+)", service)[1]) > 2 * Settings.most_connections
