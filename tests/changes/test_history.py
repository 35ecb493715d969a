"""Histories: all periods estimated together."""

import numpy as np
import pytest

import localdp as ldp
from localdp.changes.smoothing import Basis, drift_evidence, find_steps
from localdp.errors import EmptyError, InvalidInputError, PlanMismatchError


def zipf(d: int) -> np.ndarray:
    weights = 1 / np.arange(1, d + 1) ** 1.1
    return weights / weights.sum()


def days(plan: ldp.Plan, shares: np.ndarray, people: list[int], seed: int) -> list[ldp.Aggregate]:
    """Aggregates of people who are drawn from the population of each period: axes of shares are items and periods."""
    rng = np.random.default_rng(seed)
    return [
        plan.simulate(rng.multinomial(n, column / column.sum()), seed=int(rng.integers(1 << 40)))
        if n
        else ldp.Aggregate(plan)
        for n, column in zip(people, shares.T, strict=True)
    ]


def with_step(d: int, periods: int, item: int = 5) -> np.ndarray:
    shares = np.tile(zipf(d)[:, None], periods)
    shares[item, periods // 2 :] *= 3
    return shares / shares.sum(axis=0)


def lines(found: list[ldp.Calibrated]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    n = np.array([one.n for one in found])
    low, high = (np.array([one.interval(0.9)[side] for one in found]).T / n for side in (0, 1))
    return np.array([one.shares for one in found]).T, low, high


class TestHistory:
    def test_stable_shares_have_quiet_lines(self) -> None:
        truth = np.tile(zipf(100)[:, None], 20)
        periods = days(ldp.Plan(100, epsilon=2.0), truth, [5_000] * 20, seed=1)
        found, low, high = lines(ldp.history(periods))
        raw = np.array([one.estimate().shares for one in periods]).T
        errors = [float(np.square(one[:10] - truth[:10]).mean()) for one in (found, raw)]
        assert errors[0] < 0.1 * errors[1]
        assert ((low <= truth) & (truth <= high)).mean() > 0.8

    def test_a_step_is_seen_as_a_step(self) -> None:
        truth = with_step(100, 20)
        periods = days(ldp.Plan(100, epsilon=2.0), truth, [5_000] * 20, seed=2)
        found, low, _ = lines(ldp.history(periods))
        assert np.abs(found[5, :10] - truth[5, 0]).max() < 0.02
        assert np.abs(found[5, 10:] - truth[5, -1]).max() < 0.02
        until = ldp.history(periods[:13])  # three days after
        assert until[-1].interval(0.9)[0][5] / 5_000 > until[0].interval(0.9)[1][5] / 5_000
        assert low[5, -1] > 1.5 * truth[5, 0]

    def test_two_steps_of_one_item(self) -> None:
        truth = np.tile(zipf(60)[:, None], 30)
        truth[4, 10:20] *= 4
        truth /= truth.sum(axis=0)
        found, _, _ = lines(ldp.history(days(ldp.Plan(60, epsilon=3.0), truth, [10_000] * 30, seed=3)))
        assert np.abs(found[4] - truth[4]).max() < 0.02

    def test_it_agrees_with_the_table_of_the_whole_range(self) -> None:
        people = [300, 5_000, 0, 2_000, 40, 8_000]
        truth = with_step(50, 6)
        periods = days(ldp.Plan(50, epsilon=2.0), truth, people, seed=4)
        whole = ldp.Aggregate(periods[0].plan)
        for period in periods:
            whole.merge(period)
        found, _, _ = lines(ldp.history(periods))
        mean = found @ (np.array(people) / sum(people))
        assert mean == pytest.approx(whole.estimate().calibrate(warn=False).shares, abs=1e-9)
        assert found.min() >= 0

    def test_shares_of_every_period_add_up(self) -> None:
        truth = with_step(200, 8)
        for people in ([400] * 8, [3_000, 5, 0, 900, 40, 1, 8_000, 60]):
            found, _, _ = lines(ldp.history(days(ldp.Plan(200, epsilon=1.0), truth, people, seed=10)))
            assert found.sum(axis=0) == pytest.approx(np.ones(8), abs=1e-5)

    def test_an_item_that_is_seen_well_keeps_its_line(self) -> None:
        """Its line must not move because those of the many rare items, which nobody can see, do not add up.

        The ratio was 0.90 to 1.07 over nine seeds, and 2.2 with this one when every item took its part of the lack.
        """
        rng = np.random.default_rng(13)
        paths = zipf(400)[:, None] * np.exp(np.cumsum(rng.normal(0, 0.14, (400, 40)), axis=1))
        truth = paths / paths.sum(axis=0)
        periods = days(ldp.Plan(400, epsilon=3.5), truth, [20_000] * 40, seed=14)
        found, _, _ = lines(ldp.history(periods))
        raw = np.array([one.estimate().shares for one in periods]).T
        largest = int(truth.mean(axis=1).argmax())
        errors = [float(np.square(one[largest] - truth[largest]).mean()) ** 0.5 for one in (found, raw)]
        assert errors[0] < 1.3 * errors[1]

    def test_a_few_reports_of_a_day_that_has_begun_move_little(self) -> None:
        """Three people do not say that shares have changed by a quarter, after 60,000 others."""
        shares = np.array([[0.4, 0.3, 0.2, 0.1]] * 2).T
        errors, held = [], []
        for seed in range(10):
            found, low, high = lines(ldp.history(days(ldp.Plan(4, epsilon=1.0), shares, [60_000, 3], seed=seed)))
            errors.append(np.abs(found[:, 1] - shares[:, 1]).mean())
            held.append(((low <= shares) & (shares <= high)).mean())
        assert np.mean(errors) < 0.1
        assert np.mean(held) > 0.9

    def test_one_period_is_the_calibrated_one(self) -> None:
        (period,) = days(ldp.Plan(30, epsilon=2.0), zipf(30)[:, None], [4_000], seed=5)
        (found,) = ldp.history([period])
        expected = period.estimate().calibrate()
        assert found.shares == pytest.approx(expected.shares)
        # The intervals are those of the population, so they are a little wider.
        assert (found.interval()[1] - found.interval()[0]).sum() > (
            expected.interval()[1] - expected.interval()[0]
        ).sum()

    def test_empty_periods_lie_between_their_neighbours_and_are_less_certain(self) -> None:
        truth = np.tile(zipf(20)[:, None], 12) * np.exp(
            np.random.default_rng(6).normal(0, 0.2, (20, 12)).cumsum(axis=1)
        )
        people = [0, 9_000, 9_000, 9_000, 9_000, 0, 0, 0, 9_000, 9_000, 9_000, 0]
        found = ldp.history(days(ldp.Plan(20, epsilon=3.0), truth / truth.sum(axis=0), people, seed=6))
        shares, low, high = lines(found)
        assert found[5].n == 9_000
        assert "no reports" in found[5].notes[0]
        middle = (high - low)[:, 6].mean()
        assert middle > 1.1 * (high - low)[:, 2].mean()
        between = np.minimum(shares[:, 4], shares[:, 8]) - 1e-9, np.maximum(shares[:, 4], shares[:, 8]) + 1e-9
        assert ((between[0] <= shares[:, 6]) & (shares[:, 6] <= between[1])).all()

    def test_the_same_people_share_their_noise(self) -> None:
        """Permanent responses of the same people: days more add nothing, so intervals are those of one day."""
        plan = ldp.Plan(100, mechanism="oue", epsilon=1.0)
        period = plan.simulate(np.random.default_rng(7).multinomial(5_000, zipf(100)), seed=7)
        same = [ldp.Aggregate.from_bytes(period.to_bytes()) for _ in range(10)]
        with pytest.raises(InvalidInputError, match="reports_per_person"):
            ldp.history(same)
        found = ldp.history(same, reports_per_person=10)
        expected = period.estimate().calibrate()
        assert found[3].shares == pytest.approx(expected.shares, abs=1e-6)
        one, ten = (interval[1] - interval[0] for interval in (expected.interval(), found[3].interval()))
        assert ten.mean() > 0.95 * one.mean()

    def test_scales_have_means_and_percentiles_of_every_day(self) -> None:
        plan = ldp.Plan(ldp.Scale(1, 5), epsilon=2.0)
        truth = np.tile(np.array([0.1, 0.1, 0.2, 0.3, 0.3])[:, None], 8)
        truth[:, 4:] = np.array([0.3, 0.3, 0.2, 0.1, 0.1])[:, None]
        found = ldp.history(days(plan, truth, [3_000] * 8, seed=8))
        first, last = found[0].mean(), found[-1].mean()
        assert first.low < 3.6 < first.high
        assert last.low < 2.4 < last.high
        assert last.high < first.low
        assert found[-1].percentile(50).value == 2

    def test_groups_and_hitters_can_be_asked(self) -> None:
        plan = ldp.Plan(["tea", "coffee", "water"], epsilon=2.0)
        found = ldp.history(days(plan, np.tile([[0.5], [0.3], [0.2]], 5), [2_000] * 5, seed=9))
        table = found[2].group({"hot": ["tea", "coffee"], "all": ["tea", "coffee", "water"]})
        assert table["low"][0] < 1_600 < table["high"][0]
        assert table["frequency"][1] == pytest.approx(2_000, abs=1)
        assert list(found[2].heavy_hitters("40%")) == ["tea"]
        assert found[2].probability_above(0.4 * 2_000)[0] > 0.95
        assert list(found[2].top(1)) == ["tea"]

    def test_what_is_no_history(self) -> None:
        plan = ldp.Plan(3, epsilon=1.0)
        with pytest.raises(InvalidInputError, match="empty"):
            ldp.history([])
        with pytest.raises(EmptyError, match="n = 0"):
            ldp.history([ldp.Aggregate(plan)] * 2)
        with pytest.raises(InvalidInputError, match="Aggregate"):
            ldp.history([plan.simulate([5, 5, 5]).estimate()])  # type: ignore[list-item]
        with pytest.raises(PlanMismatchError):
            ldp.history([plan.simulate([5, 5, 5]), ldp.Plan(3, epsilon=2.0).simulate([5, 5, 5])])


class TestBasis:
    """The basis gives what the textbook's matrices give."""

    weights, times = np.array([3.0, 1.0, 5.0, 2.0]), np.array([0.0, 1.0, 3.0, 4.0])

    def exact(self, q: float, c: float) -> tuple[np.ndarray, np.ndarray]:
        """The precision of the path, and the covariance of what is seen, without its level."""
        laplacian = np.zeros((4, 4))
        for t, gap in enumerate(np.diff(self.times)):
            laplacian[t : t + 2, t : t + 2] += np.array([[1, -1], [-1, 1]]) / gap
        return np.diag(self.weights) / c + laplacian / q, laplacian

    def test_paths_and_variances(self) -> None:
        basis, c, drift = Basis(self.weights, self.times), 0.7, 2.5
        q = drift**2 * basis.unit * c
        y = np.array([0.3, 0.1, 0.7, 0.2])
        precision, _ = self.exact(q, c)
        mean, covariance = np.linalg.solve(precision, self.weights * y / c), np.linalg.inv(precision)
        gains = basis.gains(np.array([drift]))[0]
        level = self.weights @ y / self.weights.sum()
        assert basis.paths @ (gains * basis.coordinates(y)) + level == pytest.approx(mean)
        variances = c * np.square(basis.paths) @ gains + c / self.weights.sum()
        assert variances == pytest.approx(np.diag(covariance))

    def test_evidence_of_drift_and_of_a_step(self) -> None:
        basis, c, drift, rng = Basis(self.weights, self.times), 0.7, 1.5, np.random.default_rng(1)
        y = rng.normal(size=4)
        q = drift**2 * basis.unit * c
        contrasts = np.linalg.svd(np.ones((1, 4)))[2][1:]  # what does not depend on the level

        def log_density(extra: np.ndarray, q: float) -> float:
            walk = q * np.minimum.outer(self.times, self.times)
            covariance = contrasts @ (np.diag(c / self.weights) + walk + extra) @ contrasts.T
            z = contrasts @ y
            return float(-0.5 * (np.linalg.slogdet(covariance)[1] + z @ np.linalg.solve(covariance, z)))

        squares = np.square(basis.coordinates(y))[None] / c
        found = drift_evidence(basis, squares, np.array([drift]))[0, 0]
        none = np.zeros((4, 4))
        assert found == pytest.approx(log_density(none, q) - log_density(none, 0.0))
        gains = basis.gains(np.array([drift]))
        steps = find_steps(basis, basis.coordinates(y)[None], np.array([c]), gains)
        expected = []
        for moment in range(1, 4):
            after = (np.arange(4) >= moment).astype(float)
            precision = np.sum(np.square(basis.coordinates(after)) * (1 - gains[0])) / c
            for k in (4.0, 16.0, 64.0, 256.0, 1024.0):
                expected.append(log_density(np.outer(after, after) * k / precision, q) - log_density(none, q))
        assert steps.log_evidence[0] == pytest.approx(np.log(np.mean(np.exp(expected))))
        assert steps.moments.sum() == pytest.approx(1)


def test_one_aggregate_is_one_period():
    """Of few items the test for shared noise says nothing, and reports counted twice."""
    plan = ldp.Plan(["tea", "coffee", "water"], epsilon=1.0)
    monday, empty = plan.simulate([50, 30, 20], seed=1), ldp.Aggregate(plan)
    with pytest.raises(InvalidInputError, match="two periods"):
        ldp.history([monday, empty, monday])
    assert len(ldp.history([monday, empty, empty])) == 3
