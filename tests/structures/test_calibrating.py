"""`estimate.calibrate(structure=...)` as people call it."""

from __future__ import annotations

import numpy as np
import pytest

import localdp as ldp
from localdp.priors import Noise
from localdp.structures import calibration, crossed
from localdp.structures.calibration import structured
from localdp.structures.field import Field
from localdp.structures.likelihood import CellLikelihood
from localdp.structures.posterior import StructuredPosterior, added_up, bounded_interval


def smooth(d, n):
    t = (np.arange(d) + 0.5) / d
    shares = np.exp(-0.5 * ((t - 0.4) / 0.15) ** 2)
    return np.floor(n * shares / shares.sum())


def estimate_of(truth, seed, variance=4.0, **options):
    n = int(truth.sum())
    noisy = truth + np.random.default_rng(seed).normal(0, np.sqrt(variance * n), truth.size)
    return ldp.Estimate(noisy, n=n, variance=variance * n, **options)


def error(result, truth):
    return float(np.mean((result.frequencies - truth) ** 2))


def test_an_order_is_used_where_there_is_one_and_not_where_there_is_none():
    truth = smooth(60, 50_000)
    estimate = estimate_of(truth, 1)
    found = estimate.calibrate(structure=ldp.Ordered())
    assert error(found, truth) < 0.4 * error(estimate.calibrate(), truth)
    assert "agree" in found.notes[0]
    shuffled = np.random.default_rng(2).permutation(truth)
    mixed = estimate_of(shuffled, 1)
    unused = mixed.calibrate(structure=ldp.Ordered())
    assert error(unused, shuffled) < 1.05 * error(mixed.calibrate(), shuffled)
    assert "not" in unused.notes[0]


def test_the_result_answers_everything_that_calibrated_frequencies_answer():
    truth = smooth(40, 40_000)
    found = estimate_of(truth, 3).calibrate(structure=ldp.Ordered())
    assert found.frequencies.sum() == pytest.approx(truth.sum(), rel=1e-3)
    low, high = found.interval(0.9)
    assert (low <= found.frequencies + 1).all()
    assert (found.frequencies <= high + 1).all()
    wider = found.interval(0.99)
    assert (wider[1] - wider[0] >= high - low).all()
    above = found.probability_above(1000)
    assert ((above >= 0) & (above <= 1)).all()
    assert above[found.frequencies > 1500].min() > above[found.frequencies < 300].max()
    assert found.probability_above(-1).min() == 1
    assert found.probability_above(1e9).max() == 0
    assert found.quantile(0.5) == pytest.approx(found.frequencies, abs=2.5 * found.std.max())
    assert len(found.top(5).items) == 5
    assert set(found.heavy_hitters(1500).indices) <= set(np.flatnonzero(found.frequencies > 1500))
    assert found.project("norm-sub").frequencies.sum() == pytest.approx(truth.sum())
    assert "Ordered()" in repr(found)
    assert found.table().columns["low"].size == 40
    whole = found.group({"all": list(range(40)), "half": list(range(20))}).columns
    assert whole["frequency"][0] == pytest.approx(truth.sum(), rel=1e-3)
    assert whole["high"][0] - whole["low"][0] <= 2


def test_neighbours_are_correlated_and_sums_know_it():
    truth = smooth(60, 50_000)
    posterior = estimate_of(truth, 5).calibrate(structure=ldp.Ordered()).structured.posterior
    few = np.zeros(60)
    few[20:25] = 1.0
    together = posterior.sum_moments(few)[1]
    apart = np.square(posterior.deviations()[20:25]).sum()
    assert together > 1.5 * apart


def test_reversing_the_order_reverses_the_answer():
    truth = smooth(30, 30_000)
    estimate = estimate_of(truth, 7)
    mirrored = ldp.Estimate(estimate.frequencies[::-1].copy(), n=estimate.n, variance=estimate.variance)
    one, other = (each.calibrate(structure=ldp.Ordered()) for each in (estimate, mirrored))
    np.testing.assert_allclose(one.frequencies, other.frequencies[::-1], rtol=1e-6, atol=0.01)


def test_turning_a_circle_turns_the_answer():
    truth = np.roll(smooth(24, 40_000), 11)
    estimate = estimate_of(truth, 7)
    turned = ldp.Estimate(np.roll(estimate.frequencies, 5), n=estimate.n, variance=estimate.variance)
    one, other = (each.calibrate(structure=ldp.Ordered(circular=True)) for each in (estimate, turned))
    np.testing.assert_allclose(np.roll(one.frequencies, 5), other.frequencies, rtol=1e-4, atol=0.5)


def test_transposing_and_relabelling_a_table_changes_nothing_else():
    rng = np.random.default_rng(1)
    truth = np.floor(60_000 * np.outer(rng.dirichlet(np.ones(5)), rng.dirichlet(np.ones(6)))).ravel()
    estimate = estimate_of(truth, 9)
    found = estimate.calibrate(structure=ldp.Crossed((5, 6))).frequencies.reshape(5, 6)
    rows, columns = rng.permutation(5), rng.permutation(6)
    mixed = estimate.frequencies.reshape(5, 6)[rows][:, columns].T.ravel().copy()
    turned = ldp.Estimate(mixed, n=estimate.n, variance=estimate.variance)
    other = turned.calibrate(structure=ldp.Crossed((6, 5))).frequencies.reshape(6, 5)
    np.testing.assert_allclose(found[rows][:, columns].T, other, rtol=1e-4, atol=0.5)


def test_three_questions_are_calibrated_too():
    rng = np.random.default_rng(4)
    shares = np.einsum("i,j,k->ijk", *(rng.dirichlet(np.full(size, 3.0)) for size in (3, 4, 5))).ravel()
    truth = np.floor(100_000 * shares)
    estimate = estimate_of(truth, 2)
    found = estimate.calibrate(structure=ldp.Crossed((3, 4, 5)))
    assert error(found, truth) < 0.8 * error(estimate.calibrate(), truth)


@pytest.mark.parametrize(
    ("structure", "fast"),
    [(ldp.Ordered(), lambda ground: Field(ground, dense=False)), (ldp.Crossed((7, 10)), calibration._field)],
    ids=["a band", "a table"],
)
def test_fast_solvers_give_what_full_matrices_give(structure, fast, monkeypatch):
    truth = smooth(70, 70_000)
    likelihood = CellLikelihood(estimate_of(truth, 8).frequencies, Noise(4.0 * truth.sum()))
    answers = []
    for solver in (lambda ground: Field(ground, dense=True), fast):
        monkeypatch.setattr(calibration, "_field", solver)
        found = structured(structure, likelihood, float(truth.sum()))
        answers.append(StructuredPosterior(found.fits, found.weights, truth.sum(), float(truth.sum())))
    one, other = (posterior.means() for posterior in answers)
    np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-6 * answers[0].deviations().max())
    np.testing.assert_allclose(answers[0].deviations(), answers[1].deviations(), rtol=1e-6)


@pytest.mark.parametrize("options", [{"total": None}, {"variance": 6.0}, {"excess_variance": 1.5}])
def test_unknown_totals_and_other_noise(options):
    truth = smooth(40, 40_000)
    estimate = estimate_of(truth, 11, **options)
    found = estimate.calibrate(structure=ldp.Ordered(), warn=False)
    assert error(found, truth) < error(estimate.project("base-pos"), truth)
    by_item = ldp.Estimate(estimate.frequencies, n=estimate.n, variance=np.full(40, estimate.variance))
    np.testing.assert_allclose(
        by_item.calibrate(structure=ldp.Ordered()).frequencies,
        ldp.Estimate(estimate.frequencies, n=estimate.n, variance=estimate.variance)
        .calibrate(structure=ldp.Ordered())
        .frequencies,
        rtol=1e-3,
        atol=1.0,
    )


@pytest.mark.parametrize("structure", [ldp.Ordered(), ldp.Crossed((4, 10)), ldp.Like(np.ones(40))])
@pytest.mark.parametrize("shares", [np.full(40, 1 / 40), 0.5 ** np.arange(1, 41)])
def test_frequencies_add_up_to_the_known_total(structure, shares):
    truth = np.random.default_rng(3).multinomial(20_000, shares / shares.sum())
    estimate = ldp.Plan(40, "oue", 1.0).simulate(truth, seed=5).estimate()
    found = estimate.calibrate(structure=structure, warn=False)
    assert found.frequencies.sum() == pytest.approx(20_000, rel=1e-9)
    assert found.frequencies.min() >= 0
    assert found.group({"all": range(40)})["frequency"][0] == pytest.approx(20_000, rel=1e-9)


def test_intervals_of_rare_cells_allow_for_interactions_that_nobody_has_seen(monkeypatch):
    """The frequencies stay as they are, and so do intervals of frequent cells and of everybody."""
    rows, columns = np.linspace(-1, 1, 10), np.linspace(-1, 1, 20)
    shares = np.exp(1.5 * np.outer(rows, columns)) / np.arange(1, 21)
    truth = np.random.default_rng(2).multinomial(100_000, (shares / shares.sum()).ravel())
    estimate = ldp.Plan(200, "oue", 1.0).simulate(truth, seed=4).estimate()
    found, widths, ranges = [], [], []
    for unseen in (crossed.UNSEEN, 0.0):
        monkeypatch.setattr(crossed, "UNSEEN", unseen)
        one = estimate.calibrate(structure=ldp.Crossed((10, 20)), warn=False)
        found.append(one)
        low, high = one.interval(0.9)
        widths.append(high - low)
        groups = one.group({"all": range(200), "the last column": range(19, 200, 20)})
        ranges.append(groups["high"] - groups["low"])
    np.testing.assert_allclose(found[0].frequencies, found[1].frequencies, rtol=1e-9)
    rare = truth < 0.3 * np.sqrt(estimate.variance)
    assert widths[0][rare].mean() > 1.2 * widths[1][rare].mean()
    assert widths[0][truth.argmax()] == pytest.approx(widths[1][truth.argmax()], rel=0.02)
    assert ranges[0][0] == pytest.approx(0, abs=1e-6)
    assert ranges[0][1] > ranges[1][1]


def test_what_is_missing_goes_where_doubt_is():
    found = added_up(np.array([1.0, 0.1, 8.0]), np.array([1.0, 4.0, 0.0]), 7.5)
    assert found.tolist() == pytest.approx([0.0, 0.0, 7.5])
    assert added_up(np.array([1.0, 2.0]), np.zeros(2), 4.0).tolist() == pytest.approx([1.5, 2.5])


def test_exact_counting_noise_is_used_where_it_matters():
    plan = ldp.Plan(100, mechanism="oue", epsilon=6.0)
    truth = smooth(100, 2_000).astype(int)
    estimate = plan.simulate(truth, seed=1).estimate()
    found = estimate.calibrate(structure=ldp.Ordered())
    assert type(found.noise).__name__ == "CountingNoise"
    assert error(found, truth) < error(estimate.project("norm-sub"), truth)


def test_without_noise_nothing_changes():
    estimate = ldp.Estimate([10.0, 20.0, 30.0, 40.0], n=100, variance=0.0)
    found = estimate.calibrate(structure=ldp.Ordered())
    assert found.frequencies.tolist() == pytest.approx([10, 20, 30, 40], rel=1e-9)
    assert "no noise" in found.notes[0]


@pytest.mark.parametrize(
    ("structure", "message"),
    [
        ("ordered", "a structure is"),
        (ldp.Crossed((5, 9)), "has 45 cells, but there are 40"),
        (ldp.Like(np.ones(7)), "has 7 items"),
    ],
)
def test_structures_that_do_not_fit_are_refused(structure, message):
    with pytest.raises(ldp.LocalDPError, match=message):
        estimate_of(smooth(40, 40_000), 1).calibrate(structure=structure)


@pytest.mark.parametrize("shape", [(5,), (5, 1), (2, 2, 2, 2), "5x8", (2.5, 4), None])
def test_bad_shapes_are_refused(shape):
    with pytest.raises(ldp.LocalDPError, match="shape of a table"):
        ldp.Crossed(shape)


def test_a_structure_goes_with_auto_only_and_not_with_opted_in_users():
    estimate = estimate_of(smooth(40, 40_000), 1)
    with pytest.raises(ldp.LocalDPError, match="auto"):
        estimate.calibrate("power-law", structure=ldp.Ordered())
    with pytest.raises(ldp.LocalDPError, match="opted in"):
        estimate.combine(np.ones(40, int)).calibrate(structure=ldp.Ordered())
    with pytest.raises(ldp.LocalDPError, match="circular"):
        ldp.Ordered("yes")


def test_intervals_of_sums_stay_within_their_bounds():
    assert bounded_interval(5.0, 0.0, 0.9, 0.0, 10.0) == (5.0, 5.0)
    for least, largest in ((0.0, 100.0), (0.0, np.inf), (-np.inf, 100.0), (-np.inf, np.inf)):
        low, high = bounded_interval(50.0, 900.0, 0.9, least, largest)
        assert least <= low < 50 < high <= largest
    far = bounded_interval(5000.0, 900.0, 0.9, 0.0, np.inf)
    assert far == pytest.approx((5000 - 1.645 * 30, 5000 + 1.645 * 30), rel=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("structure", "shares"),
    [
        (ldp.Ordered(), np.exp(-0.5 * ((np.arange(21_000) / 21_000 - 0.4) / 0.15) ** 2)),
        (ldp.Crossed((150, 160)), np.outer(1 / np.arange(1, 151), 1 / np.arange(1, 161)).ravel()),
    ],
)
def test_very_many_cells_are_handled_some_at_a_time(structure, shares):
    truth = np.floor(2e8 * shares / shares.sum())
    estimate = estimate_of(truth, 1)
    found = estimate.calibrate(structure=structure, warn=False)
    assert error(found, truth) < 0.7 * error(estimate.calibrate(found.prior, warn=False), truth)
    low, high = found.interval(0.9)
    assert ((low <= truth) & (truth <= high)).mean() > 0.7


@pytest.mark.parametrize(
    ("mechanism", "epsilon", "n"),
    [("oue", 1.0, 10**9), ("grr", 16.0, 10**5), ("oue", 16.0, 10**6), ("oue", 16.0, 10**5)],
)
def test_a_cell_that_everybody_is_in_keeps_its_peak(mechanism, epsilon, n):
    """Intervals went from 1,652 to 16,045 for 100,000 people, beyond n, or were nan: the search missed narrow peaks."""
    held = np.append(np.zeros(30, int), n)
    found = ldp.Plan(ldp.Scale(0, 30), mechanism, epsilon).simulate(held, seed=1).estimate().calibrate(warn=False)
    low, high = found.interval()
    assert np.isfinite([low, high, found.frequencies, found.std]).all()
    assert (low <= np.ceil(found.frequencies)).all()
    assert (np.floor(found.frequencies) <= high).all()
    assert 0.99 * n < low[-1] <= found.quantile(0.5)[-1] <= high[-1] <= n


def test_a_single_cell_has_its_mean_whatever_the_noise():
    """One person, epsilon 0.01: a share of 100% with an interval from 0 to 0."""
    held = np.append(1, np.zeros(30, int))
    found = ldp.Plan(ldp.Scale(0, 30), "oue", 0.01).simulate(held, seed=1).estimate().calibrate(warn=False)
    share = found.share_between(0, 0)
    assert share.value == pytest.approx(found.shares[0])
    assert share.low <= share.value <= share.high
