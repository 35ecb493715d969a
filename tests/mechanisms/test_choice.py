"""Which mechanism `auto` takes, and the sentence that says why."""

from __future__ import annotations

import inspect
import re

import pytest

import localdp as ldp
from localdp.errors import PlanLimitError
from localdp.mechanisms import MECHANISMS, create
from localdp.mechanisms.choice import LONGEST_REPORT, choose


@pytest.mark.parametrize(("size", "epsilon", "name"), [(2, 1.0, "grr"), (5, 2.0, "grr"), (41_270, 1.0, "llh")])
def test_auto_takes_the_least_variance_with_a_price_on_bytes(size, epsilon, name):
    choice = create("auto", size, epsilon)
    assert choice.mechanism.name == name

    def price(mechanism):
        return mechanism.variance(1) * (1 + mechanism.report_bytes / 1000)

    assert price(choice.mechanism) == min(map(price, choice.candidates))
    variances = [candidate.variance(1) for candidate in choice.candidates]
    assert variances == sorted(variances)
    assert not {"olh", "blh"} & {candidate.name for candidate in choice.candidates}


def test_the_least_noisy_mechanism_is_called_that():
    assert (
        create("auto", 2, 1.0).why == "grr: the least noisy mechanism for 2 items at epsilon 1, with reports of 1 byte"
    )
    assert "with reports of 13 bytes" in create("auto", 100, 2.0).why


def test_another_says_how_much_noisier_and_how_much_smaller_it_is():
    choice = create("auto", 5_000, 4.0)
    assert choice.why == (
        "llh: 0.7% noisier than the best (ss) for 5,000 items at epsilon 4, and its reports are 208 times smaller "
        "(3 bytes, not 625)"
    )
    best = choice.candidates[0]
    assert choice.mechanism.variance(1) / best.variance(1) - 1 == pytest.approx(0.007, abs=0.0005)
    assert best.report_bytes / choice.mechanism.report_bytes == pytest.approx(208, abs=0.5)


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 2.0, 4.0, 8.0])
@pytest.mark.parametrize("size", [2, 3, 5, 16, 50, 300, 5_000, 1_000_000])
def test_every_reason_has_the_same_form(size, epsilon):
    choice = create("auto", size, epsilon)
    assert re.fullmatch(
        rf"{choice.mechanism.name}: .* {size:,} items at epsilon {epsilon:g}, .* bytes?.*(?<!\.)", choice.why
    )
    assert "0.0%" not in choice.why
    assert " 1 times smaller" not in choice.why


def test_of_two_equals_the_first_is_taken():
    one, other = MECHANISMS["oue"], type("Same", (MECHANISMS["oue"],), {"name": "same"})
    assert choose((one, other), 100, 1.0).mechanism.name == "oue"
    assert choose((other, one), 100, 1.0).mechanism.name == "same"


def test_a_mechanism_asked_for_by_name_is_not_compared():
    choice = create("oue", 100, 1.0)
    assert choice.why == "oue was asked for by name"
    assert choice.candidates == (choice.mechanism,)


def test_reports_that_devices_refuse_by_default_are_named_when_the_plan_is_made(tmp_path):
    plan = ldp.Plan(100_000, epsilon=2.0, set_size=4)
    assert plan.mechanism.report_bytes > LONGEST_REPORT
    assert plan.why.endswith(f"unless they are made with most_report_bytes={plan.mechanism.report_bytes}")
    with pytest.raises(PlanLimitError):
        ldp.Client(plan, store=tmp_path)
    ldp.Client(plan, store=tmp_path, most_report_bytes=plan.mechanism.report_bytes)
    assert "most_report_bytes" not in ldp.Plan(100, epsilon=2.0, set_size=4).why
    assert inspect.signature(ldp.Client).parameters["most_report_bytes"].default == LONGEST_REPORT
