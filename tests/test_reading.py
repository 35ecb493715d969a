"""What people type is read the same on the command line and in a web address."""

from __future__ import annotations

import pytest

from localdp.errors import InvalidInputError
from localdp.reading import number, one_of, reports_range, share, threshold, whole_number


@pytest.mark.parametrize(
    ("text", "read"),
    [
        (None, "significance"),
        (" significance ", "significance"),
        (" 0.5% ", "0.5%"),
        ("1,000", 1000.0),
        ("1e3", 1000.0),
    ],
)
def test_thresholds_are_numbers_of_users_shares_or_a_word(text, read):
    assert threshold(text, "threshold") == read


def test_numbers_and_shares_are_read():
    assert (number("1 000.5", "n"), whole_number("9007199254740993", "n"), whole_number(None, "n")) == (
        1000.5,
        9007199254740993,
        None,
    )
    assert (share("0.25", "fdr"), share(" 25% ", "fdr")) == (0.25, 0.25)


@pytest.mark.parametrize(
    ("read", "message"),
    [
        (lambda: number("inf", "level"), "level is a number, not 'inf'"),
        (lambda: whole_number("1.5", "top"), "top is a whole number of at least 1, not '1.5'"),
        (lambda: share("a lot", "fdr"), r"fdr is a share such as 0.1 or 10%, not 'a lot'"),
        (lambda: threshold("0.1", "threshold"), r"write '10%' \(1 user in 10\)"),
        (lambda: one_of("c", "by", ("a", "b")), "by is a or b, not 'c'"),
    ],
)
def test_what_cannot_be_read_is_a_sentence_with_the_name_of_the_option(read, message):
    with pytest.raises(InvalidInputError, match=message):
        read()


def test_a_range_of_reports_has_two_ends():
    assert reports_range("7", "--reports-per-person") == (7.0, 7.0)
    assert reports_range("1-30", "--reports-per-person") == (1.0, 30.0)
