"""Advice for a scale: errors of mean and median before anything is collected."""

import numpy as np
import pytest

import localdp as ldp
from localdp.errors import InvalidInputError


@pytest.mark.parametrize(("scale", "users"), [(ldp.Scale(0, 120, step=5), 10_000), (ldp.Scale(0, 100), 50_000)])
def test_the_error_of_the_mean_is_about_that_of_the_result(scale, users):
    """Within a factor of 2 of the posterior deviation, for people who are spread evenly."""
    advice = ldp.advise(scale, users, epsilon=1.0)
    held = np.full(scale.ordered, users // scale.ordered)
    found = advice.plan().simulate(held, seed=1).estimate().calibrate().mean()
    assert 0.5 < advice.mean_error / ((found.high - found.low) / 3.29) < 2
    assert advice.recommended == "wave"
    assert advice.table().columns["mechanism"][0] == "wave"
    assert "the mean will be known to about" in str(advice)


def test_whole_numbers_are_as_far_apart_as_bins_are_wide():
    """A rating from 1 to 5 has the errors of five bins of one; they were once those of four fifths of it."""
    ratings, bins = (ldp.advise(scale, 300, epsilon=1.0) for scale in (ldp.Scale(1, 5), ldp.Scale(0, 2.5, step=0.5)))
    assert ratings.mean_error == pytest.approx(2 * bins.mean_error)
    assert ratings.median_error == pytest.approx(2 * bins.median_error)


def test_more_people_and_a_larger_epsilon_help():
    scale = ldp.Scale(1, 50)
    few, many, open_ = (ldp.advise(scale, n, epsilon=e) for n, e in ((1_000, 1.0), (100_000, 1.0), (1_000, 4.0)))
    assert many.mean_error < few.mean_error
    assert open_.median_error < few.median_error


def test_advice_for_a_scale_needs_people_and_epsilon():
    for options in ({}, {"epsilon": 1.0, "once": 0.5}):
        with pytest.raises(InvalidInputError, match="needs the number of users and an epsilon"):
            ldp.advise(ldp.Scale(1, 5), 100, **options)


def test_a_mechanism_that_is_better_with_few_people_is_named():
    few, many = (ldp.advise(ldp.Scale(1, 5), users, epsilon=1.0) for users in (300, 100_000))
    assert few.recommended == many.recommended == "grr"
    assert any("With 300, wave is expected to err less" in sentence for sentence in few.why)
    assert len(many.why) == len(few.why) - 1
