"""Random questionnaires of all sizes: results are shares that add up, and what is large is found."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

import localdp as ldp
from localdp.questionnaires import QuestionnaireAggregate, classes, draws
from localdp.questionnaires import result as result_module
from localdp.questionnaires.draws import draw

MANY = 10**7  # so many that shares are known to 0.01, and not yet long to simulate


def _random(seed):
    """A questionnaire, the true joint table of its first two questions, and an aggregate of very few or very many."""
    random = np.random.default_rng(seed)
    kinds = [
        lambda size: ldp.Choice(size),
        lambda size: ldp.Choice([f"answer {one}" for one in range(size)], other="answer 0"),
        lambda size: ldp.Scale(1, size),
    ]
    names = [f"q{one}" for one in range(random.integers(1, 5))]
    questions = {name: kinds[random.integers(3)](int(random.choice([2, 3, 7, 20]))) for name in names}
    cross = "all" if random.random() < 0.7 else None
    epsilon = float(random.choice([0.1, 1.0, 4.0, 10.0]))
    survey = ldp.Questionnaire(questions, epsilon=epsilon, cross=cross, users=int(random.choice([10, 10_000])))
    people = int(random.choice([1, 30, 3_000, MANY]))
    truth = {name: random.dirichlet(np.full(one.cells.size, 0.5)) for name, one in survey.form.items()}
    counted, left = {}, people
    for number, part in enumerate(survey.parts()):
        n = left if number == len(survey.parts()) - 1 else int(random.binomial(left, 1 / len(survey.parts())))
        left -= n
        table = truth[part.names[0]]
        for other in part.names[1:]:
            table = np.outer(table, truth[other]).ravel()
        counted[part.key] = part.plan.simulate(random.multinomial(n, table), seed=seed) if n else None
    given = {key: one for key, one in counted.items() if one is not None}
    return survey, truth, QuestionnaireAggregate(survey, given)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_results_are_shares_that_agree(seed, monkeypatch):
    monkeypatch.setattr(result_module, "draw", partial(draw, draws=4))  # nothing below depends on these numbers
    monkeypatch.setattr(draws, "HALVINGS", 1)
    monkeypatch.setattr(classes, "STARTS", 1)
    survey, truth, aggregate = _random(seed)
    result = aggregate.calibrate()
    for name in survey.questions:
        if not any(one.n for key, one in aggregate.by_part.items() if name in key.split(",")):
            continue
        one = result[name]
        low, high = one.interval()
        assert np.isfinite(one.shares).all()
        assert (one.shares >= 0).all()
        assert one.shares.sum() + one.no_answer.value == pytest.approx(1)
        assert (low >= 0).all()
        assert (low <= one.frequencies + 1e-6 * one.n).all()
        assert (one.frequencies <= high + 1e-6 * one.n).all()
        assert (high <= one.n * (1 + 1e-9)).all()
        if aggregate.n == MANY and survey.epsilon >= 1:
            assert np.abs(one.shares - truth[name][: one.shares.size]).sum() / 2 < 0.02
    for pair in survey.crossings:
        if aggregate.by_part[",".join(pair)].n:
            best, drawn = result.whole_table(*pair)
            assert np.isfinite(drawn).all()
            assert best.sum() == pytest.approx(1)
            assert result[pair].shares.shape == tuple(survey.questions[name].cells.size for name in pair)
