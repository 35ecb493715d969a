"""The fuzz of `make audit`, for a few cases of each kind, and proof that it notices a library that misbehaves."""

from __future__ import annotations

import importlib.util
import sys
import time

import numpy as np
import pytest
from paths import ROOT

import localdp as ldp
from localdp import files
from localdp.files import arrow

CASES = 300


@pytest.fixture(scope="module")
def fuzz():
    spec = importlib.util.spec_from_file_location("fuzz", ROOT / "audits" / "fuzz.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


KINDS = ("plans", "binary_batches", "json_batches", "aggregates", "data_files")


def test_the_kinds_are_those_of_the_fuzz(fuzz):
    assert tuple(fuzz.KINDS) == KINDS


@pytest.mark.parametrize("kind", KINDS)
def test_damaged_input_is_refused_in_our_words(fuzz, kind):
    assert list(fuzz.run(kind, 1, range(CASES))) == []


@pytest.mark.parametrize("kind", KINDS)
def test_a_case_is_the_same_every_time(fuzz, kind, tmp_path, monkeypatch):
    seen = []
    damage = fuzz.damaged
    monkeypatch.setattr(fuzz, "damaged", lambda data, rng: seen.append(damage(data, rng)) or seen[-1])
    for _ in range(2):
        for case in range(10):
            fuzz.finding(kind, 3, case, tmp_path)
    assert len(seen) >= 2
    assert seen[: len(seen) // 2] == seen[len(seen) // 2 :]


def _raise(error):
    raise error


def _one_report(plan, _):
    return plan.privatize_indices(np.zeros(1, int))


@pytest.mark.parametrize(
    ("kind", "place", "answer", "sentence"),
    [
        ("plans", (ldp.Plan, "from_json"), lambda _: _raise(OverflowError("too large")), "OverflowError: too large"),
        ("plans", (ldp.Plan, "from_json"), lambda _: ldp.Plan(2, "grr", 1.0), "was read as another plan"),
        ("binary_batches", (ldp.Plan, "read"), _one_report, "another batch"),
        ("json_batches", (ldp.Plan, "read"), _one_report, "another batch"),
        ("aggregates", (ldp.Aggregate, "load"), lambda _: _raise(OSError("bad")), "OSError: bad"),
        ("data_files", (files, "read_reports"), lambda *_: iter(()), "was read as 0 rows, and holds"),
        ("data_files", (files, "indices"), lambda *_: [np.array([99])], "an index is outside the domain"),
    ],
)  # fmt: skip
def test_a_wrong_answer_is_a_finding(fuzz, monkeypatch, kind, place, answer, sentence):
    fuzz.files_to_damage()  # before the library misbehaves
    monkeypatch.setattr(*place, answer)
    found = list(fuzz.run(kind, 1, range(50)))
    assert found
    assert all(line.startswith(f"{kind} 1 ") for line in found)
    assert any(sentence in line for line in found)


def test_a_long_message_or_one_of_two_lines_is_a_finding(fuzz, monkeypatch):
    for message in ("x" * 1_001, "two\nlines"):
        error = ldp.LocalDPError()
        error.args = (message,)  # past the limit of the base class
        monkeypatch.setattr(ldp.Plan, "from_json", lambda _, error=error: _raise(error))
        (found,) = fuzz.run("plans", 1, range(1))
        assert "a message of" in found


def test_a_slow_answer_is_a_finding(fuzz, monkeypatch):
    monkeypatch.setattr(fuzz, "LONGEST_SECONDS", 0.05)
    monkeypatch.setattr(ldp.Plan, "from_json", lambda _: time.sleep(0.1) or _raise(ldp.LocalDPError("no")))
    (found,) = fuzz.run("plans", 1, range(1))
    assert "plans 1 0: took " in found


def test_an_arrow_footer_that_is_believed_is_a_finding(fuzz, monkeypatch):
    """What the library did before: it asked the footer alone which batches there are."""

    def believed(path):
        with arrow._open(path) as file:
            return file.schema

    case = range(649, 650)  # this one makes the footer's list of batches disappear
    assert list(fuzz.run("data_files", 1, case)) == []
    monkeypatch.setattr(arrow, "_checked_schema", believed)
    (found,) = fuzz.run("data_files", 1, case)
    assert "reports.arrow was read as 0 rows, and holds 20" in found


WORKER = """
import os, sys, time
first, stop, status = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
with open(status, "wb", buffering=0) as file:
    for case in range(first, stop):
        os.pwrite(file.fileno(), case.to_bytes(8, "little"), 0)
        if case == 3:
            os.abort()
        if case == 5:
            time.sleep(60)
        if case == 6:
            print("plans 0 6: something", flush=True)
"""


def test_a_process_that_dies_or_hangs_is_a_finding_and_the_rest_is_run(fuzz, monkeypatch):
    def command(_kind, _seed, cases, status):
        return [sys.executable, "-c", WORKER, str(cases.start), str(cases.stop), str(status)]

    monkeypatch.setattr(fuzz, "worker_command", command)
    monkeypatch.setattr(fuzz, "LONGEST_SECONDS", 0.0)
    died, hung, printed = fuzz.supervise("plans", 0, range(9))
    assert died == "plans 0 3: the process died with -6"
    assert hung == "plans 0 5: no answer in 0 s"
    assert printed == "plans 0 6: something"


def test_a_process_that_never_begins_is_a_finding(fuzz, monkeypatch):
    monkeypatch.setattr(fuzz, "worker_command", lambda *_: [sys.executable, "-c", "raise SystemExit(3)"])
    assert fuzz.supervise("plans", 0, range(9)) == ["plans 0: the process ended before its first case"]


def test_cases_run_in_processes_of_their_own(fuzz):
    assert fuzz.supervise("data_files", 2, range(40)) == []
    assert fuzz.supervise("nothing", 2, range(1)) == ["nothing 2 0: KeyError: 'nothing'"]


def test_every_kind_gets_a_line_and_a_finding_fails(fuzz, monkeypatch, capsys):
    monkeypatch.setattr(fuzz, "supervise", lambda *_: [])
    assert fuzz.fuzz(1_000, seed=2)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["Damaged", *KINDS]
    assert all("1,000 cases" in line and line.endswith(" ok") for line in lines[1:])
    monkeypatch.setattr(fuzz, "supervise", lambda kind, seed, cases: [f"{kind} {seed} {cases.start}: x"])
    assert not fuzz.fuzz(1, seed=2)
    assert capsys.readouterr().out.count("1 FINDINGS\n  - ") == len(KINDS)
