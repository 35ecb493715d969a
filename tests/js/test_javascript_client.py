"""The JavaScript client in Node: its own tests, and that its device is the device that the Python client would be."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from paths import ROOT

import localdp as ldp
from localdp.client.permanent import permanent_response
from localdp.client.record import Record
from localdp.client.secret import Secret

NODE = shutil.which("node")
JS = ROOT / "js"
PLAN = ldp.Plan(["tea", "coffee", "wäter"], "grr", 1.0)  # that of js/testing/helpers.js

pytestmark = pytest.mark.skipif(NODE is None, reason="Node is not installed")


def _node(*arguments):
    command = [NODE, *map(str, arguments)]
    return subprocess.run(command, cwd=JS, capture_output=True, text=True, timeout=300, check=False)  # noqa: S603


OTHERS = [
    "client",
    "once",
    "outbox",
    "sets",
    "studies",
    "documents",
    "wording",
]  # not those that tests/js/test_javascript_core.py runs


@pytest.mark.parametrize("name", [*OTHERS, pytest.param("node_store", marks=pytest.mark.slow)])
def test_the_tests_of_the_client_pass_in_node(name):
    done = _node("--test", f"test/{name}.test.js")
    assert done.returncode == 0, done.stdout[-5_000:] + done.stderr[-5_000:]
    assert "# fail 0" in done.stdout


def test_every_file_of_tests_is_run():
    elsewhere = {"core", "independence", "vectors"}  # tests/js/test_javascript_core.py
    assert {path.name.removesuffix(".test.js") for path in (JS / "test").glob("*.test.js")} == {
        *OTHERS,
        "node_store",
        *elsewhere,
    }


def test_python_reads_what_a_device_in_javascript_stores_and_makes_the_same_reports(tmp_path):
    done = _node("testing/device_process.js", tmp_path / "store", tmp_path / "log", 0, "tea", "wäter", "tea")
    assert done.returncode == 0, done.stderr
    newest = max((tmp_path / "store").glob("device.*"), key=lambda path: int(path.suffix[1:]))
    record = Record.from_bytes(newest.read_bytes())
    assert record.generation == len(record.paid) == 2
    assert set(record.paid.values()) == {PLAN.mechanism.epsilon}
    secret = Secret(record.secret, PLAN.fingerprint)
    lines = [line.split(" ") for line in (tmp_path / "log").read_text("utf-8").splitlines()[:-1]]
    assert [value for value, _ in lines] == ["tea", "wäter", "tea"]
    for value, report in lines:
        message = PLAN.domain.index(value).to_bytes(8, "little")
        expected = permanent_response(PLAN.mechanism, (PLAN.domain.index(value),), secret.key(message))
        body = bytes(map(int, report.split(",")))
        assert PLAN.read(body).rows.tobytes() == expected
        assert secret.digest(message) in record.paid
