"""The sentences of advice: the figures in them are right, and each case has its own words."""

from __future__ import annotations

import math
import re

import pandas as pd
import pytest

import localdp as ldp
from localdp.advice import sentences
from localdp.advice.options import Option, best_option
from localdp.advice.shapes import SEVERAL, several_shapes, shaped
from localdp.advice.targets import Target
from localdp.errors import LocalDPError
from localdp.mechanisms import create


def option(items=1_000, users=100_000, epsilon=1.0, like="zipf"):
    return best_option(epsilon, several_shapes(items, users) if like is None else (shaped(like, items, users),))


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
    assert columns == ["mechanism", "epsilon", "bytes", "threshold", "share seen", "calibrated"]
    assert max(map(len, sentences.legend().splitlines())) <= sentences.WIDTH


def test_the_outlook_has_the_figures_of_the_option():
    made = option(epsilon=4.0)
    outlook = " ".join(sentences.outlook(made))
    at = [f"{made.standard_error_at(share):,.0f}" for share in (0.0, 0.01, 0.1, 0.5)]
    assert f"an item that nobody holds is off by about {at[0]} users" in outlook
    assert (
        f"by 1% of the users by {at[1]}, by 10% of the users by {at[2]} and by 50% of the users by {at[3]}" in outlook
    )
    assert "because the holders of an item add noise" in outlook
    assert (
        f"at least {100 * made.smallest_share:.3g}% of the users ({made.smallest_share * 100_000:,.0f}) hold it"
        in outlook
    )
    assert f"If frequencies fall like 1/rank, about {made.items_seen['zipf']:.0f} of the 1,000 items will" in outlook
    assert f"reduces the error to about {made.calibrated['zipf']:,.0f} users" in outlook
    assert f"{made.raw_rms / made.calibrated_rms:.1f} times less" in outlook
    assert "too few" not in outlook
    less_noisy = best_option(1.0, made.shapes)
    assert "because" not in sentences.outlook(Option(create("blh", 1_000, 1.0).mechanism, less_noisy.shapes))[0]


def test_without_a_shape_the_outlook_is_a_range_with_the_names_of_its_ends():
    made = option(items=5_000, users=200_000, epsilon=4.0, like=None)
    outlook = " ".join(sentences.outlook(made))
    low, high = made.calibrated["equal"], made.calibrated["held-10%"]
    assert f"between {low:.2g} (if all items are equally frequent) and {high:,.0f} (if 10% of the items" in outlook
    for name in SEVERAL:
        assert re.search(rf"{re.escape(name)} [\d.,]+\d", outlook)
    seen = made.items_seen
    assert min(seen, key=seen.get) == "equal"
    assert "from fewer than one (if all items are equally frequent)" in outlook
    assert f"to about {max(seen.values()):.0f} (if 3% of the items are held, equally often)" in outlook
    assert sentences.span(made) == f"{low:.2g} to {high:,.0f}"
    assert sentences.span(option(items=5_000, users=200_000)) == "120"


def test_too_few_users_are_called_that():
    assert "too few users for this epsilon" in " ".join(sentences.outlook(option(users=100, epsilon=0.5)))
    few = sentences.outlook(option(users=1_000))
    assert "no item is that frequent, so none stands out reliably" in few[0]
    assert "too few users to detect single items" in few[-1]
    assert "too few users to detect single items" in sentences.outlook(option(users=1_000, like=None))[-1]
    assert "About 2 of the 2 items will stand out" in sentences.outlook(option(items=2, epsilon=4.0, like=None))[0]


def test_little_noise_leaves_little_to_calibrate():
    assert "improves little here" in sentences.outlook(option(items=4, users=10**6, epsilon=4.0, like=[9, 5, 3, 1]))[1]


@pytest.mark.parametrize(
    ("like", "words"),
    [
        ("retail", "if frequencies are like those of retail"),
        ("power-law", "if frequencies follow the paper's power law"),
        ("zipf", "if frequencies fall like 1/rank."),
        ("zipf-1.5", "if frequencies fall like 1/rank^1.5"),
        ("exponential", "if frequencies are distributed exponentially"),
        ("equal", "if all items are equally frequent"),
        ("held-0.1%", "if 0.1% of the items are held, equally often"),
    ],
)
def test_every_shape_has_its_words(like, words):
    outlook = sentences.outlook(option(like=like))
    assert words in outlook[1]
    assert "You did not say" not in " ".join(outlook)


def test_the_name_of_a_file_is_kept_as_it_is(tmp_path):
    (tmp_path / "Sales 2025.csv").write_text("frequency,items\n5,90\n400,10\n")
    outlook = sentences.outlook(option(items=100, users=5_000, like=tmp_path / "Sales 2025.csv"))
    assert "If frequencies are like those of Sales 2025.csv, " in outlook[0]


def test_a_target_says_how_many_users_it_needs_and_whether_they_are_there():
    target, made = Target(error=0.001), option()
    needed = target.users(made.made)
    sentence = sentences.reached(target, made, needed, [(2.0, 5_000)])
    words = "for a standard error of at most 0.1% of the users for every item"
    assert f"{needed:,} users are needed {words}; {needed:,} are enough." in sentence
    assert "By comparison, epsilon 2 needs 5,000." in sentence
    fewer = Target(error=0.001, up_to=0.1).users(made.made)
    assert f"up to 10% of the users hold, {fewer:,} are enough at epsilon 1: say so with `up_to`" in sentence
    narrow = sentences.reached(Target(error=0.001, up_to=0.1), made, None, [(2.0, 5_000)])
    assert narrow.endswith("By comparison, epsilon 2 needs 5,000.")
    assert "say so" not in sentences.reached(Target(share=0.1), made, None, [(2.0, 5_000)])
    assert "are too few" in sentences.reached(target, made, needed - 1, [(2.0, 5_000)])
    assert "; " not in sentences.reached(target, made, None, [(2.0, 5_000)])


def test_a_target_out_of_reach_names_what_would_do_and_each_of_it_does():
    target = Target(share=0.01)
    said = sentences.out_of_reach(target, 1_000, 600_000, 1.0, 1.04)
    assert "no epsilon to recommend: up to 1.04, none is enough" in said
    users, items, share = re.search(
        r"this would do: ([\d,]+) users instead of 600,000, at most (\d+) items instead of 1,000 or looking only for "
        r"items that at least ([\d.]+)% of the users hold\.",
        said,
    ).groups()
    mechanism = create("auto", 1_000, 1.0).mechanism
    assert int(users.replace(",", "")) == target.users(mechanism) > 600_000
    assert target.smallest_epsilon(int(items), 600_000) <= 1.0 < target.smallest_epsilon(int(items) + 1, 600_000)
    assert Target(share=float(share) / 100).users(mechanism) <= 601_000
    hopeless = sentences.out_of_reach(target, 1_000, 500, 1.0, 4.0)
    assert "fewer items alone would not be enough" in hopeless
    error = sentences.out_of_reach(Target(error=0.001), 1_000, 20_000, 1.0, 4.0)
    larger = float(re.search(r"a standard error of ([\d.]+)% of the users", error[250:]).group(1)) / 100
    assert Target(error=larger).users(mechanism) <= 20_000


def test_the_picture_marks_all_errors_on_one_scale():
    rows = [(1.0, 10.0, 10.0, 1_000.0), (2.0, 10.0, 100.0, 100.0), (4.0, 10.0, 10.0, 10.0)]
    lines = sentences.picture(rows).splitlines()
    assert len(lines) == 4
    plots = [line[9:47] for line in lines[1:]]
    assert plots[0] == "o" + "." * 36 + "x"
    assert plots[1].rstrip() == "o" + "=" * 18 + "o"
    assert plots[2].rstrip() == "o"  # where both are equal, the circle hides the cross
    assert "10 to 100" in lines[2]
    assert {len(line) for line in lines} == {len(lines[0])}
    assert len(sentences.picture([(1.0, 999_999.0, 1e9, 1e12)]).splitlines()[1]) <= sentences.WIDTH


SURVEY = [83, 62, 51, 44, 33, 18, 8, 1]
"""How many of 300 people gave each answer."""


def test_a_small_survey_is_told_what_would_do_and_nothing_is_marked():
    advice = ldp.advise(8, 300, like=SURVEY)
    printed, said = str(advice), " ".join(advice.why)
    assert not advice.reachable
    assert not any(line.startswith(">") for line in printed.splitlines())
    assert "10% needs epsilon 2.46" in said
    assert ldp.advise(8, 300, smallest_share="10%").epsilon == 2.46
    assert "no item is that frequent, so none stands out reliably" in said
    assert "will stand out" not in said
    assert "Calibrate reduces the error to about 25 users" in said
    assert any(line.startswith(">") for line in str(ldp.advise(8, 300, smallest_share="10%")).splitlines())


def test_what_is_no_number_of_items_is_answered_with_what_to_pass():
    answers = pd.Series(["tea", "coffee", "tea"])
    for wrong in (lambda: ldp.advise(answers), lambda: ldp.advise(like=answers.value_counts()), ldp.advise):
        with pytest.raises(LocalDPError, match=r"number of items and the number of users.*advise\(8, 300, like="):
            wrong()
