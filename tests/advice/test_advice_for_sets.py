"""Advice for people who hold sets: padding and sampling beside PrivSet, by variance."""

from __future__ import annotations

import json

import pytest

import localdp as ldp
from localdp.errors import InvalidInputError


def test_the_mechanisms_for_sets_are_compared_and_the_best_is_recommended():
    advice = ldp.advise(2_000, 50_000, epsilon=2.0, set_size=4, like="zipf")
    assert {"llh", "grr", "privset"} < {option.mechanism for option in advice.options}
    assert advice.recommended == "privset"
    assert advice.chosen.standard_error == min(option.standard_error for option in advice.options)
    assert advice.plan() == ldp.Plan(2_000, "privset", 2.0, set_size=4)
    assert advice.plan().mechanism.variance(50_000) ** 0.5 == pytest.approx(advice.chosen.standard_error)
    assert json.loads(advice.to_json())["set_size"] == 4
    assert any("if nobody holds more than 4 items" in sentence for sentence in advice.why)
    assert "privset" in str(advice)


def test_few_items_are_best_by_amplified_response():
    assert ldp.advise(10, 50_000, epsilon=2.0, set_size=3, like="zipf").recommended == "grr"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"set_size": 4}, "with set_size, give the users and the epsilon"),
        ({"set_size": 4, "epsilon": 1.0, "once": 0.5}, "set_size goes neither with once"),
        ({"set_size": 0, "epsilon": 1.0}, "set_size, the number of items that a user may hold"),
    ],
)
def test_what_does_not_fit_is_refused(given, message):
    with pytest.raises(InvalidInputError, match=message):
        ldp.advise(200, 50_000, **given)
