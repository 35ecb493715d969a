"""A power cut while the collector writes loses nothing that was acknowledged; the simulation notices what would."""

from __future__ import annotations

import importlib.util

import pytest
from paths import ROOT

pytest.importorskip("apsw", reason="apsw, for the simulated disk, is not installed")
SPEC = importlib.util.spec_from_file_location("power_loss", ROOT / "audits" / "power_loss.py")
program = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(program)


def test_power_cuts_lose_nothing_that_was_acknowledged():
    opened, wrong = program.cut(12, steps=8)
    assert opened >= 40
    assert wrong == []


def test_a_database_that_does_not_wait_for_the_disk_is_caught():
    _, wrong = program.cut(8, steps=8, synchronous="OFF")
    assert any("acknowledged uploads are missing" in line or "damaged" in line for line in wrong)


def test_normal_is_not_enough():
    """With synchronous = NORMAL the log is flushed only now and then: the collector must say FULL."""
    _, wrong = program.cut(12, steps=8, synchronous="NORMAL")
    assert any("acknowledged uploads are missing" in line for line in wrong)
