"""The statistical audit of reports that the JavaScript client makes in Node, and two faults that it must notice."""

from __future__ import annotations

import pytest
from node_tools import needs_node

from audits import javascript_sets
from audits.javascript import MUTANTS, caught, findings, mutated
from localdp.mechanisms import CHAINS, MECHANISMS

pytestmark = needs_node


@pytest.mark.slow
@pytest.mark.parametrize("name", [*MECHANISMS, *CHAINS])
def test_reports_reveal_what_epsilon_allows_and_follow_the_channel(name):
    """The keys are always the same, so this cannot fail by chance."""
    found = next(findings([name], 100_000))
    assert found.wrong == ""
    assert 0.85 * found.mechanism.requested_once < found.bound <= found.mechanism.epsilon_once


@pytest.mark.parametrize("mutant", [mutant for mutant in MUTANTS if mutant.name in ("true bit kept", "modulo bias")])
def test_faults_are_noticed(mutant):
    assert caught(mutant, 20_000) != ""


@pytest.mark.slow
@pytest.mark.parametrize("name", javascript_sets.NAMES)
def test_reports_of_sets_reveal_what_epsilon_allows_and_follow_the_channel(name):
    """The keys are always the same, so this cannot fail by chance."""
    found = next(javascript_sets.findings([name], 40_000))
    assert found.wrong in ("", "it is over-noised")  # `make audit` makes enough reports for a bound near epsilon
    assert 0.6 * found.mechanism.requested_epsilon < found.bound <= found.mechanism.epsilon


@pytest.mark.parametrize("mutant", javascript_sets.MUTANTS[:2], ids=lambda mutant: mutant.name)
def test_faults_with_sets_are_noticed(mutant):
    assert "do not follow its channel" in javascript_sets.caught(mutant, 20_000)


@pytest.mark.parametrize("mutant", [*MUTANTS, *javascript_sets.MUTANTS], ids=lambda mutant: mutant.name)
def test_every_fault_fits_the_source(mutant):
    with mutated(mutant) as folder:
        assert mutant.after in (folder / "src" / mutant.file).read_text("utf-8")
