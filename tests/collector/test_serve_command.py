"""`localdp serve`, as an operator starts it."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import time
from contextlib import contextmanager

import pytest
from command import COMMAND, localdp
from running import ITEMS, new_client

import localdp as ldp


@contextmanager
def served(folder, *options, **environment):
    """A collector as a process: the client to ask it, and the lines that it printed before it listened."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("LOCALDP_")}
    process = subprocess.Popen(  # noqa: S603
        [COMMAND, "serve", "--port", "0", *options],
        cwd=folder,
        env={**clean, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        lines = []
        for line in process.stdout:
            lines.append(line.strip())
            if line.startswith("listening at "):
                break
        assert lines, process.stderr.read()
        with new_client(base_url=lines[-1].removeprefix("listening at ")) as client:
            yield client, lines[:-1], process
    finally:
        process.terminate()
        process.wait(30)
        process.stdout.close()
        process.stderr.close()


def _ready(client):
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        try:
            return client.get("/readyz").status_code == 200
        except OSError:
            time.sleep(0.05)
    return False


def test_the_first_start_prints_a_token_once_and_everything_is_there_after_a_restart(tmp_path):
    with served(tmp_path) as (client, lines, process):
        line, how = lines
        assert how.startswith("open the address below in a browser and sign in")
        token = re.fullmatch(r"admin token, shown this once: (ldp_[\w-]{43})", line)[1]
        admin = {"Authorization": f"Bearer {token}"}
        made = client.post("/v1/plans", json={"items": ITEMS, "epsilon": 1, "minimum": 4}, headers=admin)
        assert made.status_code == 201
        plan = ldp.Plan.from_json(client.get(made.headers["location"] + "/document").content)
        body, path = plan.privatize(ITEMS).to_bytes(), made.headers["location"] + "/reports"
        assert client.post(path, content=body, headers={"Upload-Id": "ab" * 16}).status_code == 201
        client.post(path, content=b"bad", headers={"Upload-Id": "ab" * 16})
        client.get("/healthz", headers={"Connection": "Upgrade", "Upgrade": "websocket"})
        with socket.create_connection(("127.0.0.1", client.base_url.port), timeout=10) as connection:
            connection.sendall(b"SOMETHING ELSE\r\n\r\n")
            assert connection.recv(1_000).startswith(b"HTTP/1.1 400 ")
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0  # to be told to end is no failure
        said = process.stdout.read() + process.stderr.read()
        assert said == ""  # nobody can fill the log
        assert "127.0.0.1" not in said
        assert "Traceback" not in said
        assert token not in said
    assert (tmp_path / "localdp.db").is_file()
    with served(tmp_path) as (client, lines, _):
        assert lines == []
        assert client.post(path, content=body, headers={"Upload-Id": "ab" * 16}).status_code == 200
        estimates = client.get(made.headers["location"] + "/estimates", headers=admin)
        assert estimates.json()["n"] == 4


def test_the_token_can_be_given(tmp_path):
    given = "chosen-by-the-operator-0123456789"
    with served(tmp_path, LOCALDP_ADMIN_TOKEN=given) as (client, lines, _):
        assert lines == []
        assert client.get("/v1/tokens", headers={"Authorization": f"Bearer {given}"}).status_code == 200


@pytest.mark.parametrize(
    ("options", "environment", "sentence"),
    [
        (("--db", "mysql://x"), {}, "a database is a path"),
        (
            ("--db", "missing/folder/x.db"),
            {},
            "the database at missing/folder/x.db failed: unable to open database file; there is no such folder",
        ),
        (("--host", "256.256.256.256"), {}, "cannot listen at 256.256.256.256"),
        ((), {"LOCALDP_ADMIN_TOKEN": "a" * 31}, "LOCALDP_ADMIN_TOKEN must be at least 32"),
        (("--port", "70000"), {}, "less than or equal to 65535"),
        (("--port", "here"), {}, "it must be a valid integer; see"),
    ],
)
def test_what_cannot_be_served_is_one_line(tmp_path, options, environment, sentence):
    done = localdp("serve", "--port", "0", *options, cwd=tmp_path, environment=environment)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert sentence in done.stderr


def test_a_port_that_is_taken_is_one_line(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = localdp("serve", "--port", taken.getsockname()[1], cwd=tmp_path)
    assert done.returncode == 2
    assert "cannot listen at 127.0.0.1" in done.stderr
