"""Advice for people who are asked again and again: two budgets, and chains instead of single mechanisms."""

from __future__ import annotations

import json

import pytest

import localdp as ldp
from localdp.errors import EpsilonError, InvalidInputError
from localdp.mechanisms import CHAINS


def test_all_chains_are_compared_and_the_least_noisy_is_recommended():
    advice = ldp.advise(200, 50_000, epsilon=4.0, once=1.0, like="zipf")
    assert [option.mechanism for option in advice.options] == list(CHAINS)
    assert advice.chosen.standard_error == min(option.standard_error for option in advice.options)
    assert (advice.recommended, advice.epsilon, advice.once) == ("oue+sue", 4.0, 1.0)
    assert advice.plan() == ldp.Plan(200, "oue+sue", 4.0, once=1.0)
    assert "All reports of one person together spend epsilon 4, however many; one report spends 1." in advice.why
    assert json.loads(advice.to_json())["once"] == 1.0


def test_the_curve_is_over_the_budget_of_one_report():
    advice = ldp.advise(200, 50_000, epsilon=4.0, once=1.0, like="zipf")
    assert advice.curve["epsilon"].tolist() == [0.25, 0.5, 1.0, 1.5, 2.0, 3.0]
    assert set(advice.curve["mechanism"]) <= set(CHAINS)
    assert advice.curve["raw"].tolist()[2] == advice.chosen.raw_rms


def test_chains_that_cannot_spend_as_much_are_left_out():
    advice = ldp.advise(200, 50_000, epsilon=2.0, once=1.9, like="zipf")
    assert [option.mechanism for option in advice.options] == ["grr+grr", "oue+sue", "sue+sue"]


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"once": 1.0}, InvalidInputError, "with once, give the users and the epsilon of all reports together"),
        ({"epsilon": 2.0, "once": 1.0, "target_error": "1%"}, InvalidInputError, "and no target"),
        ({"epsilon": 2.0, "once": 3.0}, EpsilonError, "once = 3 must be below epsilon = 2"),
    ],
)
def test_what_does_not_fit_is_refused(given, error, message):
    with pytest.raises(error, match=message):
        ldp.advise(200, 50_000, **given)
