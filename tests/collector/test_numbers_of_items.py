"""The numbers that answers give for every item, and the curve beside the histogram of estimates."""

from __future__ import annotations

import numpy as np
import pytest

import localdp as ldp
from localdp.collector.answers.fitted import NUMBERS, fit
from localdp.collector.answers.prior import answer_prior
from localdp.collector.answers.progress import ProgressAnswer
from localdp.collector.answers.rendering import for_spreadsheets, without_apostrophe
from localdp.table import Table

COUNTS = [4_000, 2_500, 1_500, 900, 600, 300, 150, 50]


@pytest.fixture(scope="module")
def fitted():
    return fit(ldp.Plan(8, epsilon=2.0).simulate(COUNTS, seed=4))


def test_every_column_is_what_its_name_says(fitted):
    numbers = fitted.numbers(0.8)
    low, high = fitted.calibrated.interval(0.8)
    assert tuple(numbers) == NUMBERS
    assert np.allclose(numbers["raw"], fitted.estimate.frequencies, atol=6e-4)
    assert np.allclose(numbers["raw_std_error"], fitted.estimate.std_error_at(fitted.estimate.frequencies), atol=6e-4)
    assert np.allclose(numbers["frequency"], fitted.calibrated.frequencies, atol=6e-4)
    assert np.array_equal(numbers["low"], low)
    assert np.array_equal(numbers["high"], high)
    for share, column in (("share", "frequency"), ("share_low", "low"), ("share_high", "high")):
        assert np.allclose(numbers[share] * 10_000, numbers[column], atol=1.1e-3)
    assert (numbers["share_low"] < numbers["share_high"]).all()


def test_chosen_items_have_the_numbers_that_they_have_among_all(fitted):
    places = np.array([5, 0])
    every, some = fitted.numbers(0.9), fitted.numbers(0.9, places)
    assert all(np.array_equal(some[name], every[name][places]) for name in NUMBERS)


@pytest.mark.parametrize("epsilon", [0.5, 4.0])
def test_the_curve_has_as_many_items_as_the_histogram(epsilon):
    """Under the right prior the curve misses the items beyond its ends and the error of 48 middles: below a tenth."""
    rng = np.random.default_rng(9)
    truth = rng.multinomial(200_000, rng.dirichlet(np.full(2_000, 2.0)))
    answer = answer_prior(fit(ldp.Plan(2_000, epsilon=epsilon).simulate(truth, seed=2)))
    assert sum(answer["items"]) + answer["beyond"] == 2_000
    assert sum(answer["expected"]) == pytest.approx(sum(answer["items"]), rel=0.1)


@pytest.mark.parametrize("text", ["=1+1", "+2", "-3", "@a"])
def test_an_apostrophe_is_put_before_formulas_and_taken_away_again(text):
    (written,) = for_spreadsheets(Table({"item": [text]}), ()).columns["item"]
    assert written == f"'{text}"
    assert without_apostrophe(written) == text
    assert without_apostrophe("'s morgens") == "'s morgens"


def test_progress_names_the_reports_that_are_missing_even_without_a_minimum():
    plan = ldp.Plan(8, epsilon=2.0)
    assert ProgressAnswer(plan, 0, minimum=0).sentences[0].startswith("1 more report is needed")
    assert "needed" not in ProgressAnswer(plan, 1, minimum=1).sentences[0]
    assert ProgressAnswer(plan, 40, minimum=50).sentences[0].startswith("10 more reports are needed")
