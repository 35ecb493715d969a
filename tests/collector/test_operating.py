"""What docs/deploy.md tells operators to do: backup and restore, upgrade, several collectors, and what to watch."""

from __future__ import annotations

import json
import re
import secrets
import shlex
import sqlite3
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest
from command import localdp
from paths import ROOT
from running import ITEMS, new_client, running

from audits import recount
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
        until = time.monotonic() + 180
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
    path, copy, other = tmp_path / "collector.db", tmp_path / "copy.db", tmp_path / "other.db"
    backup, restore = (_command(f"localdp {word}") for word in ("backup", "restore"))
    with running(path) as collector:
        plan = collector.collection()
        with Load([collector], plan) as load:
            before = set(load.acknowledged)
            done = localdp("backup", copy, *backup[3:-1], path, cwd=tmp_path)
            assert done.returncode == 0, done.stderr
            until = set(load.sent)
            load.wait_for(10)
        running_still = localdp("restore", copy, *restore[3:-2], path, "--force", cwd=tmp_path)
        assert (running_still.returncode, "another collector uses" in running_still.stderr) == (2, True)
    with running(other) as elsewhere:  # what is there is replaced, with what lies beside it
        gone = elsewhere.collection(epsilon=1.0)
        elsewhere.upload(gone, gone.privatize(["tea"]).to_bytes())
    assert localdp("restore", copy, "--db", other, cwd=tmp_path).returncode == 2
    done = localdp("restore", copy, *restore[3:-2], other, "--force", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert sorted(one.name for one in tmp_path.iterdir() if one.name.startswith("other")) == [
        "other.db",
        "other.db-lock",
    ]
    assert other.stat().st_mode & 0o777 == copy.stat().st_mode & 0o777 == 0o600
    _check_copy(other, plan, load, before, until)


def test_what_is_no_backup_is_refused(tmp_path):
    path, copy = tmp_path / "collector.db", tmp_path / "copy.db"
    with running(path) as collector:
        plan = collector.collection()
        collector.upload(plan, plan.privatize(["tea"] * 50).to_bytes())
        assert localdp("backup", copy, "--db", path, cwd=tmp_path).returncode == 0
        assert localdp("backup", copy, "--db", path, cwd=tmp_path).returncode == 2  # it exists
        in_use = localdp("restore", path, "--db", "new.db", cwd=tmp_path)
        assert (in_use.returncode, "a database in use" in in_use.stderr) == (2, True)
        assert collector.upload(plan, plan.privatize(["tea"]).to_bytes()).status_code == 201
    good = copy.read_bytes()
    empty, text, torn, newer = (tmp_path / name for name in ("empty.db", "text.db", "torn.db", "newer.db"))
    empty.write_bytes(b"")
    text.write_text("not a database")
    torn.write_bytes(good[: len(good) // 2])
    newer.write_bytes(good)
    with sqlite3.connect(newer) as database:
        database.execute("UPDATE schema_version SET version = 99")
    database.close()
    for wrong in (empty, text, torn, newer, tmp_path / "nothing.db", tmp_path):
        shown = localdp("restore", wrong, "--db", path, "--force", cwd=tmp_path)
        assert (shown.returncode, shown.stderr.count("\n")) == (2, 1), wrong
    assert localdp("backup", "x.db", "--db", "nothing.db", cwd=tmp_path).returncode == 2
    for command in (("backup", "x.db"), ("restore", copy)):
        shown = localdp(*command, "--db", "postgresql://localhost/x", cwd=tmp_path)
        assert (shown.returncode, "pg_" in shown.stderr) == (2, True)
    with running(path) as collector:
        assert collector.state(plan)["reports"] == 51


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
            subprocess.run(dump, check=True, timeout=180)  # noqa: S603
            until = set(load.sent)
            load.wait_for(10)
        one.fold(plan)
        assert one.state(plan)["counted"] == two.state(plan)["counted"] == REPORTS * len(load.acknowledged)
        assert recount.differences(one.service.database) == []
        stored = [collector.service.metrics.value("uploads_stored") for collector in (one, two)]
        assert min(stored) > 0
        assert sum(stored) == len(load.acknowledged)
    subprocess.run(restore, check=True, timeout=180)  # noqa: S603
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
    grafana = (ROOT / "deploy" / "grafana.json").read_text("utf-8")
    named = set(re.findall(r"localdp_[a-z_]+[a-z]", PAGE + grafana))
    with running(tmp_path / "collector.db") as collector:
        collector.client.get("/healthz")
        text = collector.client.get("/metrics").text
    there = set(re.findall(r"^(localdp_\w+)", text, re.MULTILINE))
    assert len(named) >= 10
    assert named <= there


def test_the_files_in_deploy_agree_with_the_command_and_its_limits():
    from localdp.cli.serve import command

    service, template = (
        (ROOT / "deploy" / name).read_text("utf-8") for name in ("localdp.service", "localdp@.service")
    )
    hardened = re.findall(r"^(?:Protect|Private|Restrict|SystemCall|NoNew|Capability|Limit|Memory).*$", service, re.M)
    assert len(hardened) > 15
    assert all(line in template for line in hardened)
    assert "--port %i" in template
    json.loads((ROOT / "deploy" / "grafana.json").read_text("utf-8"))
    container = (ROOT / "deploy" / "Containerfile").read_text("utf-8")
    nginx = (ROOT / "deploy" / "nginx.conf").read_text("utf-8")
    known = {f"--{name.replace('_', '-')}" for name in command.__annotations__}
    for text in (service, template, container, PAGE):
        used = {
            option for line in re.findall(r"localdp\"?,? \"?serve.*", text) for option in re.findall(r"--[a-z-]+", line)
        }
        assert used
        assert used <= known
    assert int(re.search(r"client_max_body_size (\d+)m;", nginx)[1]) << 20 == Settings.most_body
    assert int(re.search(r"LimitNOFILE=(\d+)", service)[1]) > 2 * Settings.most_connections
