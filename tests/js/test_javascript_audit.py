"""The statistical audit of reports that the JavaScript client makes in Node, and two faults that it must notice."""

from __future__ import annotations

import pytest
from node_tools import needs_node

from audits import javascript_client, javascript_sets, javascript_studies
from audits.javascript import MUTANTS, NAMES, caught, findings, mutated

pytestmark = needs_node


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
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


@pytest.mark.slow
def test_answers_in_studies_reveal_what_epsilon_allows():
    """The secrets are always the same, so this cannot fail by chance."""
    found = list(javascript_studies.findings(10_000))
    assert {one.kind for one in found} == {"questionnaire", "discovery", "survey"}
    assert {one.wrong for one in found} <= {"", "it is over-noised"}  # `make audit` makes enough reports for a bound
    assert all(0.7 * one.plan.mechanism.requested_epsilon < one.bound for one in found)


@pytest.mark.parametrize("mutant", [javascript_client.MUTANTS[0]], ids=lambda mutant: mutant.name)
def test_faults_in_what_is_stored_are_noticed(mutant):
    assert "Missing expected rejection" in javascript_client.caught(mutant)


ALL = [*MUTANTS, *javascript_sets.MUTANTS, *javascript_client.MUTANTS]


@pytest.mark.parametrize("mutant", ALL, ids=lambda mutant: mutant.name)
def test_every_fault_fits_the_source(mutant):
    with mutated(mutant) as folder:
        assert mutant.after in (folder / "src" / mutant.file).read_text("utf-8")
