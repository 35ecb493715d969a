"""A client that is killed (kill -9) at any point never leaves a store that knows of less than was released."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest
from paths import ROOT

PROGRAM = ROOT / "audits" / "killed_clients.py"
SHARED_MEMORY = Path("/dev/shm")  # noqa: S108

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")


def _run(*arguments, code=""):
    """The program, in a process without other threads; `code` is run before it, to break something."""
    start = f"import sys, runpy; sys.argv = {[str(PROGRAM), *arguments]!r}\n{code}\n"
    line = [sys.executable, "-c", f"{start}runpy.run_path({str(PROGRAM)!r}, run_name='__main__')"]
    memory = {"TMPDIR": str(SHARED_MEMORY)} if SHARED_MEMORY.is_dir() else {}  # outlives a process, and is fast
    environment = {**os.environ, **memory}
    return subprocess.run(line, capture_output=True, text=True, check=False, timeout=300, env=environment)  # noqa: S603


@pytest.mark.slow
def test_two_hundred_kills_lose_no_spending():
    done = _run("--runs", "200")
    assert done.returncode == 0, done.stderr
    assert "200 kills" in done.stdout
    assert "no store lost spending" in done.stdout


@pytest.mark.slow
def test_a_hundred_kills_in_a_study_get_one_answer_from_each_device():
    done = _run("--study", "--runs", "100")
    assert done.returncode == 0, done.stderr
    assert "100 kills" in done.stdout


@pytest.mark.slow
def test_a_client_that_pays_before_it_keeps_its_answer_is_caught():
    """It has paid and has no answer, so it never gives one."""
    broken = """
from localdp.client import budget
pay = budget.Budget.pay
def later(self, digest, epsilon, before=None):
    new = digest not in self._store.read().paid
    pay(self, digest, epsilon)
    if new and before is not None:
        before()
budget.Budget.pay = later
"""
    done = _run("--study", "--runs", "120", code=broken)
    assert done.returncode != 0
    assert "has paid for an answer" in done.stderr


@pytest.mark.slow
def test_a_client_that_releases_before_it_records_is_caught():
    broken = """
from localdp.client import budget
def pay(self, digest, epsilon):
    waiting = self.__dict__.pop("waiting", None)
    if waiting and waiting != digest:
        self._store.change(lambda record: record.with_payment(waiting, epsilon))
    self.waiting = digest
budget.Budget.pay = pay
"""
    done = _run("--runs", "60", code=broken)
    assert done.returncode != 0
    assert "values were released" in done.stderr


def test_the_program_counts_what_a_client_releases(tmp_path):
    spec = importlib.util.spec_from_file_location("killed_clients", PROGRAM)
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    released = []
    program.use(tmp_path, lambda what, data: released.append((what, data)))
    assert [what for what, _ in released] == [*program.VALUES, program.SENT]
    program.check(tmp_path, released)
    with pytest.raises(AssertionError, match="another permanent response for tea"):
        program.check(tmp_path, [("tea", b"something else")])
    with pytest.raises(AssertionError, match="and 4 values were released"):
        program.check(tmp_path, [*released, ("milk", b"")])
