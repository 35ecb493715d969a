"""What counts say: of pure mechanisms as before, and through a channel whose outcomes are not the cells."""

from fractions import Fraction

import numpy as np
import pytest
from questions_outside import Gaps

import localdp as ldp
from localdp.checks import check_mechanism
from localdp.errors import ImpureMechanismError, InvalidInputError
from localdp.mechanisms import Mechanism, Supported, Through, create


def test_a_pure_mechanism_observes_what_the_formula_gives():
    mechanism = ldp.Plan(50, "oue", 1.0).mechanism
    counts = np.arange(50) * 7
    seen = mechanism.observe(counts, 1_000)
    assert isinstance(seen, Supported)
    expected = (counts - 1_000 * mechanism.q_star) / (mechanism.p_star - mechanism.q_star)
    np.testing.assert_allclose(seen.frequencies, expected, rtol=1e-12)
    assert (seen.variance, seen.excess_variance) == (mechanism.variance(1_000), mechanism.excess_variance)
    assert seen.probabilities == (mechanism.p_star, mechanism.q_star)


def test_a_channel_of_a_pure_mechanism_gives_the_same_estimates():
    """Under grr the outcomes exclude each other, so that both ways apply."""
    mechanism = ldp.Plan(5, "grr", 1.5).mechanism
    law = np.array([[float(mechanism.chance(i, o)) for o in range(5)] for i in range(5)])
    counts = np.array([300, 210, 190, 160, 140])
    through, formula = Through(counts, 1_000, law), mechanism.observe(counts, 1_000)
    np.testing.assert_allclose(through.frequencies, formula.frequencies, rtol=1e-9)
    exact = formula.variance + formula.excess_variance * formula.frequencies
    np.testing.assert_allclose(through.variance, exact, rtol=1e-9)


def test_estimates_through_a_channel_are_the_least_squares_with_these_weights():
    rng = np.random.default_rng(3)
    law = rng.dirichlet(np.ones(9), 4)
    counts = rng.integers(50, 400, 9)
    expected = law.mean(axis=0)  # of each outcome, if the cells are equally frequent
    scale = 1 / np.sqrt(expected)
    solved = np.linalg.lstsq(law.T * scale[:, None], counts * scale, rcond=None)[0]
    np.testing.assert_allclose(Through(counts, int(counts.sum()), law).frequencies, solved, rtol=1e-9)


def test_estimates_through_a_channel_add_up_to_the_users():
    mechanism = Gaps(6, 1.0)
    counts = np.array([100, 80, 60, 90, 120, 140, 30, 5])
    assert mechanism.observe(counts, int(counts.sum())).frequencies.sum() == pytest.approx(counts.sum())


def test_variances_through_a_channel_are_those_of_multinomial_counts():
    mechanism, held = Gaps(6, 1.0), np.array([500, 0, 200, 100, 0, 200])
    law = np.array([[float(mechanism.chance(i, o)) for o in range(mechanism.outcomes)] for i in range(6)])
    covariance = sum(n * (np.diag(row) - np.outer(row, row)) for n, row in zip(held, law, strict=True))
    seen = mechanism.observe(held @ law, 1_000)
    np.testing.assert_allclose(seen.variance, np.diag(seen.weights @ covariance @ seen.weights.T), rtol=1e-9)


def test_cells_that_cannot_be_told_apart_are_refused():
    with pytest.raises(InvalidInputError, match="cannot be told apart"):
        _ = Through(np.array([5, 5]), 10, np.array([[0.5, 0.5], [0.5, 0.5]])).frequencies


def test_a_matrix_of_another_shape_is_refused():
    with pytest.raises(InvalidInputError, match="a column for each of the 3 outcomes"):
        Through(np.array([5, 5, 2]), 12, np.array([[0.5, 0.5], [0.25, 0.75]]))


def test_the_formula_of_the_paper_is_refused_with_the_reason():
    mechanism = Gaps(6, 1.0)
    for name in ("p", "q", "p_star", "q_star", "gap"):
        with pytest.raises(ImpureMechanismError, match="no two probabilities"):
            getattr(mechanism, name)
    assert not mechanism.pure
    assert ldp.Plan(6, "grr", 1.0).mechanism.pure


def test_a_mechanism_derived_from_the_base_class_with_p_and_q_is_pure():
    """As authors wrote it before there was `PureMechanism`."""
    kind = type("OldWay", (Mechanism,), {"name": "old-way", "p": Fraction(1, 2), "q": Fraction(1, 4)})
    assert kind.p is not Mechanism.p


@pytest.mark.slow
def test_the_public_checks_hold_for_outcomes_that_are_not_cells():
    check_mechanism(Gaps)


@pytest.mark.parametrize("wrong", ["chance", "count", "heavy"])
def test_wrong_outcomes_are_caught(wrong):
    def chance(self, item, outcome):
        right = Gaps.chance(self, item, outcome)
        return right + Fraction(1, 2**self.width) if outcome == 0 else right

    def configure(self):
        Gaps.configure(self)
        self.heavy += self.heavy // 8
        self.named = 2 * self.heavy + (self.gaps - 2) * self.light

    broken = {
        "chance": {"chance": chance},
        "count": {"count": lambda self, rows: np.roll(Mechanism.count(self, rows), 1)},
        "heavy": {"configure": configure},
    }[wrong]
    with pytest.raises(ldp.checks.CheckFailure):
        check_mechanism(type("Broken", (Gaps,), {"name": f"broken-{wrong}", **broken}))


@pytest.mark.parametrize("mechanism", [Gaps(8, 2.0), *(create(name, 8, 1.0).mechanism for name in ("oue", "grr"))])
def test_the_push_of_a_report_is_the_most_that_one_more_of_any_outcome_adds(mechanism):
    counts = np.full(mechanism.outcomes, 50)
    n = int(counts.sum())
    before = mechanism.estimate(counts, n)
    moved = [mechanism.estimate(counts + step, n + 1) - before for step in np.eye(mechanism.outcomes, dtype=np.int64)]
    assert mechanism.push == pytest.approx(np.max(moved))
