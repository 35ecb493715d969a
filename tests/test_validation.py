"""Every check of user input: what it accepts and as what, what it refuses, and with which sentence."""

from __future__ import annotations

import math
import re
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from localdp import validation
from localdp.errors import (
    DomainError,
    EmptyError,
    EpsilonError,
    FrequencyError,
    ImpureMechanismError,
    InvalidInputError,
    SeedError,
)

HUGE = 10**400
UNPRINTABLE = 10**5000
THOUSANDS_OF_DIGITS = pytest.param(UNPRINTABLE, id="thousands of digits")
WHOLE = [3, np.int64(3), np.int8(3), np.uint8(3), np.uint64(3)]
HALVES = [0.5, np.float64(0.5), np.float32(0.5), Fraction(1, 2)]
TRUTHS = [True, False, np.True_, np.False_]
NOT_NUMBERS = ["x", "3x", "", None, [3], (3,), {}, b"x", 1j, object()]
NOT_WHOLE = [
    3.0,
    0.5,
    np.float64(3),
    math.nan,
    math.inf,
    -math.inf,
    Fraction(3),
    Decimal(3),
    "3",
    *NOT_NUMBERS,
    *TRUTHS,
]


def the_top_k(k):
    return validation.checked_amount(k, 5, "the top k")


def a_threshold_share(text):
    return validation.share_of(text, "a threshold")


def refuse(check, value, error, sentence):
    """The check raises exactly this class of error, in one line with this sentence."""
    with pytest.raises(error, match=re.escape(sentence)) as caught:
        check(value)
    assert type(caught.value) is error
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize(
    ("check", "error", "sentence", "too_small", "too_large"),
    [
        (
            validation.checked_size,
            DomainError,
            "a mechanism needs a whole number of items from 2 to 2^32, not ",
            [1, 0, -1, -HUGE],
            [2**32 + 1, HUGE, UNPRINTABLE],
        ),
        (
            validation.checked_seed,
            SeedError,
            "a seed is a whole number of at least 0, not ",
            [-1, np.int8(-1), -HUGE, -UNPRINTABLE],
            [],
        ),
        (
            the_top_k,
            InvalidInputError,
            "the top k must be a whole number from 1 to 5, not ",
            [0, -1, -HUGE],
            [6, np.int64(6), HUGE, UNPRINTABLE],
        ),
        (validation.checked_users, InvalidInputError, "n is the number of users, ", [-1, -HUGE], [2**53, UNPRINTABLE]),
    ],
)
def test_whole_numbers_become_ints_and_nothing_else_does(check, error, sentence, too_small, too_large):
    for value in WHOLE:
        assert check(value) == 3
        assert type(check(value)) is int
    for value in [*NOT_WHOLE, *too_small, *too_large]:
        refuse(check, value, error, sentence)


def test_whole_numbers_at_the_limits():
    assert validation.checked_size(2) == 2
    assert validation.checked_size(2**32) == 2**32
    assert validation.checked_seed(0) == 0
    assert validation.checked_seed(HUGE) == HUGE
    assert (the_top_k(1), the_top_k(5)) == (1, 5)
    assert validation.checked_users(1) == 1
    assert validation.checked_users(2**53 - 1) == 2**53 - 1
    assert validation.checked_users(0, least=0) == 0
    refuse(validation.checked_users, 0, EmptyError, "there are no users (n = 0)")
    refuse(validation.checked_users, 2**53, InvalidInputError, "at most 2^53, and cannot be 9007199254740992")


@pytest.mark.parametrize("value", [*WHOLE, 3.0, np.float32(3), np.float64(3), Fraction(3)])
def test_epsilon_becomes_a_float(value):
    assert validation.checked_epsilon(value) == 3
    assert type(validation.checked_epsilon(value)) is float


def test_epsilon_is_rounded_toward_more_privacy():
    third = validation.checked_epsilon(Fraction(1, 3))
    assert third <= Fraction(1, 3) < math.nextafter(third, 1)
    above = Fraction(0.1) - Fraction(1, 2**80)  # the nearest float is 0.1 itself, which would be too much
    assert validation.checked_epsilon(above) == math.nextafter(0.1, 0)
    assert validation.checked_epsilon(16) == validation.checked_epsilon(16.0) == 16
    assert validation.checked_epsilon(5e-324) == 5e-324


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        *[
            (value, "epsilon must be a number above 0 and at most 16, such as 1.0 (an int or a float), not ")
            for value in [*NOT_NUMBERS, *TRUTHS, "3"]
        ],
        (Decimal(3), "not Decimal('3'); `localdp.advise` helps to choose one"),
        (math.nan, "not nan: it must be finite"),
        (math.inf, "not inf: it must be finite"),
        (-math.inf, "not -inf: it must be finite"),
        (HUGE, "not 1000"),
        (-HUGE, "not -1000"),
        pytest.param(UNPRINTABLE, "not a number of thousands of digits: it must be finite", id="thousands of digits"),
        (0, "not 0.0: a report would say nothing"),
        (-0.5, "not -0.5: a report would say nothing"),
        (Fraction(1, 10**400), "not 0.0: a report would say nothing"),
        (16.000000000000004, "a larger one would hide next to nothing"),
        (np.int64(17), "not 17.0: a larger one would hide next to nothing"),
    ],
)
def test_what_is_not_an_epsilon_is_refused(value, sentence):
    refuse(validation.checked_epsilon, value, EpsilonError, sentence)


@pytest.mark.parametrize("check", [validation.checked_level, a_threshold_share, validation.checked_threshold])
@pytest.mark.parametrize("value", HALVES)
def test_real_numbers_become_floats(check, value):
    assert check(value) == 0.5
    assert type(check(value)) is float


@pytest.mark.parametrize(
    "value", [0, 1, 0.0, 1.0, -0.5, 1.5, math.nan, math.inf, HUGE, -HUGE, "0.5", Decimal("0.5"), *NOT_NUMBERS, *TRUTHS]
)
def test_what_is_not_a_level_is_refused(value):
    refuse(validation.checked_level, value, InvalidInputError, "a level is a probability between 0 and 1, not ")
    with pytest.raises(InvalidInputError, match=r"^beta is a probability between 0 and 1, not "):
        validation.checked_level(value, "beta")


@pytest.mark.parametrize(("given", "said"), [(90, "not 90: write 0.9 for 90%"), (1, "not 1"), (-90, "not -90")])
def test_a_level_in_per_cent_is_said_as_a_probability(given, said):
    with pytest.raises(InvalidInputError, match=f"{said}$"):
        validation.checked_level(given)


@pytest.mark.parametrize("value", [*NOT_NUMBERS, *TRUTHS, math.nan, "3", Decimal(3), HUGE, THOUSANDS_OF_DIGITS])
def test_what_is_not_a_threshold_is_refused(value):
    refuse(validation.checked_threshold, value, InvalidInputError, "a threshold is a number of users, not ")


def test_a_threshold_may_be_any_number_of_users():
    for value in (-5, 0, 2.5, math.inf, -math.inf):
        assert validation.checked_threshold(value) == value


@pytest.mark.parametrize(
    ("given", "share"),
    [("0.5%", 0.005), (" 50% ", 0.5), ("100%", 1), ("0", 0), ("0.25", 0.25), (0, 0), (1, 1), (Decimal("0.5"), 0.5)],
)
def test_shares_are_numbers_or_percentages(given, share):
    assert a_threshold_share(given) == share


@pytest.mark.parametrize(
    "value",
    [
        "101%",
        "-1%",
        "1.5",
        "%",
        "nan",
        "nan%",
        1.5,
        -0.1,
        3,
        math.nan,
        math.inf,
        HUGE,
        THOUSANDS_OF_DIGITS,
        *NOT_NUMBERS,
        *TRUTHS,
    ],
)
def test_what_is_not_a_share_is_refused(value):
    sentence = "a threshold is a share of the users, such as '10%' or 0.1 (1 user in 10), not "
    refuse(a_threshold_share, value, InvalidInputError, sentence)


@pytest.mark.parametrize("value", [10, 10.0, "10"])
def test_a_share_above_1_without_a_percent_sign_gets_one_suggested(value):
    refuse(a_threshold_share, value, InvalidInputError, f"not {value!r}; for 10 percent write '10%'")


@pytest.mark.parametrize(
    ("users", "sentence"),
    [
        (0.1, "not 0.1; for a share of the users write '10%' (1 user in 10) or '0.1%' (1 user in 1,000)"),
        (0.003, "not 0.003; for a share of the users write '0.3%' (3 users in 1,000) or '0.003%' (3 users in 100,000)"),
        (0.0, "at least 1, not 0"),
        (-5.0, "at least 1, not -5"),
    ],
)
def test_a_threshold_below_one_user_is_refused_with_both_readings_as_a_share(users, sentence):
    refuse(validation.checked_limit, users, InvalidInputError, sentence)
    assert validation.checked_limit(1.0) == 1


@pytest.mark.parametrize(
    "value", [3, np.int64(3), np.uint8(3), 3.0, np.float32(3), Fraction(3), Decimal(3), np.array(3)]
)
def test_variances_become_floats(value):
    for check in (validation.checked_variance, validation.checked_excess_variance):
        assert check(value) == 3
        assert type(check(value)) is float


def test_variances_at_their_limits():
    assert validation.checked_variance(0) == 0
    assert validation.checked_variance(math.inf) == math.inf
    assert validation.checked_excess_variance(-2.5) == -2.5
    for value in (-1, math.nan, -math.inf, Decimal("nan")):
        refuse(validation.checked_variance, value, InvalidInputError, "a variance is at least 0, not ")
    for value in (math.nan, math.inf, -math.inf):
        refuse(validation.checked_excess_variance, value, InvalidInputError, "excess_variance must be finite, not ")
    no_variance = "an estimate needs its variance, and None was given; mechanisms that are not pure have no single"
    refuse(validation.checked_variance, None, ImpureMechanismError, no_variance)


@pytest.mark.parametrize("value", [*NOT_NUMBERS, HUGE, THOUSANDS_OF_DIGITS, np.array([1, 2])])
def test_what_is_not_one_number_is_refused(value):
    refuse(
        lambda given: validation.checked_number(given, "x is one number"), value, InvalidInputError, "x is one number, "
    )
    refuse(
        validation.checked_excess_variance, value, InvalidInputError, "excess_variance is one number, the same for all"
    )
    if value is not None:
        refuse(
            validation.checked_variance,
            value,
            InvalidInputError,
            "variance is one number for all items, or a list with one for each, ",
        )


@pytest.mark.parametrize("value", [0.5, np.float64(0.5), Fraction(1, 2), Decimal("0.5"), "1/2"])
def test_probabilities_become_exact_fractions(value):
    assert validation.checked_probability(value) == Fraction(1, 2)
    assert type(validation.checked_probability(value)) is Fraction


def test_probabilities_keep_every_digit_and_their_limits():
    assert validation.checked_probability(0.1) == Fraction(0.1) != Fraction(1, 10)
    assert validation.checked_probability(0) == 0
    assert validation.checked_probability(np.int64(1)) == 1


@pytest.mark.parametrize(
    "value",
    [-0.1, 1.5, 3, np.int64(-1), math.nan, math.inf, HUGE, -HUGE, THOUSANDS_OF_DIGITS, "x", b"x", 1j],
)
def test_what_is_not_a_probability_is_refused(value):
    refuse(validation.checked_probability, value, InvalidInputError, "p* and q* are probabilities, not ")


@pytest.mark.parametrize("value", [None, [0.5, 0.5], np.array([0.5])])
def test_several_probabilities_are_not_a_pure_mechanism(value):
    refuse(validation.checked_probability, value, ImpureMechanismError, "is not a pure mechanism")


@pytest.mark.parametrize("values", [[1, -2.5, 0], (1, -2.5, 0), np.array([1, -2.5, 0], np.float32)])
def test_estimates_are_copied_and_cannot_be_changed(values):
    found = validation.checked_estimates(values)
    assert found.tolist() == [1, -2.5, 0]
    assert found.dtype == np.float64
    assert found is not values
    with pytest.raises(ValueError, match="read-only"):
        found[0] = 7


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        (["a"], "must be a flat list of numbers"),
        ([[1], [2, 3]], "must be a flat list of numbers"),
        ([1, HUGE], "must be a flat list of numbers"),
        ([1j], "must be a flat list of numbers"),
        ([[1, 2]], "must be a flat list, one for each item, not of shape (1, 2)"),
        (3, "must be a flat list, one for each item, not of shape ()"),
        ([1, math.nan], "the frequency of item 1 is nan, which is not a finite number"),
        ([math.inf, 1], "the frequency of item 0 is inf, which is not a finite number"),
        ([1, None], "the frequency of item 1 is nan, which is not a finite number"),
    ],
)
def test_what_are_not_estimates_is_refused(values, sentence):
    refuse(validation.checked_estimates, values, FrequencyError, sentence)


@pytest.mark.parametrize(
    "numbers", [[1, 2, 0], (1.0, 2.0, 0.0), np.array([1, 2, 0], np.uint8), np.array([1, 2, 0], np.float32)]
)
def test_whole_numbers_are_copied_as_int64(numbers):
    for check in (
        validation.whole_numbers,
        lambda given: validation.checked_counts(given, 2, 3),
        lambda given: validation.checked_counts(given, 2),
        lambda given: validation.checked_frequencies(given, 3),
    ):
        found = check(numbers)
        assert found.tolist() == [1, 2, 0]
        assert found.dtype == np.int64
        assert not np.shares_memory(found, np.asarray(numbers))


@pytest.mark.parametrize(
    "numbers",
    [
        *([1.5], ["1"], [None], [True], [np.True_], [1, HUGE], [2**64], [1e30], [math.nan], [math.inf], [1j]),
        *([Fraction(1)], [Decimal(1)], [[1], [2, 3]], "12", None, object()),
    ],
)
def test_numbers_that_are_not_whole_are_refused(numbers):
    sentence = "frequencies and counts are numbers of people: every one must be a whole number"
    for check in (
        validation.whole_numbers,
        lambda given: validation.checked_counts(given, 10),
        lambda given: validation.checked_frequencies(given, 1),
    ):
        refuse(check, numbers, FrequencyError, sentence)


@pytest.mark.parametrize("counts", [[-1, 0], [0, 4], [[1, 2]], 2])
def test_counts_lie_between_0_and_n(counts):
    sentence = "support counts are whole numbers between 0 and n = 3, one for each item"
    refuse(lambda given: validation.checked_counts(given, 3), counts, FrequencyError, sentence)


@pytest.mark.parametrize("counts", [[1], [1, 2, 3], [[1, 2]]])
def test_there_is_a_count_for_each_item(counts):
    sentence = "between 0 and n = 3, one for each of the 2 items"
    refuse(lambda given: validation.checked_counts(given, 3, 2), counts, FrequencyError, sentence)


@pytest.mark.parametrize(
    ("frequencies", "error", "sentence"),
    [
        ([1], DomainError, "must be a flat list of 2, one for each item, not of shape (1,)"),
        ([[1, 2]], DomainError, "must be a flat list of 2, one for each item, not of shape (1, 2)"),
        (5, DomainError, "must be a flat list of 2, one for each item, not of shape ()"),
        ([3, -1], FrequencyError, "cannot be negative: item 1 has -1"),
        ([2**53, 1], FrequencyError, "sum to more than 2^53 people"),
        ([2**62, 2**62], FrequencyError, "sum to more than 2^53 people"),
        ([0, 0], EmptyError, "sum to 0, so nobody holds an item"),
    ],
)
def test_frequencies_count_people(frequencies, error, sentence):
    refuse(lambda given: validation.checked_frequencies(given, 2), frequencies, error, sentence)
