"""What is read: tables that agree with each other and with the truth, conditional shares, and associations."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

import localdp as ldp
from localdp.errors import EmptyError, InvalidInputError
from localdp.kernels import simulated_null
from localdp.questionnaires import draws
from localdp.questionnaires.association import p_value
from localdp.questionnaires.classes import WITHIN, Model, Seen
from localdp.questionnaires.draws import raked
from localdp.questionnaires.observed import Layout
from localdp.questionnaires.posterior import DrawnPosterior

PEOPLE = 30_000


def _answers(seed=0):
    random = np.random.default_rng(seed)
    diet = random.choice(["vegan", "vegetarian", "any"], PEOPLE, p=[0.2, 0.3, 0.5])
    stars = np.where(diet == "vegan", random.choice([4, 5], PEOPLE), random.choice([1, 2, 3, 4], PEOPLE))
    sex = np.where(random.random(PEOPLE) < 0.1, None, random.choice(["m", "f"], PEOPLE))
    return {"diet": diet, "stars": stars, "sex": sex}


@pytest.fixture(scope="module")
def result():
    questions = {
        "diet": ldp.Choice(["vegan", "vegetarian", "any"]),
        "stars": ldp.Scale(1, 5),
        "sex": ldp.Choice(["m", "f"]),
    }
    survey = ldp.Questionnaire(questions, epsilon=4.0, cross=[("diet", "stars"), ("diet", "sex")], users=PEOPLE)
    found = survey.simulate(_answers(), seed=1).calibrate()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("localdp.questionnaires.result.draw", partial(draws.draw, draws=16))
        assert found._draws  # made here, with so few draws
    return found


def test_tables_are_near_the_truth(result):
    answers = _answers()
    for name, items in (("diet", ["vegan", "vegetarian", "any"]), ("stars", [1, 2, 3, 4, 5]), ("sex", ["m", "f"])):
        truth = [np.mean(answers[name] == item) for item in items]
        assert np.abs(result[name].shares - truth).sum() / 2 < 0.03, name
    truth = [[np.mean((answers["diet"] == d) & (answers["stars"] == s)) for s in range(1, 6)]
             for d in ("vegan", "vegetarian", "any")]  # fmt: skip
    assert np.abs(result["diet", "stars"].shares - truth).sum() / 2 < 0.05
    assert abs(result["sex"].no_answer.value - 0.1) < 0.03
    assert result["sex"].no_answer.low < 0.1 < result["sex"].no_answer.high
    assert result["diet"].no_answer.value < 0.01


def test_all_tables_have_the_same_margins(result):
    for one, other in (("diet", "stars"), ("diet", "sex")):
        best, draws = result.whole_table(one, other)
        place = result._place
        for name, axis in ((one, 1), (other, 0)):
            cells = result._draws.layout.of(place[name])
            assert np.abs(best.sum(axis=axis) - result._draws.alone[cells]).max() < 1e-6
            assert np.abs(draws.sum(axis=axis + 1) - result._draws.alone_draws[:, cells]).max() < 1e-6
    assert result["stars", "diet"].shares == pytest.approx(result["diet", "stars"].shares.T)
    assert result["diet", "stars"].shares.sum(axis=1) + 0 == pytest.approx(result["diet"].shares, abs=0.02)


def test_conditional_shares_are_those_of_the_table(result):
    vegans, others = result["stars"].given(diet="vegan"), result["stars"].given({"diet": ["vegetarian", "any"]})
    assert vegans.percentile(50).value >= 4 > others.percentile(50).value
    assert abs(vegans.mean().value - 4.5) < 0.15
    table = result["diet", "stars"].shares
    assert vegans.shares == pytest.approx(table[0] / result["diet"].shares[0], abs=1e-6)
    assert vegans.n + others.n == pytest.approx(PEOPLE, rel=0.01)
    low, high = vegans.interval(0.9)
    assert (low <= vegans.frequencies + 1e-9).all()
    assert (vegans.frequencies <= high + 1e-9).all()


def test_association_is_strong_where_answers_depend(result):
    strong, none = result.association("stars", "diet"), result.association("sex", "diet")
    assert strong.value > 0.4 > 0.25 > none.value
    assert strong.p_value <= 0.001
    assert none.p_value > 0.001
    assert strong.low < strong.value < strong.high


def test_what_was_not_asked_says_what_to_do(result):
    with pytest.raises(InvalidInputError, match=r"add \('stars', 'sex'\) to cross"):
        result["sex", "stars"]
    with pytest.raises(InvalidInputError, match="there is no question 'age'"):
        result["age"]
    with pytest.raises(InvalidInputError, match="of one question or of two different ones"):
        result.association("sex", "sex")
    with pytest.raises(InvalidInputError, match="the question itself"):
        result["sex"].given(sex="m")
    with pytest.raises(ldp.errors.UnknownItemError, match="'meat' is no answer to 'diet': the answers are 'vegan'"):
        result["stars"].given(diet="meat")
    with pytest.raises(InvalidInputError, match="only tables of a questionnaire"):
        ldp.Plan(2, epsilon=1.0).simulate([5, 5]).estimate().calibrate().given(diet="vegan")


def test_the_result_converts_to_tables(result):
    assert list(result.tables()) == ["diet", "stars", "sex", "diet,stars", "diet,sex"]
    assert list(result.tables()["diet,sex"].columns) == ["diet", "sex", "share", "low", "high"]
    frame = result.to_pandas()
    assert (len(frame), list(frame.columns)) == (10, ["question", "answer", "share", "low", "high"])
    assert ((frame.low <= frame.share) & (frame.share <= frame.high)).all()


def test_parts_without_reports_are_left_out():
    survey = ldp.Questionnaire({"a": ldp.Choice(2), "b": ldp.Choice(2), "c": ldp.Choices(2)}, epsilon=2.0, cross="all")
    aggregate = ldp.questionnaires.QuestionnaireAggregate(survey)
    with pytest.raises(EmptyError):
        aggregate.calibrate()
    part = survey.part("a")
    aggregate.add(ldp.questionnaires.QuestionnaireReports(survey, {"a": part.privatize([{"a": 1}], seed=1)}))
    result = aggregate.calibrate()
    assert result["a"].shares.sum() <= 1
    with pytest.raises(InvalidInputError, match="nobody has answered 'b'"):
        result["b"]
    with pytest.raises(InvalidInputError, match="nobody was asked 'a' and 'b' yet"):
        result["a", "b"]
    assert list(result.tables()) == ["a"]


def test_a_question_with_several_answers_is_read_by_itself():
    survey = ldp.Questionnaire({"a": ldp.Choice(2), "c": ldp.Choices(["x", "y"], most=2)}, epsilon=4.0)
    result = survey.simulate({"a": [0] * 5_000, "c": [["x"]] * 5_000}, seed=1).calibrate()
    assert result["c"].shares[0] > 0.8 > 0.2 > result["c"].shares[1]


def test_a_question_with_several_answers_has_the_declared_ones_and_no_answer_apart():
    """The cell for no answer was one more item, and `no_answer` an error that denied the questionnaire."""
    questions = {"a": ldp.Choice(2), "c": ldp.Choices(["x", "y"], most=2), "d": ldp.Choices(["x", "y"], other="z")}
    survey = ldp.Questionnaire(questions, epsilon=4.0)
    answers = {"a": [0] * 9_000, "c": [["x"], ["x", "y"], None] * 3_000, "d": [["x"], ["w"], ["y"]] * 3_000}
    result = survey.simulate(answers, seed=1).calibrate()
    found, none = result["c"], result["c"].no_answer
    assert found.domain.items == ("x", "y")
    np.testing.assert_allclose(found.shares, [2 / 3, 1 / 3], atol=0.1)
    assert none.low <= none.value <= none.high
    assert none.value == pytest.approx(1 / 3, abs=0.1)
    assert list(result.tables()["c"].columns["c"]) == ["x", "y", "no answer"]
    low, high = found.interval()
    assert ((low <= found.frequencies) & (found.frequencies <= high)).all()
    assert found.group({"x": ["x"]}).columns["frequency"][0] == pytest.approx(found.frequencies[0], abs=20)
    assert found.top(1).items == ["x"]
    assert result["d"].domain.items == ("x", "y", "z")
    with pytest.raises(InvalidInputError, match="'c' has several answers"):
        found.given(a=0)


def test_the_gradient_of_the_model_is_that_of_its_loss():
    random = np.random.default_rng(1)
    layout = Layout(("a", "b"), (3, 4))
    model = Model(layout, (0, 3), random.dirichlet(np.ones(7)), kinds=2)
    weights = np.zeros((7, 7))
    weights[:3, 3:] = random.uniform(1, 9, (3, 4))
    weights += weights.T
    estimates = random.normal(size=(7, 7))
    seen = Seen(((slice(0, 3), np.eye(3), random.normal(size=3), np.ones(3)),), estimates + estimates.T, weights)
    z = random.normal(size=model.effects)
    loss, gradient = model._loss(z, seen, 0.5)
    for place in range(model.effects):
        step = np.eye(1, model.effects, place)[0] * 1e-6
        slope = (model._loss(z + step, seen, 0.5)[0] - model._loss(z - step, seen, 0.5)[0]) / 2e-6
        assert slope == pytest.approx(gradient[place], abs=1e-4), place
    assert loss > 0


def test_raking_keeps_odds_ratios_and_reaches_the_margins():
    table = raked(np.array([[4.0, 1.0, 1.0], [1.0, 4.0, 2.0]]), np.array([0.3, 0.7]), np.array([0.2, 0.3, 0.5]))
    assert table.sum(axis=0) == pytest.approx([0.2, 0.3, 0.5])
    assert table.sum(axis=1) == pytest.approx([0.3, 0.7])
    assert table[0, 0] * table[1, 1] / (table[0, 1] * table[1, 0]) == pytest.approx(16)


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [1.0, 4.0])
def test_the_test_of_independence_keeps_its_level(epsilon, monkeypatch):
    """Of 200 null runs at 5%, 28 or more are rejected with a probability of 1e-6.

    A p-value from 199 simulations keeps its level too: more would only tell 0.005 from 0.0001.
    """
    monkeypatch.setattr(simulated_null, "MOST", 199)
    survey = ldp.Questionnaire({"a": ldp.Choice(2), "b": ldp.Choice(3)}, epsilon=epsilon, cross="all")
    part = survey.part("a,b")
    random = np.random.default_rng(2)
    truth = np.outer([0.7, 0.25, 0.05], [0.1, 0.3, 0.55, 0.05])
    rejected = 0
    for seed in range(200):
        people = random.multinomial(2_000, truth.ravel())
        counted = part.plan.simulate(people, seed=seed)
        rejected += p_value(truth, counted, (2, 3)) <= 0.05
    assert rejected < 28


@pytest.mark.parametrize(("agree", "epsilon", "deviation"), [(0.97, 1.0, 4.0), (0.0, 1.0, 1.0), (0.0, 4.0, 0.3)])
def test_kinds_differ_as_much_as_the_data_say(monkeypatch, agree, epsilon, deviation):
    """Answers that determine each other need kinds that differ a lot; independent ones would only fit noise by them."""
    chosen = []

    def spied(*given):
        chosen.append(best(*given))
        return chosen[-1]

    best = draws._best_deviation
    monkeypatch.setattr(draws, "_best_deviation", spied)
    monkeypatch.setattr("localdp.questionnaires.result.draw", partial(draws.draw, draws=2))
    survey = ldp.Questionnaire({name: ldp.Choice(5) for name in "abc"}, epsilon=epsilon, cross="all", users=20_000)
    random = np.random.default_rng(3)
    kind, own = random.integers(0, 5, 20_000), random.integers(0, 5, (3, 20_000))
    answers = {name: np.where(random.random(20_000) < agree, kind, one) for name, one in zip("abc", own, strict=True)}
    table = survey.simulate(answers, seed=1).calibrate()["a", "b"].shares
    assert WITHIN[chosen[0]] == deviation
    assert np.trace(table) == pytest.approx(agree**2 + (1 - agree**2) / 5, abs=0.2)


def test_the_less_is_known_of_a_small_share_the_longer_is_its_interval():
    ends = []
    for spread in (0.005, 0.02, 0.1, 0.3):
        best = np.array([0.01, 0.99])
        low, high = DrawnPosterior(best, best + spread * np.array([[-1.0], [1.0]]), 1.0).shortest_intervals(0.9)
        assert low[1] == pytest.approx(1 - high[0])
        ends.append(high[0])
    assert ends == sorted(ends)
    assert ends[-1] > 0.3


def test_what_is_asked_wrongly_is_explained():
    """Untyped errors, shares that were nan, and advice to cross what cannot be crossed."""
    survey = ldp.Questionnaire(
        {"diet": ldp.Choice(["vegan", "any"]), "age": ldp.Scale(1, 3), "pets": ldp.Choices(["cat", "dog"])},
        epsilon=2.0,
        cross=[("diet", "age")],
    )
    answers = {"diet": ["vegan", "any"] * 200, "age": [1, 3] * 200, "pets": [["cat"], []] * 200}
    result = survey.simulate(answers, seed=1).calibrate()
    for ask, words in {
        "no name": (lambda: result[5], "no question 5"),
        "several answers": (lambda: result["diet", "pets"], "'pets' has several answers"),
        "the same twice": (lambda: result["diet", "diet"], "two different ones"),
        "given nothing": (lambda: result["age"].given(diet=[]), "no answer at all"),
        "given without a question": (lambda: result["age"].given("vegan"), "given\\(diet='vegan'\\)"),
        "tables given nobody knows what": (lambda: result.tables_given("x", 1), "no question 'x'"),
    }.values():
        with pytest.raises(InvalidInputError, match=words):
            ask()


def test_questionnaires_with_one_document_are_equal():
    survey = ldp.Questionnaire({"age": ldp.Scale(1, 3), "diet": ldp.Choice(["vegan", "any"])}, epsilon=2.0, cross="all")
    again = ldp.Questionnaire.from_json(survey.to_json())
    assert again == survey
    assert {again: 1}[survey] == 1
    assert survey != ldp.Questionnaire(survey.questions, epsilon=1.0, cross="all")
