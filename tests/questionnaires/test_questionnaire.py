"""The study itself: its parts, its documents, what devices send, and what is refused."""

from __future__ import annotations

import json

import numpy as np
import pytest

import localdp as ldp
from localdp.errors import ArchiveError, EmptyError, InvalidInputError, PlanError, PlanMismatchError, WireError
from localdp.questionnaires import Questionnaire, QuestionnaireAggregate, check_questionnaire
from localdp.questionnaires.check import require_private
from localdp.questionnaires.design import shares
from localdp.studies import study_in
from localdp.studies.places import PLACES

QUESTIONS = {
    "diet": ldp.Choice(["vegan", "vegetarian", "any"]),
    "stars": ldp.Scale(1, 5),
    "likes": ldp.Choices(["tea", "milk"], most=2),
    "smokes": ldp.Choice(["yes", "no"], other="no"),
}
SURVEY = Questionnaire(QUESTIONS, epsilon=2.0, cross=[("smokes", "diet"), ("diet", "stars")], name="recipes")
PEOPLE = 400
ANSWERS = {
    "diet": ["vegan", "any", None, "fish"] * 100,
    "stars": [1, 5, None, "none"] * 100,
    "likes": [["tea"], [], None, ["tea", "milk"]] * 100,
    "smokes": ["yes", "no", None, "maybe"] * 100,
}


def test_the_document_makes_the_same_questionnaire_and_parts_ask_everybody_once():
    again = study_in(SURVEY.to_json())
    assert (again.fingerprint, again.why) == (SURVEY.fingerprint, SURVEY.why)
    assert [part.fingerprint for part in again.parts()] == [part.fingerprint for part in SURVEY.parts()]
    assert {part.key for part in SURVEY.parts()} >= {"likes", "diet,smokes", "diet,stars"}
    assert len({part.plan.fingerprint for part in SURVEY.parts()}) == len(SURVEY.parts())
    ends = [0, *(part.span.end for part in SURVEY.parts())]
    assert ends[:-1] == [part.span.first for part in SURVEY.parts()]
    assert ends[-1] == PLACES
    for part in SURVEY.parts():
        assert SURVEY.read_part(part.to_json(), ldp.studies.study.NO_LIMITS) == part
        assert part.plan.part.study == SURVEY.fingerprint


def test_two_questions_with_the_same_answers_have_different_plans():
    survey = Questionnaire({"a": ldp.Choice(["y", "n"]), "b": ldp.Choice(["y", "n"])}, epsilon=1.0)
    one, other = survey.parts()
    assert one.plan.mechanism.parameters() == other.plan.mechanism.parameters()
    assert one.plan != other.plan


def test_what_a_person_does_not_answer_has_a_cell_of_its_own():
    form = [{"diet": "any", "smokes": "yes"}, {"diet": "fish"}, {"smokes": None, "diet": None}, {}]
    assert SURVEY.part("diet").question.read(form).items.tolist() == [2, 3, 3, 3]
    # smokes has an `other` of its own, which takes those who do not answer
    assert SURVEY.part("diet,smokes").question.read(form).items.tolist() == [4, 7, 7, 7]
    assert SURVEY.part(("diet", "stars")).question.read([{"diet": "vegan", "stars": 2.4}]).items.tolist() == [1]
    likes = SURVEY.part("likes").question.read([{"likes": ["milk", "tea"]}, {}, {"likes": []}])
    assert (likes.sizes.tolist(), likes.items.tolist()) == ([2, 1, 0], [0, 1, 2])


def test_reports_go_through_bytes_and_aggregates_add_up(tmp_path):
    reports = SURVEY.privatize(ANSWERS, seed=3)
    assert len(reports) == PEOPLE
    aggregate = SURVEY.aggregate(reports)
    assert aggregate.n == PEOPLE
    read = SURVEY.read(reports.to_bytes() + SURVEY.privatize(ANSWERS, seed=4).to_bytes())
    both = SURVEY.aggregate(SURVEY.privatize(ANSWERS, seed=4)).merge(aggregate)
    assert SURVEY.aggregate(read) == both
    both.save(tmp_path / "counts.ldp")
    assert QuestionnaireAggregate.load(tmp_path / "counts.ldp") == both
    assert SURVEY.privatize(ANSWERS, seed=3).to_bytes() == reports.to_bytes()
    assert SURVEY.privatize(ANSWERS).to_bytes() != SURVEY.privatize(ANSWERS).to_bytes()
    with pytest.raises(WireError):
        SURVEY.read(reports.to_bytes()[:-1])
    with pytest.raises(WireError, match="not made under a part"):
        SURVEY.read(ldp.Plan(2, epsilon=1.0).privatize([0]).to_bytes())
    with pytest.raises(PlanMismatchError):
        both.merge(QuestionnaireAggregate(Questionnaire(QUESTIONS, epsilon=2.0)))
    with pytest.raises(ArchiveError):
        QuestionnaireAggregate.from_bytes(both.to_bytes()[:-1])
    with pytest.raises(ArchiveError, match="not a usable aggregate of a questionnaire"):
        QuestionnaireAggregate.from_bytes(ldp.Plan(2, epsilon=1.0).simulate([1, 1]).to_bytes())


def test_simulating_has_the_law_of_the_reports():
    """The mean counts of 24 runs differ by less than 8 standard errors: a false alarm in 1e-7 of the runs."""
    for key in ("diet", "diet,stars", "likes"):
        real, quick = (
            np.array([_count(run(seed).by_part[key]) for seed in range(24)])
            for run in (
                lambda seed: SURVEY.aggregate(SURVEY.privatize(ANSWERS, seed=seed)),
                lambda seed: SURVEY.simulate(ANSWERS, seed=1_000 + seed),
            )
        )
        error = np.sqrt((real.var(axis=0) + quick.var(axis=0)) / 24) + 1e-9
        assert (np.abs(real.mean(axis=0) - quick.mean(axis=0)) < 8 * error + 0.01).all(), key


def _count(aggregate):
    return np.append(aggregate.counts / max(aggregate.n, 1), aggregate.n / PEOPLE)


def test_shares_of_people_follow_the_expected_error():
    sizes = {"small": 3, "large": 50}
    alone = shares(sizes, {("small",): 2.0, ("large",): 2.0}, 10_000)
    assert alone["large",] > 3 * alone["small",]
    crossed = shares(sizes, {("small",): 2.0, ("large",): 2.0, ("small", "large"): 2.0}, 10_000)
    assert crossed["small", "large"] >= 0.4
    assert sum(crossed.values()) == pytest.approx(1)


@pytest.mark.parametrize(
    ("questions", "cross", "words"),
    [
        ({}, None, "questions are given by name"),
        ([("a", ldp.Choice(2))], None, "questions are given by name"),
        ({"a,b": ldp.Choice(2)}, None, "without commas"),
        ({"": ldp.Choice(2)}, None, "1 to 60 characters"),
        ({"a": ["x", "y"]}, None, "depend on another answer"),
        ({"a": ldp.Choice(2)}, [("a", "b")], "there is no question 'b'"),
        ({"a": ldp.Choice(2)}, [("a", "a")], "a pair of two questions"),
        ({"a": ldp.Choice(2), "b": ldp.Choice(2)}, ["ab"], "there is no question 'ab'"),
        ({"a": ldp.Choice(2), "b": ldp.Choice(2)}, "some", "or 'all'"),
        ({"a": ldp.Choice(2), "b": ldp.Choices(3)}, [("a", "b")], "several answers of one person"),
        ({"a": ldp.Choice(1000), "b": ldp.Choice(1000)}, "all", "at most 100,000"),
    ],
)
def test_what_cannot_be_asked_is_refused(questions, cross, words):
    with pytest.raises(InvalidInputError, match=words):
        Questionnaire(questions, epsilon=1.0, cross=cross)


@pytest.mark.parametrize(
    ("table", "error", "words"),
    [
        ({"diet": ["any"]}, InvalidInputError, "no column for the question 'stars'"),
        ({**ANSWERS, "age": []}, InvalidInputError, "there is no question 'age'"),
        ({**ANSWERS, "stars": [1]}, InvalidInputError, "has 400 answers but 'stars' has 1"),
        ({name: [] for name in QUESTIONS}, EmptyError, "at least one person"),
        ({**ANSWERS, "diet": "any"}, InvalidInputError, "a list with one for each person"),
        (["any"], InvalidInputError, "a table with a column for each question"),
    ],
)
def test_tables_that_do_not_fit_are_refused(table, error, words):
    with pytest.raises(error, match=words):
        SURVEY.privatize(table)


def test_tables_of_pandas_and_arrow_are_read():
    import pandas as pd
    import pyarrow as pa

    table = {name: ANSWERS[name] for name in ("diet", "smokes")}
    survey = Questionnaire({name: QUESTIONS[name] for name in table}, epsilon=1.0)
    expected = survey.privatize(table, seed=1).to_bytes()
    assert survey.privatize(pd.DataFrame(table), seed=1).to_bytes() == expected
    assert survey.privatize(pa.table(table), seed=1).to_bytes() == expected


@pytest.mark.parametrize("change", ["places", "asks", "mechanism", "twice", "epsilon", "more"])
def test_altered_documents_are_refused(change):
    document = json.loads(SURVEY.to_json())
    first = document["parts"][0]
    if change == "places":
        first["places"] += 1
    elif change == "asks":
        first["asks"] = ["nothing"]
    elif change == "mechanism":
        first["mechanism"] = "auto"
    elif change == "twice":
        document["parts"][1] = first
    elif change == "epsilon":
        document["epsilon"] = 99
    else:
        document["more"] = 1
    with pytest.raises(PlanError, match="not a questionnaire"):
        study_in(json.dumps(document))


def test_no_form_tells_more_than_epsilon_on_any_random_input():
    check_questionnaire()


def test_the_check_finds_a_part_that_says_more_than_it_should():
    survey = Questionnaire({"a": ldp.Choice(["x", "y"]), "b": ldp.Choice(["x", "y"])}, epsilon=2.0, cross="all")
    with pytest.raises(ldp.checks.CheckFailure, match="leaks"):
        require_private(survey.part("a,b"), {"a": ["x", "y"], "b": ["x", "y"]}, epsilon=1.0)


def test_a_device_answers_one_part_once_whatever_it_is_asked(tmp_path):
    form = {"diet": "vegan", "stars": 4, "likes": ["tea"], "smokes": "no"}
    counted, keys = QuestionnaireAggregate(SURVEY), set()
    for number in range(30):
        client = ldp.Client(SURVEY.to_json(), store=tmp_path / str(number))
        first = client.report(form)
        assert client.report({}) == first  # also with other answers
        assert ldp.Client(SURVEY, store=tmp_path / str(number)).report({"diet": None}) == first
        assert client.spent == SURVEY.epsilon
        part = SURVEY.part_at(client.place)
        keys.add(part.key)
        counted.add(SURVEY.read(first))
        others = [other for other in SURVEY.parts() if other != part]
        assert all(client.report(form, other.to_json()) is None for other in others)
    assert counted.n == 30
    assert len(keys) > 2  # the rarest part has 5%; all 30 devices in two parts have a probability below 1e-4
    with pytest.raises(InvalidInputError, match="there is no question 'Diet'"):
        ldp.Client(SURVEY, store=tmp_path / "new").report({"Diet": "vegan"})


def test_a_store_that_is_put_back_gives_the_same_report(tmp_path):
    """A device that is restored from an old backup does not answer with other noise."""
    import shutil

    store, backup = tmp_path / "store", tmp_path / "backup"
    ldp.Client(SURVEY, store=store)
    shutil.copytree(store, backup)
    form = {"diet": "vegan", "stars": 4}
    first = ldp.Client(SURVEY, store=store).report(form)
    shutil.rmtree(store)
    shutil.copytree(backup, store)
    assert ldp.Client(SURVEY, store=store).report(form) == first


def test_limits_of_a_device_hold_for_every_part():
    limits = ldp.plan.limits.Limits(1.0, None, None, False)
    with pytest.raises(PlanError, match="asks for epsilon 2"):
        study_in(SURVEY.to_json(), limits)
    with pytest.raises(PlanError, match="items"):
        study_in(SURVEY.to_json(), ldp.plan.limits.Limits(None, None, 10, False))
