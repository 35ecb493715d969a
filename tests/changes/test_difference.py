"""The difference of two surveys."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

import localdp as ldp
from localdp.changes.equality import equality_p_value
from localdp.changes.movement import evidence, learn, posterior_of_changes, scales, units
from localdp.changes.sides import Side
from localdp.errors import DomainError, InvalidInputError, UnknownItemError


def zipf(d: int) -> np.ndarray:
    weights = 1 / np.arange(1, d + 1) ** 1.1
    return weights / weights.sum()


def survey(plan: ldp.Plan, shares: np.ndarray, n: int, rng: np.random.Generator) -> ldp.Aggregate:
    return plan.simulate(rng.multinomial(n, shares), seed=int(rng.integers(1 << 40)))


@pytest.fixture(scope="module")
def change() -> ldp.Difference:
    plan, rng = ldp.Plan(40, epsilon=2.0), np.random.default_rng(1)
    before, after = zipf(40), zipf(40)
    after[3] *= 2
    return ldp.difference(survey(plan, before, 20_000, rng), survey(plan, after / after.sum(), 40_000, rng))


class TestDifference:
    def test_the_mover_is_found_and_heads_the_table(self, change: ldp.Difference) -> None:
        assert next(iter(change.changed(fdr=0.1))) == 3
        assert change.items[0] == 3
        assert change.p_value < 0.001
        assert change.probability_up[3] > 0.999
        low, high = change.interval(0.9999)  # a wide one: at 0.9, one seed in ten would miss
        x = zipf(40)[3]
        assert low[3] < 2 * x / (1 + x) - x < high[3]

    def test_noise_is_pulled_back(self, change: ldp.Difference) -> None:
        still = np.delete(np.arange(40), 3)
        assert np.abs(change.shares[still]).mean() < 0.7 * np.abs(change.raw[still]).mean()

    def test_changes_of_shares_that_add_up_add_up_to_nothing(self, change: ldp.Difference) -> None:
        assert abs(change.shares.sum()) < 0.05 * np.abs(change.shares).sum()

    def test_backwards_is_the_same_with_other_signs(self) -> None:
        plan, rng = ldp.Plan(6, epsilon=1.0), np.random.default_rng(2)
        before, after = survey(plan, zipf(6), 3_000, rng), survey(plan, zipf(6), 3_000, rng)
        forth, back = ldp.difference(before, after), ldp.difference(after, before)
        assert back.shares == pytest.approx(-forth.shares, abs=1e-12)
        assert back.interval()[0] == pytest.approx(-forth.interval()[1], abs=1e-9)
        assert back.probability_up == pytest.approx(1 - forth.probability_up, abs=1e-9)

    def test_intervals_are_nested_and_shares_lie_inside(self, change: ldp.Difference) -> None:
        (wide, narrow) = (change.interval(level) for level in (0.95, 0.5))
        assert (wide[0] < narrow[0]).all()
        assert (narrow[1] < wide[1]).all()
        assert ((wide[0] < change.shares) & (change.shares < wide[1])).all()

    def test_an_aggregate_its_estimate_and_its_calibrated_say_the_same(self) -> None:
        plan, rng = ldp.Plan(30, epsilon=2.0), np.random.default_rng(3)
        before, after = survey(plan, zipf(30), 9_000, rng), survey(plan, zipf(30), 9_000, rng)
        expected = ldp.difference(before, after).shares
        estimates = before.estimate(), after.estimate()
        calibrated = [one.calibrate() for one in estimates]
        assert ldp.difference(*estimates).shares == pytest.approx(expected)
        assert ldp.difference(*calibrated).shares == pytest.approx(expected)
        assert ldp.difference(calibrated[0].project("norm-sub"), estimates[1].zeroed()).shares == pytest.approx(
            expected
        )

    def test_two_plans_and_estimates_from_elsewhere_can_be_compared(self) -> None:
        rng = np.random.default_rng(4)
        shares, other = zipf(12), zipf(12)[::-1]
        first = survey(ldp.Plan(12, mechanism="oue", epsilon=1.0), shares, 20_000, rng)
        second = survey(ldp.Plan(12, mechanism="grr", epsilon=3.0), other, 5_000, rng)
        assert set(ldp.difference(first, second).changed()) >= {0, 11}
        elsewhere = ldp.Estimate(rng.normal(shares * 5_000, 60.0), n=5_000, variance=3_600.0)
        assert ldp.difference(elsewhere, first).p_value > 0.01
        assert ldp.difference(elsewhere, second).p_value < 0.001

    def test_a_list_of_equal_variances_is_one_variance(self) -> None:
        truth, rng = 30_000 * zipf(12), np.random.default_rng(3)
        noisy = [truth + rng.normal(0, 150, 12) for _ in range(2)]
        one, several = (
            ldp.difference(*(ldp.Estimate(found, n=30_000, variance=variance) for found in noisy))
            for variance in (150.0**2, np.full(12, 150.0**2))
        )
        assert several.p_value == one.p_value > 0.01
        np.testing.assert_allclose(several.shares, one.shares, atol=1e-12)
        np.testing.assert_allclose(several.interval(), one.interval(), atol=1e-9)

    def test_surveys_with_a_variance_for_each_item_can_be_compared(self) -> None:
        deviations, rng = np.geomspace(50, 500, 12), np.random.default_rng(4)
        shares = zipf(12)
        moved = shares.copy()
        moved[5] *= 3
        before, after, again = (
            ldp.Estimate(30_000 * found + rng.normal(0, deviations), n=30_000, variance=deviations**2)
            for found in (shares, moved / moved.sum(), shares)
        )
        assert ldp.difference(before, after).p_value < 0.01 < ldp.difference(before, again).p_value

    def test_sets_are_compared_by_the_share_of_people_who_hold_the_item(self) -> None:
        plan = ldp.Plan(["a", "b", "c"], epsilon=4.0, set_size=2)
        sets = [["a", "b"]] * 3_000 + [["a"]] * 3_000
        before, after = (
            plan.aggregate(plan.privatize(sets, seed=1)),
            plan.aggregate(plan.privatize([["a"]] * 6_000, seed=2)),
        )
        change = ldp.difference(before, after)
        assert list(change.changed(fdr=0.01)) == ["b"]
        assert change.shares[1] == pytest.approx(-0.5, abs=0.1)

    def test_known_shares_are_a_test_of_goodness_of_fit(self) -> None:
        plan, rng = ldp.Plan(8, epsilon=1.0), np.random.default_rng(5)
        agg = survey(plan, zipf(8), 20_000, rng)
        assert ldp.difference(zipf(8), agg).p_value > 0.01
        assert ldp.difference(agg, np.full(8, 1 / 8)).p_value < 0.001
        assert "known shares before" in ldp.difference(zipf(8), agg).table().title

    def test_it_prints_and_converts(self, change: ldp.Difference) -> None:
        assert repr(change).startswith("<Difference: 40 items, 20,000 people before and 40,000 people after")
        assert repr(change.changed()) == f"<Changed: {len(change.changed())} of 40 items changed (fdr 0.1)>"
        table = change.table()
        assert table["change"] == pytest.approx(table["after"] - table["before"], abs=1e-9)
        assert "p = " in change.notes[0]
        assert change.changed().notes

    @pytest.mark.parametrize("level", [0, 1, "x"])
    def test_levels_are_checked(self, change: ldp.Difference, level: object) -> None:
        with pytest.raises(InvalidInputError):
            change.interval(level)  # type: ignore[arg-type]
        with pytest.raises(InvalidInputError, match="fdr"):
            change.changed(fdr=level)  # type: ignore[arg-type]


class TestRefusals:
    def test_other_items(self) -> None:
        one, two = (ldp.Plan(list(items), epsilon=1.0).simulate([50, 50, 50], seed=1) for items in ("abc", "acb"))
        with pytest.raises(DomainError, match="other items"):
            ldp.difference(one, two)

    def test_the_same_reports(self) -> None:
        plan = ldp.Plan(20, epsilon=1.0)
        agg = plan.simulate([500] * 20, seed=1)
        for same in (agg, ldp.Aggregate.from_bytes(agg.to_bytes())):
            with pytest.raises(InvalidInputError, match="same reports"):
                ldp.difference(agg, same)
        with pytest.raises(InvalidInputError, match="same reports"):
            ldp.difference(agg.estimate(), agg.estimate())
        with pytest.raises(InvalidInputError, match="same reports"):
            ldp.difference(agg.estimate(), agg.estimate().calibrate())

    def test_permanent_responses_of_the_same_people(self) -> None:
        plan = ldp.Plan(400, mechanism="oue", epsilon=1.0)
        first = plan.simulate([20] * 400, seed=1)
        second = plan.simulate([1] * 400, seed=2).merge(first)
        with pytest.raises(InvalidInputError, match="permanent"):
            ldp.difference(first, second)

    def test_few_items_may_have_the_same_counts_by_chance(self) -> None:
        plan = ldp.Plan(2, epsilon=1.0)
        agg = plan.simulate([50, 50], seed=1)
        assert ldp.difference(agg, ldp.Aggregate.from_bytes(agg.to_bytes())).p_value > 0.5

    @pytest.mark.parametrize(
        ("before", "what"),
        [(7, "one side"), ([0.5], "2 items"), ([0.9, 0.3], "add up"), ([-0.5, 1.5], "from 0 to 1"), ("ab", "before")],
    )
    def test_what_is_no_side(self, before: object, what: str) -> None:
        agg = ldp.Plan(2, epsilon=1.0).simulate([50, 50], seed=1)
        with pytest.raises((InvalidInputError, DomainError), match=what if before != 7 else "before"):
            ldp.difference(before, agg)

    def test_two_lists_of_shares(self) -> None:
        with pytest.raises(InvalidInputError, match="one side"):
            ldp.difference([0.5, 0.5], [0.5, 0.5])

    def test_one_item_each_and_several(self) -> None:
        one = ldp.Plan(["a", "b", "c"], epsilon=1.0).simulate([50, 50, 50], seed=1)
        plan = ldp.Plan(["a", "b", "c"], epsilon=1.0, set_size=2)
        several = plan.aggregate(plan.privatize([["a", "b"]] * 100, seed=1))
        with pytest.raises(InvalidInputError, match="several"):
            ldp.difference(one, several)


class TestSide:
    @pytest.mark.parametrize(
        ("mechanism", "epsilon", "n"),
        [("oue", 4.0, 150), ("oue", 1.0, 4_000), ("grr", 1.0, 150), ("ss", 1.0, 150), ("llh", 2.0, 150)],
    )
    def test_stated_variances_are_those_of_real_surveys_and_of_redrawn_ones(
        self, mechanism: str, epsilon: float, n: int
    ) -> None:
        """A mean square of 1 +- 5 standard errors: fails by chance in fewer than 1e-5 of the seeds."""
        rng, shares, plan = np.random.default_rng(6), zipf(9), ldp.Plan(9, mechanism=mechanism, epsilon=epsilon)
        sides = [Side.of(survey(plan, shares, n, rng)) for _ in range(600)]
        expected = np.sqrt(sides[0].variances(shares))
        real = (np.array([side.shares for side in sides]) - shares) / expected
        drawn = (sides[0].redraw(shares, 6_000, rng) - shares) / expected
        for z in (real, drawn):
            assert abs(np.square(z).mean() - 1) < 5 * np.square(z).mean(axis=1).std() / np.sqrt(len(z))
            assert np.abs(z.mean(axis=0)).max() < 5 / np.sqrt(len(z))
        # Errors of shares that add up depend on each other: the sum of squares varies as it should.
        spread = [np.square(z).sum(axis=1).std() for z in (real, drawn)]
        assert spread[0] == pytest.approx(spread[1], rel=0.25)

    def test_noise_that_is_stated_is_redrawn_as_stated(self) -> None:
        rng = np.random.default_rng(7)
        side = Side.of(ldp.Estimate([100.0, 200.0, 300.0], n=600, variance=[400.0, 900.0, 1600.0], total=None))
        shares = np.array([0.2, 0.3, 0.5])
        drawn = side.redraw(shares, 20_000, rng)
        expected = np.array([400, 900, 1600]) / 600**2 + shares * (1 - shares) / 600
        assert drawn.var(axis=0) == pytest.approx(expected, rel=0.06)
        assert side.variances(shares) == pytest.approx(expected)


class TestMovement:
    def test_evidence_is_a_ratio_of_densities(self) -> None:
        z, r = np.array([0.3, 2.0, 5.0]), np.array([0.5, 1.0, 3.0])
        expected = norm.logpdf(z, scale=np.sqrt(1 + r**2)) - norm.logpdf(z)
        assert evidence(z, r) == pytest.approx(expected)

    def test_weights_add_up_and_find_the_size_of_changes(self) -> None:
        rng = np.random.default_rng(8)
        levels, errors = np.full(2_000, 0.0005), np.full(2_000, 1.0)
        z = rng.normal(0, np.sqrt(1 + 4.0), 2_000)
        sizes = scales(float(np.abs(z).max()), 2_000)
        found = learn(evidence(z, sizes[None, :, None] * units(levels, errors)[:, None, :]))
        assert found.weights.sum(axis=(0, 1)) == pytest.approx(np.ones(2_000))
        assert np.sqrt(np.square(sizes) @ found.weights.sum(axis=0).mean(axis=1)) == pytest.approx(2.0, rel=0.1)
        assert found.log_evidence > 100

    @pytest.mark.parametrize(("share", "size"), [(0.02, 8.0), (0.2, 3.0), (1.0, 1.0)])
    def test_posterior_means_are_nearly_as_good_as_if_the_prior_were_known(self, share: float, size: float) -> None:
        rng = np.random.default_rng(9)
        moves = rng.normal(0, size, 3_000) * (rng.random(3_000) < share)
        raw, error = moves + rng.normal(size=3_000), np.full(3_000, 1e-4)
        means, _, weights = posterior_of_changes(raw * error, error, np.full(3_000, 1 / 3_000), adds_up=False)
        learnt = (weights * means).sum(axis=0) / error
        wide, narrow = norm.pdf(raw, scale=np.sqrt(1 + size**2)), norm.pdf(raw)
        best = raw * size**2 / (1 + size**2) * share * wide / (share * wide + (1 - share) * narrow)
        errors = [float(np.square(found - moves).mean()) for found in (learnt, best)]
        assert errors[0] < 1.05 * errors[1]

    def test_one_person_does_not_change_a_share_by_more_than_all_of_it(self) -> None:
        plan = ldp.Plan(["yes", "no"], epsilon=1.0)
        change = ldp.difference(plan.simulate([1, 0], seed=1), plan.simulate([0, 1], seed=2))
        assert np.abs(change.raw).max() > 2
        assert np.abs(change.shares).max() < 0.5

    def test_a_launch_takes_from_all_others_in_proportion(self) -> None:
        levels = np.append(np.full(50, 0.019), 0.05)
        truth = np.append(np.full(50, -0.002), 0.1)
        means, _, weights = posterior_of_changes(truth, np.full(51, 0.002), levels, adds_up=True)
        found = (weights * means).sum(axis=0)
        assert found[-1] == pytest.approx(0.1, rel=0.05)
        assert found[:50] == pytest.approx(truth[:50], rel=0.2)


def test_the_p_value_has_its_level_for_a_few_people() -> None:
    """300 null runs of 200 people: 15 rejections are expected, and 36 happen by chance in fewer than 1e-5 of seeds."""
    rng, plan = np.random.default_rng(10), ldp.Plan(4, mechanism="oue", epsilon=2.0)
    shares = np.array([0.6, 0.3, 0.07, 0.03])
    p_values = []
    for _ in range(300):
        before, after = survey(plan, shares, 200, rng), survey(plan, shares, 300, rng)
        p_values.append(equality_p_value(Side.of(before), Side.of(after), shares))
    assert 1 <= np.sum(np.array(p_values) < 0.05) <= 35


def test_known_shares_with_labels_are_put_in_the_order_of_the_items():
    """A pandas Series was taken in its own order, whatever its labels, and a dictionary was refused."""
    seen = ldp.Plan(["tea", "coffee", "water"], epsilon=2.0).simulate([5_000, 3_000, 2_000], seed=1)
    expected = ldp.difference(seen, [0.5, 0.3, 0.2]).shares
    labelled = {"water": 0.2, "tea": 0.5, "coffee": 0.3}
    for known in (labelled, pd.Series(labelled)):
        np.testing.assert_array_equal(ldp.difference(seen, known).shares, expected)
    with pytest.raises(UnknownItemError, match="'milk'"):
        ldp.difference(seen, {"milk": 0.5, "coffee": 0.3, "water": 0.2})


@pytest.mark.parametrize("before", ["reports", "known"])
def test_a_change_on_a_scale_can_be_copied_once_it_was_read(before):
    """It kept functions that cannot be pickled."""
    plan = ldp.Plan(ldp.Scale(1, 5), epsilon=2.0)
    first = plan.simulate([100, 200, 300, 200, 100], seed=1) if before == "reports" else [0.2] * 5
    change = ldp.difference(first, plan.simulate([300, 200, 100, 200, 100], seed=2))
    mean = change.mean()
    assert pickle.loads(pickle.dumps(change)).mean() == mean  # noqa: S301 (made here)
