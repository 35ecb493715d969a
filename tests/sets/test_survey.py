"""Surveys of sets: what is frequent is found, the state can be saved at every round, and odd input has an answer.

Statistical tests are seeded; their limits would be passed by chance once in a million or less.
"""

from __future__ import annotations

import json

import numpy as np
import pytest

import localdp as ldp
from localdp.errors import (
    ArchiveError,
    EmptyError,
    InvalidInputError,
    PlanError,
    PlanLimitError,
    PlanMismatchError,
    TooFewReportsError,
    UnknownItemError,
)
from localdp.formats import sealed_json
from localdp.item_sets import ItemSets
from localdp.sets import Survey, check_survey, itemsets, survey
from localdp.sets.rounds import Round

SHARES = np.array([0.6, 0.5, 0.3, 0.2, 0.15, *[0.02] * 45])


def baskets(users=40_000, seed=1):
    """Sets in which each of 50 items is held independently."""
    holds = np.random.default_rng(seed).random((users, 50)) < SHARES
    return ItemSets(np.nonzero(holds)[1], holds.sum(axis=1)), holds


def test_the_most_frequent_items_are_found_with_their_numbers():
    sets, holds = baskets()
    found = survey(sets, 50, epsilon=4.0, top=5, seed=1)
    assert found.items == [0, 1, 2, 3, 4]
    low, high = found.interval(0.999999)
    truth = holds[:, :5].sum(axis=0)
    assert ((low <= truth) & (truth <= high)).all()
    assert found.n == 40_000
    assert (found.probabilities > 0.9).all()
    assert "the top 5 items of 40,000 users, epsilon 4" in str(found)


def test_the_most_frequent_itemsets_are_found():
    sets, holds = baskets()
    found = itemsets(sets, 50, epsilon=4.0, top=6, largest=3, seed=2)
    assert {(0,), (1,), (0, 1), (2,)} < set(found.items) <= {(0,), (1,), (0, 1), (2,), (3,), (4,), (0, 2), (1, 2)}
    truth = [holds[:, list(itemset)].all(axis=1).sum() for itemset in found.items]
    low, high = found.interval(0.999999)
    assert ((low <= truth) & (truth <= high)).all()
    assert found.table().columns["items"][2].count(" + ") <= 2


def test_intervals_hold_the_truth_about_as_often_as_they_say():
    """20 surveys, 8 items each; 160 intervals of 90%. Fewer than 120 hold with a probability below 1e-6."""
    inside = 0
    for seed in range(20):
        sets, holds = baskets(4_000, seed)
        found = survey(sets, 50, epsilon=3.0, top=8, seed=seed)
        low, high = found.interval(0.9)
        truth = holds[:, found.items].sum(axis=0)
        inside += int(((low <= truth) & (truth <= high)).sum())
    assert inside >= 120


def test_intervals_hold_where_some_people_hold_very_much():
    """A fifth of the people hold 25 items, the others one: estimates are divided, and large items must not be shrunk.

    10 surveys with 3 items each, 30 intervals of 90%. Fewer than 17 hold with a probability below 1e-6.
    """
    inside = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        large = rng.random(8_000) < 0.2
        sizes = np.where(large, 25, 1)
        items = np.concatenate([np.arange(25) if much else 25 + rng.integers(0, 40, 1) for much in large])
        found = survey(ItemSets(items, sizes), 65, epsilon=2.0, top=3, seed=seed)
        truth = np.bincount(items, minlength=65)[found.items]
        low, high = found.interval(0.9)
        inside += int(((low <= truth) & (truth <= high)).sum())
    assert inside >= 17


def test_a_survey_takes_items_by_name_and_a_catch_all():
    lists = [["tea", "milk"], ["milk", "beer"], [], ["milk", "milk"]] * 3_000
    found = survey(lists, ldp.Domain(["tea", "milk", "else"], other="else"), epsilon=4.0, top=2, seed=1)
    assert found.items[0] == "milk"
    assert found.frequencies[0] == pytest.approx(9_000, rel=0.1)
    with pytest.raises(UnknownItemError, match="beer"):
        survey(lists, ["tea", "milk"], epsilon=4.0)


@pytest.mark.parametrize("kind", ["empty", "everything", "one item", "two items"])
@pytest.mark.parametrize("largest", [1, 3])
def test_sets_of_every_kind_are_surveyed(kind, largest):
    users, items = 2_000, 2 if kind == "two items" else 30
    held = {"empty": [], "everything": list(range(items)), "one item": [7], "two items": [0, 1]}[kind]
    found = itemsets([held] * users, items, epsilon=2.0, top=3, largest=largest, seed=1)
    assert np.isfinite(found.frequencies).all()
    low, high = found.interval()
    assert ((low >= 0) & (low <= high) & (high <= users)).all()
    if kind == "one item":
        assert found.items[0] in (7, (7,))
        assert found.frequencies[0] > 1_200
    if kind == "empty":
        assert (low < 200).all()


def test_everybody_answers_one_round_and_every_round_has_the_epsilon_that_was_asked():
    made = Survey(100, epsilon=1.5, users=10_000)
    sets, _ = baskets(10_000)
    for _ in range(4):
        mechanism = made.round.plan.mechanism
        assert mechanism.requested_epsilon == 1.5
        assert mechanism.epsilon <= 1.5
        made = made.advance(made.round.plan.aggregate(made.round.privatize(sets, seed=1)), made.round)
    assert sum(made.shares) == 100
    assert made.done


def test_the_checks_pass():
    check_survey()


class _TellsTheSize(Round):
    """Wrong: large sets draw once more."""

    def rows(self, sets, source, mechanism=None):
        source.integers(np.flatnonzero(sets.sizes > 2))
        return super().rows(sets, source, mechanism)


class _TellsThatItIsEmpty(Round):
    """Wrong: whoever holds nothing always sends the same report."""

    def rows(self, sets, source, mechanism=None):
        rows = super().rows(sets, source, mechanism)
        rows[sets.sizes == 0] = rows[:1]
        return rows


@pytest.mark.parametrize(
    ("mutant", "message"),
    [(_TellsTheSize, "does not read as many random bits"), (_TellsThatItIsEmpty, "leaks|never sends")],
)
def test_a_wrong_round_is_caught(mutant, message):
    with pytest.raises(ldp.checks.CheckFailure, match=message):
        check_survey(mutant)


def test_a_survey_is_saved_and_resumed_at_every_round(tmp_path):
    path, sets = tmp_path / "survey.json", baskets(6_000)[0]
    made = Survey(50, epsilon=3.0, users=6_000, top=4, largest=2, name="spring")
    while True:
        made.save(path)
        assert Survey.load(path).fingerprint == made.fingerprint
        resumed = Survey(50, epsilon=3.0, users=6_000, top=4, largest=2, name="spring").resume(path)
        assert resumed._state == made._state
        if made.done:
            break
        assert resumed.round == made.round
        made = resumed.advance(
            resumed.round.plan.aggregate(resumed.round.privatize(sets, seed=made.number)), resumed.round
        )
    assert Survey.load(path).result().items == made.result().items
    with pytest.raises(PlanMismatchError, match="the state of another survey"):
        Survey(50, epsilon=3.0, users=6_000, top=4, largest=2, name="autumn").resume(path)


@pytest.mark.parametrize("damage", ["cut", "altered", "other", "text", "rounds", "seen", "doubt"])
def test_a_damaged_state_is_refused(tmp_path, damage):
    path = tmp_path / "survey.json"
    Survey(50, epsilon=3.0, users=6_000).save(path)
    text = path.read_text()
    body = json.loads(text.split("\n")[1])
    if damage in ("rounds", "seen", "doubt"):
        body["state"] |= {
            "rounds": {"reports": [100, 100]},
            "seen": {"reports": [100, 100, 100], "candidates": [[0], [1]], "find_seen": 0.5},
            "doubt": {"count_doubt": "x"},
        }[damage]
        sealed_json.save(body, path)
    else:
        path.write_text(
            {"cut": text[:-20], "altered": text.replace("6000", "6001"), "other": "{}\n", "text": "no"}[damage]
        )
    with pytest.raises(ArchiveError, match=r"is not a (saved|usable)"):
        Survey.load(path)


def test_reports_of_other_rounds_and_plans_are_refused():
    sets, _ = baskets(1_000)
    made = Survey(50, epsilon=2.0, users=1_000)
    first = made.round
    aggregate = first.plan.aggregate(first.privatize(sets, seed=1))
    after = made.advance(aggregate, first)
    with pytest.raises(PlanMismatchError, match="another round than round 1"):
        after.advance(aggregate, first)
    with pytest.raises(PlanMismatchError, match="not of the plan of round 1"):
        after.advance(aggregate, after.round)
    with pytest.raises(InvalidInputError, match="advances by an Aggregate"):
        made.advance("counts", first)
    few = first.plan.aggregate(first.privatize(sets.take(np.arange(99)), seed=1))
    with pytest.raises(TooFewReportsError, match="round 0 has 99 reports, and needs at least 100"):
        made.advance(few, first)
    with pytest.raises(InvalidInputError, match="round 0 of 4 is under way"):
        made.result()


def test_a_round_is_read_again_and_an_altered_one_is_not():
    made = Survey(50, epsilon=2.0, users=1_000, top=2)
    sets, _ = baskets(1_000)
    for _ in range(4):
        text = made.round.to_json()
        assert Round.from_json(text) == made.round
        with pytest.raises(PlanLimitError):
            Round.from_json(text, most_epsilon=1.0)
        for wrong in (text.replace('"asks":"s', '"asks":"x'), text.replace('"round":', '"round":9'), "[]", "{"):
            with pytest.raises(PlanError):
                Round.from_json(wrong)
        made = made.advance(made.round.plan.aggregate(made.round.privatize(sets, seed=1)), made.round)


@pytest.mark.parametrize("candidates", [[], [[1, 0]], [[0], [0]], [[50]], [[0, 0]], [[]], [["0"]], 7])
def test_candidates_that_are_no_itemsets_are_refused(candidates):
    asked = Round.of_sizes("00" * 32, 2, ((0,), (1,)), 50, 1.0)
    document = json.loads(asked.to_json()) | {"candidates": candidates}
    with pytest.raises(PlanError):
        Round.from_json(json.dumps(document))


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"users": 999}, TooFewReportsError, "at least 1,000 users"),
        ({"epsilon": 0}, ldp.LocalDPError, "epsilon"),
        ({"top": 0}, InvalidInputError, "the number of items to find"),
        ({"largest": 11}, InvalidInputError, "largest, the number of items in an itemset"),
        ({"name": 7}, InvalidInputError, "is text, not int"),
        ({"domain": 1}, InvalidInputError, "at least two items"),
    ],
)
def test_what_cannot_be_surveyed_is_refused(options, error, message):
    given = {"domain": 10, "epsilon": 1.0, "users": 1_000} | options
    with pytest.raises(error, match=message):
        Survey(given.pop("domain"), **given)


def test_no_sets_are_refused():
    with pytest.raises(EmptyError, match="one list of items for each user"):
        survey([], 10, epsilon=1.0)


def test_empty_sets_give_an_empty_list():
    """Nobody holds anything: with probability 0.9 or more nothing is listed; of 8 surveys, at least 4 list nothing."""
    empty = sum(len(ldp.sets.survey([[]] * 3_000, 40, epsilon=2.0, seed=seed).items) == 0 for seed in range(8))
    assert empty >= 4


def test_itemsets_of_a_few_items_are_lost_only_with_these():
    """The seven most frequent itemsets are those of three items; which single items come next does not matter."""
    items, sizes = [np.tile([0, 1, 2], 6_000), np.arange(4_000) % 37 + 3], np.repeat([3, 1], [6_000, 4_000])
    sets = ItemSets(np.concatenate(items), sizes)
    asked = Survey(40, epsilon=6.0, users=10_000, top=7, largest=3)
    while asked.number < 2:  # here everybody answers every round
        aggregate = asked.round.plan.aggregate(asked.round.privatize(sets, seed=asked.number))
        asked = asked.advance(aggregate, asked.round)
    assert asked.state()["state"].get("kept", 1.0) > 0.99
