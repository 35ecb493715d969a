"""What is sent to a collector that will be killed: uploads from eight threads, and the work of an operator."""

from __future__ import annotations

import http.client
import json
import random
import secrets
import threading
import time
from collections import defaultdict
from contextlib import closing, suppress
from typing import Any

import numpy as np

import localdp as ldp
from localdp.collector.storage import uploads
from localdp.discovery.rounds import Round

PLAN = ldp.Plan(["tea", "coffee", "water"], "grr", 1.0)
FINGERPRINT = bytes.fromhex(PLAN.fingerprint)
THREADS = 8
ASKED = {"bits": 10, "epsilon": 6.0, "users": 600, "top": 2, "rounds": 2}


class Traffic:
    """What was sent: which uploads were acknowledged, and which were sent without hearing an answer."""

    def __init__(self, seed: int, token: str) -> None:
        self.random = random.Random(seed)  # noqa: S311 (not for privacy)
        self.token = token
        self.acknowledged: dict[bytes, int] = {}
        self.in_doubt: dict[bytes, tuple[str, bytes, bytes]] = {}
        self.bodies: dict[bytes, tuple[ldp.Plan, bytes]] = {}
        self.done = defaultdict[str, int](int)
        self.wrong: list[str] = []
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._discovery = 0

    def next(self) -> tuple[bytes, bytes, str, bytes]:
        """An upload to send, with its id, key and path: a new one, or now and then one that was sent before."""
        with self._lock:
            if self.in_doubt and self.random.random() < 0.3:
                key, (path, name, body) = self.in_doubt.popitem()
                return name, key, path, body
            reports = self.random.choice((1, 1, 1, 20))
        name, body = secrets.token_bytes(16), PLAN.privatize(["tea"] * reports).to_bytes()
        return name, uploads.key_of(FINGERPRINT, name), f"/v1/plans/{PLAN.fingerprint}/reports", body

    def send(self, port: int) -> None:
        """Send uploads, one after the other, until the collector is gone."""
        with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=10)) as connection:
            while not self._stopped.is_set() and self._sent(connection, *self.next()):
                pass

    def _sent(
        self,
        connection: http.client.HTTPConnection,
        name: bytes,
        key: bytes,
        path: str,
        body: bytes,
        plan: ldp.Plan = PLAN,
    ) -> bool:
        """Send an upload and note what was answered; False if the collector is gone."""
        with self._lock:
            self.bodies.setdefault(key, (plan, body))
        try:
            connection.request("POST", path, body, {"Upload-Id": name.hex()})
            answer = connection.getresponse()
            answer.read()
        except (OSError, http.client.HTTPException):
            with self._lock:
                self.in_doubt[key] = (path, name, body)
            return False
        with self._lock:
            if answer.status in (200, 201):
                self.acknowledged[key] = int.from_bytes(body[20:24], "little")
            elif answer.status != 409 or "/rounds/" not in path:  # the round may be over when it comes again
                self.wrong.append(f"an upload was answered with {answer.status}")
                return False
        return True

    def operate(self, port: int) -> None:
        """Import, take back and in, ask, and end rounds, until the collector is gone."""
        with (
            closing(http.client.HTTPConnection("127.0.0.1", port, timeout=30)) as connection,
            suppress(OSError, http.client.HTTPException),
        ):
            while not self._stopped.is_set():
                steps = (self._import, self._take, self._take, self._ask, self._end_round, self._end_round)
                self.random.choice(steps)(connection)

    def _call(
        self, connection: http.client.HTTPConnection, method: str, path: str, body: Any = None, **headers: str
    ) -> Any:
        given = {"Authorization": f"Bearer {self.token}", **headers}
        connection.request(method, path, body if isinstance(body, bytes) else json.dumps(body).encode(), given)
        answer = connection.getresponse()
        content = answer.read()
        if answer.status >= 500 or answer.status == 422:
            self.wrong.append(f"{method} {path} was answered with {answer.status}: {content[:200]!r}")
        if answer.status < 300:
            self.done[f"{method} {path.rpartition('/')[2].partition('?')[0]}"] += 1
        return json.loads(content) if answer.status < 300 and content else None

    def _import(self, connection: http.client.HTTPConnection) -> None:
        name, body = secrets.token_bytes(16), PLAN.simulate([5, 3, 2]).to_bytes()
        key = uploads.key_of(FINGERPRINT, name)
        with self._lock:
            self.bodies[key] = (PLAN, body)
        path = f"/v1/plans/{PLAN.fingerprint}/aggregates"
        if self._call(connection, "POST", path, body, **{"Upload-Id": name.hex()}) is not None:
            with self._lock:
                self.acknowledged[key] = 10

    def _take(self, connection: http.client.HTTPConnection) -> None:
        path = f"/v1/plans/{PLAN.fingerprint}/uploads"
        which, way = self.random.choice((("counted", "back"), ("taken-back", "in"), ("suspect", "in")))
        after = self.random.randrange(max(1, len(self.acknowledged)))
        found = self._call(
            connection, "GET", f"{path}?standing={which}&most=1&after={after if which == 'counted' else 0}", b""
        )
        chosen = [one["upload"] for one in found["uploads"]] if found else []
        if chosen:
            self._call(connection, "POST", path, {"take": way, "uploads": chosen})

    def _ask(self, connection: http.client.HTTPConnection) -> None:
        self._call(connection, "GET", f"/v1/plans/{PLAN.fingerprint}/estimates", b"")

    def _end_round(self, connection: http.client.HTTPConnection) -> None:
        made = self._call(connection, "POST", "/v1/discoveries", {**ASKED, "name": str(self._discovery)})
        if made is None:
            return
        if made["state"] == "done":
            self._discovery += 1
            return
        path = f"/v1/discoveries/{made['fingerprint']}"
        connection.request("GET", f"{path}/round")
        answer = connection.getresponse()
        content = answer.read()
        if answer.status != 200:
            return
        asked = Round.from_json(content)
        if made["round"]["reports"] < made["round"]["needed"]:
            values = np.random.default_rng().integers(0, 1 << 10, 200)
            code = ldp.Discovery(bits=10, epsilon=6.0, users=600).code
            body = asked.plan.privatize_indices(asked.candidates.indices(code.encode(values))).to_bytes()
            name = secrets.token_bytes(16)
            key = uploads.key_of(bytes.fromhex(asked.fingerprint), name)
            self._sent(connection, name, key, f"{path}/rounds/{asked.fingerprint}/reports", body, asked.plan)
        else:
            self._call(connection, "POST", f"{path}/advance?round={asked.number}", b"")

    def until_killed(self, process: Any, port: int, seconds: float, operate: bool) -> None:
        """Send from all threads, and kill the process some time after its first answer."""
        threads = [threading.Thread(target=self.send, args=(port,)) for _ in range(THREADS)]
        threads += [threading.Thread(target=self.operate, args=(port,))] if operate else []
        before, patience = len(self.acknowledged), time.monotonic() + 20
        for thread in threads:
            thread.start()
        while len(self.acknowledged) == before and time.monotonic() < patience:
            time.sleep(0.005)  # the collector is still starting
        time.sleep(seconds)
        process.kill()
        process.join()
        for thread in threads:
            thread.join()
