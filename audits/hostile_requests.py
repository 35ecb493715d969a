"""Send damaged uploads and invented requests to a collector: every answer is foreseen, and none is a mistake of ours.

python audits/hostile_requests.py                 100,000 damaged bodies, then requests from the OpenAPI document
python audits/hostile_requests.py --bodies 5000 --examples 20
python audits/hostile_requests.py --bodies 0 --examples 0      the seven attacks of `attacks.py` alone

A damaged body must be taken exactly if `Plan.read` takes it, and otherwise be refused with the code that `Plan.read`
gives. Requests from the OpenAPI document (by schemathesis) must be answered as the document says, never with 500. At
the end the aggregates must equal a recount of what is stored, and the memory of the collector must not have grown much.
"""

from __future__ import annotations

import argparse
import http.client
import json
import multiprocessing
import os
import re
import secrets
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

import localdp as ldp
from localdp.collector.collections import Collections, Terms
from localdp.collector.storage import open_database, tokens
from localdp.collector.tokens import digest_of, new_token
from localdp.errors import WireError

sys.path.insert(0, str(Path(__file__).resolve().parent))

ITEMS = ["tea", "coffee", "water", "milk"]
PLANS = tuple(ldp.Plan(ITEMS, name, 1.25) for name in ("grr", "oue", "ss", "llh"))
THREADS = 4
MOST_GROWTH = 64.0
"""MiB by which the memory of the collector may grow while damaged bodies come in."""


def damaged(plan: ldp.Plan, rng: np.random.Generator) -> bytes:
    """A batch of some reports with one to three changes."""
    reports = plan.privatize_indices(rng.integers(0, plan.domain.size, rng.integers(1, 4)))
    body = bytearray(reports.to_bytes() if rng.random() < 0.8 else reports.to_json().encode())
    for _ in range(rng.integers(1, 4)):
        place, what = int(rng.integers(0, len(body) + 1)), rng.integers(0, 4)
        if what == 0 and place < len(body):
            body[place] ^= 1 << int(rng.integers(0, 8))
        elif what == 1:
            del body[place : place + int(rng.integers(1, 9))]
        elif what == 2:
            body[place:place] = rng.bytes(int(rng.integers(1, 9)))
        else:
            body[place:] = body[place : place + 1] * int(rng.integers(0, 50))
    return bytes(body)


def expected(plan: ldp.Plan, body: bytes) -> str | None:
    """The code with which a body must be refused; None if it must be taken."""
    try:
        plan.read(body)
    except WireError as error:
        return error.code.value
    return None


def finding(status: int, content: bytes, code: str | None) -> str | None:
    """What is wrong with an answer; None if nothing is."""
    said = json.loads(content).get("code")
    right = status == 201 if code is None else status in (400, 422)
    return None if right and said == code else f"answered with {status} {said}, and should be {code or 201}"


def send_bodies(port: int, seed: int, number: int, wrong: list[str]) -> None:
    """Send damaged bodies over one connection."""
    rng = np.random.default_rng(seed)
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    for case in range(number):
        plan = PLANS[case % len(PLANS)]
        body = damaged(plan, rng)
        connection.request("POST", f"/v1/plans/{plan.fingerprint}/reports", body, {"Upload-Id": secrets.token_hex(16)})
        answer = connection.getresponse()
        found = finding(answer.status, answer.read(), expected(plan, body))
        if found:
            wrong.append(f"seed {seed}, case {case}: {found}")


def memory(pid: int) -> float:
    """The memory of a process, in MiB."""
    found = re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    return int(found[1]) / 1024 if found else 0.0


def schemathesis(port: int, token: str, examples: int, folder: Path) -> int:
    """Invented requests from the OpenAPI document; the exit code of schemathesis.

    The document is told which plans and discoveries there are, so that not every answer is 404. Nothing is closed or
    revoked, so that not every answer is 409 or 401. One check is left out: that whatever fits the document is accepted.
    A document cannot say that `to` is not before `from`, that `item` and `top` exclude each other, or what a batch is.
    """
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request("GET", "/openapi.json")
    document = json.loads(connection.getresponse().read())
    headers = {"Authorization": f"Bearer {token}"}
    asked = json.dumps({"bits": 16, "epsilon": 4, "users": 2_000}).encode()
    connection.request("POST", "/v1/discoveries", asked, headers)
    made = json.loads(connection.getresponse().read())
    known = {
        "plan": [plan.fingerprint for plan in PLANS],
        "discovery": [made["fingerprint"]],
        "round": [made["round"]["fingerprint"]],
    }
    for path in document["paths"].values():
        for operation in path.values():
            for parameter in operation["parameters"]:
                if parameter["name"] in known and parameter["in"] == "path":
                    parameter["schema"] = {"enum": [*known[parameter["name"]], "0" * 16]}
    described = folder / "openapi.json"
    described.write_text(json.dumps(document))
    command = [
        *(sys.executable, "-m", "schemathesis.cli", "run", str(described), "--url", f"http://127.0.0.1:{port}"),
        *("--max-examples", str(examples), "--seed", "1", "--header", f"Authorization: Bearer {token}"),
        *("--phases", "examples,coverage,fuzzing", "--no-color", "--request-timeout", "60"),
        *("--checks", "all", "--exclude-checks", "positive_data_acceptance"),
        *("--exclude-method", "DELETE", "--exclude-path", "/v1/plans/{plan}/close"),
    ]
    done = subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True)  # noqa: S603
    shown = done.stdout.splitlines() if done.returncode else done.stdout.splitlines()[-4:]
    print("\n".join(f"  {line}" for line in shown[-60:] if line.strip()))
    return done.returncode


def send_hostile_requests(bodies: int = 100_000, examples: int = 100) -> bool:
    """Send all of it to a collector in a process of its own; whether nothing was found."""
    from killed_collectors import serve

    started = time.perf_counter()
    token, wrong = new_token(), list[str]()
    with tempfile.TemporaryDirectory() as folder:
        url = str(Path(folder, "hostile.db"))
        database = open_database(url)
        with database.writing() as session:
            tokens.add(session, digest_of(token), "audit", "admin", None, 1)
            for plan in PLANS:
                Collections(database).add(session, plan, Terms(), 1)
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=serve, args=(url, theirs), daemon=True)
        process.start()
        try:
            port = ours.recv()
            time.sleep(1)
            send_bodies(port, 0, 500, wrong)  # warm up
            before = memory(process.pid or 0)
            each = bodies // THREADS
            threads = [threading.Thread(target=send_bodies, args=(port, n + 1, each, wrong)) for n in range(THREADS)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            grown = memory(process.pid or 0) - before
            if grown > MOST_GROWTH:
                wrong.append(f"the memory grew by {grown:.0f} MiB")
            took = time.perf_counter() - started
            print(f"{bodies:,} damaged bodies in {took:.0f} s, {grown:+.0f} MiB: {len(wrong)} findings", flush=True)
            if examples and schemathesis(port, token, examples, Path(folder)):
                wrong.append("schemathesis found something, as shown above")
        finally:
            process.terminate()
            process.join(30)
        import recount
        from killed_collectors import _count_all

        _count_all(url)
        wrong += recount.differences(database)
        database.close()
    for line in wrong[:20]:
        print(f"  - {line}")
    return not wrong


def attack_all(beginning: str = "") -> bool:
    """Run the attacks whose names begin so; whether all were withstood."""
    from attacks import ATTACKS, attacked

    print(f"the load of the machine is {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors", flush=True)
    wrong = [line for name, attack in ATTACKS if name.startswith(beginning) for line in attacked(name, attack)]
    for line in wrong:
        print(f"  - {line}")
    return not wrong


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bodies", type=int, default=100_000)
    parser.add_argument("--examples", type=int, default=100, help="for each route; 0 leaves them out")
    parser.add_argument("--attacks", default="", help="the beginning of a name: that attack alone; - leaves them out")
    asked = parser.parse_args()
    good = send_hostile_requests(asked.bodies, asked.examples) if asked.bodies or asked.examples else True
    sys.exit(0 if attack_all(asked.attacks) and good else 1)
