"""The sentences of advice: the figures in them are right, and each case has its own words."""

from __future__ import annotations

import math
import re

import pytest

from localdp.advice import sentences
from localdp.advice.options import best_option
from localdp.advice.shapes import shaped
from localdp.advice.targets import Target


def option(items=1_000, users=100_000, epsilon=1.0, like="zipf"):
    return best_option(epsilon, shaped(like, items, users))


@pytest.mark.parametrize(
    ("epsilon", "guess", "factor"),
    [(0.5, "62:38", "1.6"), (1.0, "73:27", "2.7"), (4.0, "98:2", "54.6"), (8.0, "99.97:0.03", "2,981")],
)
def test_odds_are_those_of_the_worst_report(epsilon, guess, factor):
    sentence = sentences.odds(epsilon)
    assert f"50:50 between two items becomes at most {guess} (the odds grow at most {factor}-fold)" in sentence
    assert ("weak protection" in sentence) == (epsilon > 4)
    sure, doubt = map(float, guess.split(":"))
    assert sure / doubt == pytest.approx(math.exp(epsilon), rel=0.15)


def test_some_doubt_is_left_at_every_epsilon():
    for step in range(1, 161):
        sure, doubt = re.search(r"at most ([\d.]+):([\d.]+)", sentences.odds(step / 10)).groups()
        assert float(doubt) > 0
        assert float(sure) < 100


def test_the_legend_explains_every_column_in_a_line():
    columns = [re.split(r"  +", line)[1] for line in sentences.legend().splitlines()]
    assert columns == ["mechanism", "epsilon", "bytes", "standard error", "threshold", "share seen", "calibrated"]
    assert max(map(len, sentences.legend().splitlines())) <= sentences.WIDTH


def test_the_outlook_has_the_figures_of_the_option():
    made = option()
    outlook = " ".join(sentences.outlook(made))
    assert f"off by about {made.raw_rms:,.0f} users" in outlook
    assert (
        f"at least {100 * made.smallest_share:.3g}% of the users ({made.smallest_share * 100_000:,.0f}) hold it"
        in outlook
    )
    assert f"If frequencies fall like 1/rank, about {made.items_seen:.0f} of the 1,000 items will stand out" in outlook
    assert f"reduces the error to about {made.calibrated_rms:,.0f} users" in outlook
    assert f"{made.raw_rms / made.calibrated_rms:.1f} times less" in outlook
    assert "too few" not in outlook


def test_too_few_users_are_called_that():
    assert "too few users for this epsilon" in " ".join(sentences.outlook(option(users=100, epsilon=0.5)))
    few = sentences.outlook(option(users=1_000))
    assert "fewer than one of the 1,000 items will stand out" in few[0]
    assert "too few users to detect single items" in few[-1]


def test_little_noise_leaves_little_to_calibrate():
    assert "improves little here" in sentences.outlook(option(items=4, users=10**6, epsilon=4.0, like=[9, 5, 3, 1]))[1]


def test_only_the_default_shape_is_an_assumption():
    assert "Zipf's law is assumed" in sentences.assumption("zipf")[0]
    assert sentences.assumption("power-law") == sentences.assumption("retail") == []
    assert "if frequencies are like those of retail" in sentences.outlook(option(like="retail"))[1]
    assert "if frequencies follow the paper's power law" in sentences.outlook(option(like="power-law"))[1]


def test_a_target_says_how_many_users_it_needs_and_whether_they_are_there():
    target, made = Target(error=0.001), option()
    needed = target.users(made.made)
    sentence = sentences.reached(target, made, needed, [(2.0, 5_000)])
    assert f"{needed:,} users are needed for a standard error of 0.1% of the users; {needed:,} are enough." in sentence
    assert sentence.endswith("By comparison, epsilon 2 needs 5,000.")
    assert "are too few" in sentences.reached(target, made, needed - 1, [(2.0, 5_000)])
    assert ";" not in sentences.reached(target, made, None, [(2.0, 5_000)])


def test_an_epsilon_that_would_be_just_enough_is_named_if_it_is_smaller():
    assert "(Epsilon 2.09 would be just enough.)" in sentences.smallest_epsilon_that_detects(0.01, 4.0, 2.09)
    assert "just enough" not in sentences.smallest_epsilon_that_detects(0.01, 4.0, 4.0)
    assert "not detected at any" in sentences.no_epsilon_detects(0.01, 4.0, 12_345)
    assert "12,345 users would be needed" in sentences.no_epsilon_detects(0.01, 4.0, 12_345)


def test_the_picture_marks_both_errors_on_one_scale():
    lines = sentences.picture([(1.0, 10.0, 1_000.0), (2.0, 10.0, 100.0), (4.0, 10.0, 10.0)]).splitlines()
    assert len(lines) == 4
    marks = [(line.index("o"), line.rfind("x")) for line in lines[1:]]
    assert [crossed - circle for circle, crossed in marks[:2]] == [43, pytest.approx(43 / 2, abs=1)]
    assert marks[2][1] == -1  # where both are equal, the circle hides the cross
    assert {len(line) for line in lines} == {len(lines[0])}
