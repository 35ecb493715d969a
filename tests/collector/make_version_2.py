"""Write `version2.json`: the rows and the answers of a collector whose tables have version 2, on both databases.

python tests/collector/make_version_2.py

It was run once, with a localdp whose newest tables had version 2 (no localdp after it can write such a database), and
says what is in the file: plans open and closed, uploads counted, waiting and dropped, an imported aggregate, tokens, a
discovery in its second round and one that is done. `test_older_tables.py` brings these rows up to date.
"""

from __future__ import annotations

import base64
import json
import secrets
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from running import running

import localdp as ldp
from localdp.collector.storage import schema
from localdp.discovery.rounds import Round

TABLES = (
    "schema_version",
    "plans",
    "uploads",
    "aggregates",
    "sources",
    "tokens",
    "probes",
    "discoveries",
    "rounds",
)
ASKED = {"bits": 10, "epsilon": 6.0, "users": 600, "top": 2, "rounds": 2}
KEYS = np.random.default_rng(3).choice([1000, 7, *range(100, 120)], 600, p=[0.5, 0.3] + [0.01] * 20)


def fill(collector, made):
    """Send the reports of everybody whom the round under way asks."""
    path = f"/v1/discoveries/{made['fingerprint']}"
    asked = Round.from_json(collector.client.get(f"{path}/round").content)
    code = ldp.Discovery(bits=10, epsilon=6.0, users=600).code
    part = KEYS[int(asked.span.first / 2**20 * 600) : int(asked.span.end / 2**20 * 600)]
    for some in np.array_split(part, 3):
        body = asked.plan.privatize_indices(asked.candidates.indices(code.encode(some))).to_bytes()
        headers = {"Upload-Id": secrets.token_hex(16)}
        collector.client.post(f"{path}/rounds/{asked.fingerprint}/reports", content=body, headers=headers)


def advance(collector, made, number):
    """End a round."""
    answer = collector.ask("POST", f"/v1/discoveries/{made['fingerprint']}/advance?round={number}")
    assert answer.status_code == 200, answer.text


def write(url):
    """The rows, the answers and what was sent."""
    with running(url, keep_days=0) as collector:
        plan = collector.collection(title="Drinks", minimum=20)
        closed = collector.collection(epsilon=1.0, mechanism="oue", title="Closed", write_token=True)
        for reports in (1, 30, 12):
            collector.upload(plan, plan.privatize((["tea"] * 20 + ["milk"] * 10)[:reports]).to_bytes())
        token = collector.ask("POST", "/v1/tokens", json={"scope": "write", "plan": closed.fingerprint}).json()
        collector.upload(closed, closed.privatize(["tea"] * 25).to_bytes(), Authorization=f"Bearer {token['token']}")
        revoked = collector.ask("POST", "/v1/tokens", json={"scope": "read", "name": "gone"}).json()["id"]
        collector.ask("DELETE", f"/v1/tokens/{revoked}")
        made = plan.simulate([40, 10, 5, 5], seed=1)
        headers = {"Upload-Id": "7" * 32}
        path = f"/v1/plans/{plan.fingerprint}/aggregates?day=2026-11-01"
        assert collector.ask("POST", path, content=made.to_bytes(), headers=headers).status_code == 201
        collector.fold(plan)
        collector.fold(closed)
        collector.service.retention._keep_days = 1
        collector.service.retention.drop()  # the imported aggregate is of an old day
        collector.ask("POST", f"/v1/plans/{closed.fingerprint}/close")
        again = {"Upload-Id": "a" * 32}
        collector.client.post(
            f"/v1/plans/{plan.fingerprint}/reports", content=plan.privatize(["tea"]).to_bytes(), headers=again
        )
        collector.fold(plan)
        half = collector.ask("POST", "/v1/discoveries", json={**ASKED, "name": "half"}).json()
        done = collector.ask("POST", "/v1/discoveries", json={**ASKED, "name": "done", "title": "Done"}).json()
        for number in range(done["expected_rounds"]):
            fill(collector, done)
            advance(collector, done, number)
        fill(collector, half)
        advance(collector, half, 0)
        fill(collector, half)
        paths = ["/v1/plans", "/v1/discoveries", "/v1/tokens"]
        for one in (plan, closed):
            paths += [f"/v1/plans/{one.fingerprint}", f"/v1/plans/{one.fingerprint[:16]}/document"]
        paths.append(f"/v1/plans/{plan.fingerprint[:16]}/estimates")
        for one in (half, done):
            paths += [f"/v1/discoveries/{one['fingerprint']}", f"/v1/discoveries/{one['fingerprint']}/document"]
        paths += [f"/v1/discoveries/{half['fingerprint']}/round", f"/v1/discoveries/{done['fingerprint']}/result"]
        answers = {path: collector.ask("GET", path).json() for path in paths}
        tokens = dict(collector.tokens)
    with running(url, fold_every=3600.0) as collector:  # one upload is left for the next collector to count
        time.sleep(0.2)
        collector.upload(plan, plan.privatize(["tea", "milk"]).to_bytes(), "b" * 32)
        tables = {}
        with collector.service.database.reading() as session:
            for table in TABLES:
                tables[table] = [
                    [_written(value) for value in row]
                    for row in session.execute(f"SELECT * FROM {table}")  # noqa: S608
                ]
    return {"tables": tables, "answers": answers, "tokens": tokens}


def _written(value):
    if isinstance(value, bytes | memoryview):
        return {"bytes": base64.b64encode(bytes(value)).decode()}
    return value


if __name__ == "__main__":
    import pgserver

    assert len(schema.STEPS) == 2, "this localdp has newer tables"
    with tempfile.TemporaryDirectory() as folder:
        server = pgserver.get_server(Path(folder, "postgres"))
        try:
            found = {"sqlite": write(f"sqlite:///{folder}/x.db"), "postgresql": write(server.get_uri())}
        finally:
            server.cleanup()
    target = Path(__file__).with_name("version2.json")
    target.write_text(json.dumps(found, indent=0) + "\n")
    print(target, target.stat().st_size, file=sys.stderr)
