"""A device loads NumPy, and what it needs for HTTP and AES only when it needs it."""

from __future__ import annotations

import subprocess
import sys

import localdp as ldp
from localdp.bench import one_report, timing

HEAVY = {"scipy", "numba", "matplotlib", "pandas", "pyarrow", "typer", "rich", "cryptography", "ssl", "http.client"}
HEAVY |= {"difflib", "html", "random", "secrets", "shutil", "urllib.request"}  # one to five milliseconds each


def test_importing_the_client_loads_nothing_heavy():
    code = "import sys, localdp.client; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()  # noqa: S603
    assert not HEAVY & set(loaded)


def test_the_client_is_a_public_name():
    assert ldp.Client.__module__ == "localdp.client.client"
    assert "Client" in ldp.__all__


def test_one_report_in_a_call_is_measured_for_every_side(monkeypatch):
    monkeypatch.setattr(timing, "TURN_SECONDS", 0.0)
    monkeypatch.setattr(one_report, "CALLS", 2)
    measured = one_report.measure_one_report(rounds=1)
    assert [one.mechanism for one in measured][:2] == ["grr", "llh"]
    for one in measured:
        assert tuple(one.took) == one_report.SIDES
        assert min(one.took.values()) > 0
