"""A collector in a thread of this process, with a real server on a free port, for tests."""

from __future__ import annotations

import os
import secrets
import select
import socket
import threading
import time
from contextlib import contextmanager, suppress

import httpx
import uvicorn

import localdp as ldp
from localdp.collector.requests import requested_plan
from localdp.collector.server import bound, config
from localdp.collector.service import Service
from localdp.collector.settings import Settings
from localdp.collector.storage import tokens
from localdp.collector.tokens import digest_of, new_token

ITEMS = ["tea", "coffee", "water", "milk"]
PATIENCE = 60.0
"""Seconds after which a test gives up waiting: far more than a busy machine needs, so that timing decides nothing."""


def new_client(**options):
    """A client that does not read the certificates of the system, which takes longer than a whole test."""
    return httpx.Client(timeout=PATIENCE, verify=False, **options)  # noqa: S501 (it speaks to this machine only)


class Running:
    """A collector that runs: `client` sends requests to it, `tokens` has one token of each scope."""

    def __init__(self, service, port):
        self.service, self.port = service, port
        self.url = f"http://127.0.0.1:{port}"
        self.client = new_client(base_url=self.url)
        self.tokens = {scope: self._token(scope) for scope in ("write", "read", "admin")}

    def _token(self, scope):
        token = new_token()
        self.service.writer.run(lambda session: tokens.add(session, digest_of(token), scope, scope, None, 0))
        self.service.tokens.forget()
        return token

    def bearer(self, scope):
        return {"Authorization": f"Bearer {self.tokens[scope]}"}

    def ask(self, method, path, scope="admin", **options):
        headers = {**self.bearer(scope), **options.pop("headers", {})}
        return self.client.request(method, path, headers=headers, **options)

    def collection(self, **asked):
        """A new collection: its plan."""
        answer = self.ask(
            "POST", "/v1/plans", json={"items": ITEMS, "mechanism": "grr", "epsilon": 2.0, "minimum": 1, **asked}
        )
        assert answer.status_code == 201, answer.text
        return ldp.Plan.from_json(self.client.get(f"/v1/plans/{answer.json()['fingerprint']}/document").content)

    def created_long_ago(self, **asked):
        """A collection that was created in 1970, so that it may have ended since: its plan."""
        body = {"items": ITEMS, "mechanism": "grr", "epsilon": 2.0, "minimum": 1, **asked}
        plan, terms = requested_plan(body, Settings())
        assert self.service.writer.run(lambda session: self.service.collections.add(session, plan, terms, 0))
        return plan

    def upload(self, plan, body, upload_id=None, **headers):
        name = secrets.token_hex(16) if upload_id is None else upload_id
        headers = {"Upload-Id": name, **headers}
        return self.client.post(f"/v1/plans/{plan.fingerprint}/reports", content=body, headers=headers)

    def answer_to_endless(self, beginning, more):
        """Send the beginning, and then more of it again and again until there is an answer: b"" if none comes."""
        until = time.monotonic() + PATIENCE
        with self.connection() as connection:
            connection.sendall(beginning)
            while time.monotonic() < until:
                with suppress(ConnectionError):  # the answer may have come, and the end behind it, since the last look
                    connection.sendall(more)
                if select.select([connection], [], [], 0.02)[0]:
                    return connection.recv(65_536)
        return b""

    def connection(self):
        """A new connection, for bytes that no client would send."""
        return socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)

    def let_go(self):
        """Wait until no body of a request is held any more."""
        until = time.monotonic() + PATIENCE
        while self.service.memory.taken and time.monotonic() < until:
            time.sleep(0.01)
        assert self.service.memory.taken == 0

    def fold(self, plan):
        """Count what waits, now."""
        found = self.service.collections.find(plan.fingerprint)
        assert self.service.folder.fold_all(found, time.monotonic() + PATIENCE)

    def state(self, plan):
        return self.ask("GET", f"/v1/plans/{plan.fingerprint}").json()


@contextmanager
def running(database, **settings):
    """Start a collector on this database (a URL, or one that is open), and stop it whatever happens."""
    opened = database if not isinstance(database, str | os.PathLike) else None
    url = "given" if opened is not None else os.fspath(database)
    service = Service(Settings(database=url, **{"fold_every": 0.05, "rate": 0.0, **settings}), opened)
    listening = bound("127.0.0.1", 0)
    server = uvicorn.Server(config(service))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    try:
        while not server.started:
            assert thread.is_alive(), "the server did not start"
            time.sleep(0.005)
        collector = Running(service, listening.getsockname()[1])
        with collector.client:
            yield collector
    finally:
        server.should_exit = True
        thread.join(PATIENCE)
        listening.close()
