"""Differences and histories of scales: means and medians, and reports that are signs of many cells."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

import localdp as ldp
from localdp.changes.curves import Curves
from localdp.changes.refusals import repeated_outcomes
from localdp.errors import ImpureMechanismError, InvalidInputError
from localdp.kernels.simulated_null import MOST

CELLS = 31


def bell(middle: float) -> np.ndarray:
    shares = norm.pdf(np.arange(CELLS), middle, 4)
    return np.asarray(shares / shares.sum())


def asked(plan: ldp.Plan, middle: float, n: int, seed: int) -> ldp.Aggregate:
    return plan.simulate(np.random.default_rng(seed).multinomial(n, bell(middle)), seed=seed)


@pytest.fixture(scope="module")
def wave() -> ldp.Plan:
    return ldp.Plan(ldp.Scale(0, CELLS - 1), mechanism="wave", epsilon=2.0)


@pytest.fixture(scope="module")
def moved(wave: ldp.Plan) -> ldp.Difference:
    return ldp.difference(asked(wave, 13, 20_000, 1), asked(wave, 15, 30_000, 2))


class TestCurves:
    def test_amplitudes_are_those_that_the_outcomes_have(self, wave: ldp.Plan) -> None:
        """Shares that are a sum of curves go through the law, and come back as the same amplitudes."""
        law = wave.mechanism.observe(asked(wave, 13, 1_000, 1).counts, 1_000).law.T
        curves = Curves.around(bell(13), law, CELLS)
        amplitudes = np.random.default_rng(1).normal(0, 0.01, curves.variances.size)
        shares = curves.level + curves.cells @ amplitudes
        assert shares.sum() == pytest.approx(1)
        assert curves.amplitudes(law @ shares) == pytest.approx(amplitudes, abs=1e-6)

    def test_noise_of_amplitudes_is_independent_with_the_stated_variances(self, wave: ldp.Plan) -> None:
        """4,000 surveys: variances within six standard errors, correlations within six."""
        law = wave.mechanism.observe(asked(wave, 13, 1_000, 1).counts, 1_000).law.T
        curves, n = Curves.around(bell(13), law, CELLS), 50_000
        drawn = np.random.default_rng(2).multinomial(n, law @ bell(13), 4_000) / n
        seen = curves.amplitudes(drawn) * np.sqrt(n / curves.variances)
        covariance = np.cov(seen[:, :12].T)
        assert np.diag(covariance) == pytest.approx(1, abs=6 * np.sqrt(2 / 4_000))
        assert np.abs(covariance - np.diag(np.diag(covariance))).max() < 6 / np.sqrt(4_000)


class TestWave:
    def test_a_shift_is_seen_in_mean_median_and_cells(self, moved: ldp.Difference) -> None:
        assert moved.p_value == 1 / (MOST + 1)
        for change in (moved.mean(0.9999), moved.percentile(50, 0.9999)):
            assert 0 < change.low <= 2 <= change.high < 4
        low, high = moved.interval(0.9999)
        truth = bell(15) - bell(13)
        assert ((low <= truth) & (truth <= high)).mean() > 0.9
        assert np.corrcoef(moved.shares, truth)[0, 1] > 0.97
        assert moved.changed()
        assert "p = " in moved.notes[0]

    def test_there_are_no_raw_changes_of_single_cells(self, moved: ldp.Difference) -> None:
        for name in ("raw", "std_errors"):
            with pytest.raises(ImpureMechanismError):
                getattr(moved, name)

    def test_known_shares_are_a_test_of_goodness_of_fit(self, wave: ldp.Plan) -> None:
        survey = asked(wave, 13, 20_000, 3)
        right, wrong = (ldp.difference(bell(middle), survey) for middle in (13, 14))
        assert right.p_value > 0.001 > wrong.p_value
        assert wrong.mean(0.9999).low < -1 < wrong.mean(0.9999).high < 0

    def test_other_mechanisms_are_refused(self, wave: ldp.Plan) -> None:
        grr = ldp.Plan(wave.question, mechanism="grr", epsilon=2.0)
        for other in (grr, ldp.Plan(wave.question, mechanism="wave", epsilon=1.0)):
            with pytest.raises(InvalidInputError, match="same plan"):
                ldp.difference(asked(wave, 13, 2_000, 1), asked(other, 13, 2_000, 2))

    def test_a_history_is_quieter_than_its_days_and_sees_a_step(self, wave: ldp.Plan) -> None:
        days = [asked(wave, 13 if day < 5 else 18, 3_000, day) for day in range(10)]
        lines = ldp.history([*days[:3], ldp.Aggregate(wave), *days[4:]])
        means = np.array([line.mean().value for line in lines])
        assert means[[1, 3]] == pytest.approx(13, abs=0.8)
        assert means[-2:] == pytest.approx(18, abs=0.8)
        assert [line.n for line in lines[2:5]] == [3_000] * 3
        assert "no reports of this period" in lines[3].notes[-1]
        one = days[1].estimate().calibrate()
        truth = bell(13)
        assert np.abs(lines[1].shares - truth).sum() < np.abs(one.shares - truth).sum()
        assert lines[0].mean(0.9999).low < 13 < lines[0].mean(0.9999).high

    def test_one_period_is_the_calibrated_one(self, wave: ldp.Plan) -> None:
        day = asked(wave, 13, 3_000, 1)
        (line,) = ldp.history([day])
        assert line.shares == pytest.approx(day.estimate().calibrate().shares, abs=1e-9)

    def test_periods_that_repeat_reports_are_too_alike(self, wave: ldp.Plan) -> None:
        """Fresh ones are with a probability of 1e-4; nine of ten reports are repeated here."""
        same = asked(wave, 13, 9_000, 1)
        repeated = [asked(wave, 13, 1_000, 10 + day).merge(same) for day in range(10)]
        fresh = [asked(wave, 13, 10_000, 30 + day) for day in range(10)]
        assert repeated_outcomes(repeated) == pytest.approx(0.9, abs=0.05)
        assert repeated_outcomes(fresh) == 0
        with pytest.raises(InvalidInputError, match="reports_per_person"):
            ldp.history(repeated)
        assert len(ldp.history(repeated, reports_per_person=9.1)) == 10


def test_means_and_medians_of_ratings() -> None:
    plan = ldp.Plan(ldp.Scale(1, 5), epsilon=2.0)
    before, after = (
        plan.simulate(held, seed=seed)
        for seed, held in enumerate(([4_000] * 5, [1_000, 1_000, 4_000] * 1 + [7_000] * 2))
    )
    change = ldp.difference(before, after)
    mean = change.mean(0.9999)
    assert mean.low < 0.9 < mean.high
    assert mean.high - mean.low < 0.3
    assert change.percentile(50).value == 1
    assert any(note.startswith(f"the mean changed by {change.mean().value:+.3g} ") for note in change.notes)
    assert change.summary() == {"mean": change.mean(), "median": change.percentile(50)}
    with pytest.raises(InvalidInputError, match="above 0"):
        change.percentile(0)


def test_the_mean_s_interval_knows_that_people_are_a_sample() -> None:
    """Without any noise to speak of, it is the interval of two means."""
    plan = ldp.Plan(ldp.Scale(0, 1), epsilon=12.0)
    change = ldp.difference(plan.simulate([500, 500], seed=1), plan.simulate([500, 500], seed=2))
    mean = change.mean(0.9)
    assert (mean.high - mean.low) / 2 == pytest.approx(1.645 * np.sqrt(2 * 0.25 / 1_000), rel=0.1)


def test_items_without_an_order_have_no_mean() -> None:
    plan = ldp.Plan(["a", "b"], epsilon=2.0)
    change = ldp.difference(plan.simulate([50, 50], seed=1), plan.simulate([60, 40], seed=2))
    with pytest.raises(InvalidInputError, match="no order"):
        change.mean()
    assert change.summary() == {}
