"""Heavy hitters by every rule, the top k, and the tables they print as."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import localdp as ldp
from localdp.errors import InvalidInputError, MissingPackageError
from localdp.hitters.rules import benjamini_hochberg, best_f_score, within_discovery_rate
from localdp.table import Table

probability = st.one_of(st.floats(0, 1), st.sampled_from([0.0, 1.0, 1e-9, 0.04, 0.5]))
probabilities = st.lists(probability, min_size=1, max_size=6).map(lambda some: np.sort(some)[::-1])


def expected_f_score(chosen, chances):
    """The plain sum over all 2^d possible truths."""
    total = 0.0
    for truth in itertools.product([0, 1], repeat=len(chances)):
        weight = np.prod([p if heavy else 1 - p for heavy, p in zip(truth, chances, strict=True)])
        right, named = sum(truth[i] for i in chosen), len(chosen) + sum(truth)
        total += weight * (2 * right / named if named else 1.0)
    return total


@given(chances=probabilities)
def test_no_set_of_items_has_a_larger_expected_f_score(chances):
    size, score = best_f_score(chances)
    every = itertools.chain.from_iterable(itertools.combinations(range(chances.size), k) for k in range(7))
    best = max(expected_f_score(chosen, chances) for chosen in every)
    assert score == pytest.approx(best, rel=1e-9)
    assert expected_f_score(range(size), chances) == pytest.approx(best, rel=1e-9)


def test_many_expected_hitters_are_chosen_as_the_exact_rule_would(monkeypatch):
    chances = np.sort(np.random.default_rng(2).beta(0.3, 1.0, 60_000))[::-1]
    assert chances.sum() > 10_000
    rough = best_f_score(chances)
    monkeypatch.setattr("localdp.hitters.rules._MANY", 1e9)
    exact = best_f_score(chances)
    assert rough[0] == pytest.approx(exact[0], rel=1e-3)
    assert rough[1] == pytest.approx(exact[1], rel=1e-4)


@given(chances=probabilities, level=st.floats(0.01, 0.99))
def test_false_discoveries_stay_within_the_level_and_one_more_would_not(chances, level):
    size = within_discovery_rate(chances, level)
    assert size == 0 or np.mean(1 - chances[:size]) <= level * (1 + 1e-9)
    assert size == 0 or chances[size - 1] >= min(0.5, 1 - level)
    if size < chances.size:
        assert np.mean(1 - chances[: size + 1]) > level * (1 - 1e-9) or chances[size] < min(0.5, 1 - level)


@given(chances=probabilities, level=st.floats(0.01, 0.99))
def test_benjamini_hochberg_is_the_step_up_rule(chances, level):
    ascending = chances[::-1]
    passing = [k for k in range(1, ascending.size + 1) if ascending[k - 1] <= level * k / ascending.size]
    assert benjamini_hochberg(ascending, level) == max(passing, default=0)


@pytest.fixture(scope="module")
def retail():
    return ldp.datasets.load("retail")


@pytest.fixture(scope="module")
def estimate(retail):
    return ldp.Plan(retail.d, "oue", 4.0).simulate(retail.frequencies, seed=11).estimate()


@pytest.fixture(scope="module")
def calibrated(estimate):
    return estimate.calibrate()


def test_the_papers_rule_compares_frequencies_with_the_threshold(estimate, calibrated):
    for frequencies in (estimate, estimate.zeroed(), estimate.project("norm-sub"), calibrated):
        hits = frequencies.heavy_hitters(1000)
        assert set(hits.indices) == set(np.flatnonzero(frequencies.frequencies > 1000))
        assert (np.diff(hits.frequencies) <= 0).all()
        assert hits.probabilities.tolist() == frequencies.probability_above(1000)[hits.indices].tolist()
        low, high = frequencies.interval(0.9)
        assert np.array_equal(hits.intervals, (low[hits.indices], high[hits.indices]))
        assert (hits.rule, hits.threshold) == ("mean", 1000.0)


def test_the_rule_of_the_f_score_finds_more_than_the_papers(retail, estimate, calibrated):
    threshold = estimate.significance_threshold() / 4
    truth = ldp.metrics.true_hitters(retail.frequencies, threshold)
    scores = {
        "zero": estimate.zeroed().heavy_hitters(threshold),
        "paper": estimate.calibrate("power-law").heavy_hitters(threshold),
        "f1": calibrated.heavy_hitters(threshold, rule="f1"),
        "oracle": estimate.calibrate(ldp.Fixed(retail.frequencies)).heavy_hitters(threshold, "f1"),
    }
    scores = {rule: ldp.metrics.heavy_hitter_scores(hits, truth).f_score for rule, hits in scores.items()}
    assert scores["f1"] > scores["paper"] + 0.03 > scores["zero"] + 0.06
    assert scores["f1"] > scores["oracle"] - 0.03


def test_every_rule_names_the_most_probable_items(calibrated):
    for rule in ("f1", "fdr"):
        hits = calibrated.heavy_hitters("0.05%", rule=rule)
        chances = calibrated.probability_above(hits.threshold)
        others = np.delete(chances, hits.indices)
        assert 0 < len(hits) < chances.size
        assert hits.probabilities.min() >= others.max() - 1e-6
    assert np.mean(1 - hits.probabilities) <= 0.1
    assert hits.rule == "fdr 0.1"
    assert len(calibrated.heavy_hitters("0.05%", fdr=0.01)) < len(hits)


def test_discoveries_among_raw_estimates_need_no_prior():
    """With no item above the threshold, Benjamini-Hochberg names any with a probability of at most 0.1 a run, so in
    more than 30 of 100 runs with one of less than 1e-8."""
    plan, truth = ldp.Plan(200, "oue", 1.0), np.full(200, 500)
    runs = [plan.simulate(truth, seed=seed).estimate().heavy_hitters(500, fdr=0.1) for seed in range(100)]
    assert sum(len(hits) > 0 for hits in runs) <= 30
    plan, truth = ldp.Plan(200, "oue", 4.0), np.append(np.full(20, 9000), np.zeros(180, np.int64))
    assert len(plan.simulate(truth, seed=0).estimate().heavy_hitters(500, fdr=0.1)) >= 20


def test_thresholds_are_counts_shares_or_significance(estimate, calibrated):
    assert calibrated.heavy_hitters().threshold == estimate.significance_threshold()
    assert calibrated.heavy_hitters("significance").threshold == calibrated.significance_threshold()
    assert calibrated.heavy_hitters("0.5%").threshold == pytest.approx(0.005 * estimate.n)
    assert calibrated.heavy_hitters(np.float64(12.5)).threshold == 12.5
    assert len(calibrated.heavy_hitters(float("inf"))) == 0


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"threshold": "high"}, "or 'significance', not 'high'"),
        ({"threshold": "x%"}, "share.*'x%'"),
        ({"threshold": "-1%"}, "share.*'-1%'"),
        ({"threshold": "101%"}, "share.*'101%'"),
        ({"threshold": float("nan")}, "number of users.*nan"),
        ({"threshold": None}, "number of users.*None"),
        ({"threshold": True}, "number of users.*True"),
        ({"threshold": [1, 2]}, r"number of users.*\[1, 2\]"),
        ({"threshold": 10**400}, "number of users.*1000"),
        ({"threshold": 1, "rule": "median"}, "one of mean, f1, fdr, not 'median'"),
        ({"threshold": 1, "rule": "f1", "fdr": 0.1}, "the rule 'f1' was chosen: leave one of them out"),
        ({"threshold": 1, "fdr": 0}, "fdr.*probability.*not 0"),
        ({"threshold": 1, "fdr": "x"}, "fdr.*probability.*'x'"),
    ],
)
def test_unusable_questions_are_refused(arguments, reason):
    estimate = ldp.Estimate([5.0, 1.0], n=10, variance=1.0)
    with pytest.raises(InvalidInputError, match=reason):
        estimate.heavy_hitters(**arguments)


@pytest.mark.parametrize("k", [0, -1, 3, 1.5, "1", True, None])
def test_an_impossible_top_is_refused(k):
    with pytest.raises(InvalidInputError, match="from 1 to 2"):
        ldp.Estimate([5.0, 1.0], n=10, variance=1.0).top(k)


def test_probabilities_of_the_top_are_those_of_two_independent_items():
    """Of two items with normal estimates 10 apart the first is larger with Phi(10 / sqrt(2 * 100)); the 1,000 draws
    miss that by more than five of their deviations with probability below 1e-6."""
    from scipy.stats import norm

    estimate = ldp.Estimate([510.0, 500.0], n=10_000, variance=100.0)
    top = estimate.top(1)
    exact = norm.cdf(10 / np.sqrt(200))
    assert top.indices.tolist() == [0]
    assert top.probabilities[0] == pytest.approx(exact, abs=5 * np.sqrt(exact * (1 - exact) / 1000))


def test_probabilities_of_the_top_are_those_of_all_possible_truths():
    """Against the sum over all truths of four items under a prior of three atoms; 1,000 draws, five deviations."""
    values, masses = np.array([10.0, 20.0, 40.0]), np.array([0.5, 0.3, 0.2])
    estimate = ldp.Estimate([12.0, 33.0, 18.0, 24.0], n=100, variance=64.0)
    likelihood = masses * np.exp(-((estimate.frequencies[:, None] - values) ** 2) / 128)
    posterior = likelihood / likelihood.sum(axis=1, keepdims=True)
    exact = np.zeros(4)
    for truth in itertools.product(range(3), repeat=4):
        weight = np.prod([posterior[item, level] for item, level in enumerate(truth)])
        fits = [set(order[:2]) for order in itertools.permutations(range(4)) if _descends(order, truth)]
        exact += weight * np.mean([[item in top for item in range(4)] for top in fits], axis=0)
    top = estimate.calibrate(ldp.Fixed(values, masses)).top(2)
    assert set(top.indices) == {1, 3}
    assert top.probabilities == pytest.approx(exact[top.indices], abs=5 * 0.5 / np.sqrt(1000))


def _descends(order, truth):
    return all(truth[first] >= truth[second] for first, second in itertools.pairwise(order))


def test_probabilities_of_the_top_are_calibrated(retail):
    """Over 7 runs, of the items given 80 to 100% at least 75% belong; a lower share by chance has 1e-6 or less."""
    truth, kth = retail.frequencies, np.sort(retail.frequencies)[-50]
    belongs = []
    for seed in range(7):
        top = ldp.Plan(retail.d, "oue", 4.0).simulate(truth, seed=seed).estimate().calibrate().top(50)
        belongs.extend((truth[top.indices] >= kth)[top.probabilities >= 0.8])
    assert len(belongs) > 120
    assert 0.75 <= np.mean(belongs) <= 1


def test_the_top_is_the_largest_and_says_how_sure_it_is(calibrated):
    top = calibrated.top(20)
    assert top.indices.tolist() == np.argsort(-calibrated.frequencies)[:20].tolist()
    assert len(top) == 20
    assert top.threshold is None
    assert top.probabilities[0] == 1.0
    assert top.probabilities.min() < 0.9
    assert top.probabilities.tolist() == calibrated.top(20).probabilities.tolist()


def test_everything_is_the_top_of_everything():
    top = ldp.Estimate([5.0, 1.0, -3.0], n=10, variance=1.0, domain=list("abc")).top(3)
    assert list(top) == ["a", "b", "c"]
    assert top.probabilities.tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize("variance", [0.0, 5e-324, 1e300, float("inf")])
def test_the_rules_stand_extreme_noise(variance):
    estimate = ldp.Estimate([5.0, 1.0, -3.0], n=10, variance=variance, total=3)
    for frequencies in (estimate, estimate.calibrate("power-law")):
        for rule in ("mean", "f1", "fdr"):
            hits = frequencies.heavy_hitters(2, rule)
            assert np.isfinite(hits.probabilities).all()
            if variance < 1:
                assert hits.indices.tolist() == [0]
        top = frequencies.top(1)
        assert 0 <= top.probabilities[0] <= 1


def test_intervals_of_raw_estimates_cover_as_they_say(retail, estimate):
    """90% of 16,470 items, give or take five deviations (1e-6); one holder more or less is the rounding."""
    low, high = estimate.interval(0.9)
    covered = np.mean((low - 1 <= retail.frequencies) & (retail.frequencies <= high + 1))
    tails = np.mean(retail.frequencies > high + 1)
    assert tails == pytest.approx(0.05, abs=5 * np.sqrt(0.05 * 0.95 / retail.d))
    assert covered >= 0.9 - 5 * np.sqrt(0.09 / retail.d)
    assert (low >= 0).all()


def test_hitters_print_as_a_table():
    estimate = ldp.Estimate([9000.0, 5.0, 12000.0], n=30_000, variance=2500.0, domain=["tea", "milk", "water"])
    hits = estimate.heavy_hitters("20%")
    assert str(hits).splitlines() == [
        "2 items estimated to be held by more than 6,000 users (rule mean)",
        "item   frequency   share     low    high  probability",
        "water     12,000  40.00%  11,918  12,082        1.000",
        "tea        9,000  30.00%   8,918   9,082        1.000",
    ]
    assert "tea" in hits
    assert "milk" not in hits
    assert "2 items" in repr(hits)
    assert str(estimate.top(1)).startswith("top 1 of 3 items\n")
    assert "0 items" in str(estimate.heavy_hitters(29_000))


def test_a_long_table_says_how_much_it_leaves_out():
    text = str(Table({"item": range(25), "count": np.arange(25.0)}))
    assert text.splitlines()[-1] == "... and 5 more"
    assert len(text.splitlines()) == 22


def test_an_estimate_knows_that_nobody_has_fewer_than_none_or_more_than_all():
    estimate = ldp.Estimate([9000.0, -300.0], n=1000, variance=1e4)
    assert estimate.probability_above(1000).tolist() == [0.0, 0.0]
    assert estimate.probability_above(5000).tolist() == [0.0, 0.0]
    assert estimate.probability_above(-1).tolist() == [1.0, 1.0]
    assert len(estimate.heavy_hitters(5000, "fdr")) == 0


def test_equal_items_are_named_in_their_order():
    assert ldp.Estimate([0.0] * 5, n=10, variance=0.0).top(2).indices.tolist() == [0, 1]


def test_numbers_print_without_a_lonely_sign_and_names_without_control_signs():
    table = Table({"item": ["a\x1b[31mb\n", "x" * 90], "count": np.array([-0.3, 2_000_000.0])})
    assert str(table).splitlines()[1].split() == ["a\\x1b[31mb\\n", "0"]
    assert max(map(len, str(table).splitlines())) < 60
    assert len(table.text(1).splitlines()) == 3


@pytest.mark.parametrize(
    ("arguments", "reason"), [(("item",), "'item'"), (("count", 1.5), "rows.*1.5"), (("count", -1), "rows.*-1")]
)
def test_impossible_rows_are_refused(arguments, reason):
    with pytest.raises(InvalidInputError, match=reason):
        Table({"item": ["a"], "count": np.array([1.0])}).largest(*arguments)


def test_no_hitters_have_the_types_of_some():
    for domain in (3, ["a", "b", "c"]):
        estimate = ldp.Estimate([5.0, 1.0, 2.0], n=10, variance=1.0, domain=domain)
        none, some = (estimate.heavy_hitters(threshold).table().to_arrow() for threshold in (9, 1))
        assert none.num_rows == 0
        assert none.schema == some.schema


def test_compare_puts_every_estimate_side_by_side(estimate, calibrated):
    table = estimate.compare()
    assert list(table.columns) == ["item", "raw", "zeroed", "norm-sub", "calibrated", "share", "low", "high"]
    assert table["raw"] is estimate.frequencies
    assert table["zeroed"].tolist() == estimate.zeroed().frequencies.tolist()
    assert table["norm-sub"].sum() == pytest.approx(estimate.n)
    assert table["calibrated"].tolist() == calibrated.frequencies.tolist()
    assert len(table) == estimate.domain.size
    largest = table.largest("calibrated", 3)
    assert largest["item"] == np.argsort(-calibrated.frequencies)[:3].tolist()
    with pytest.raises(InvalidInputError, match="norm-sub"):
        table["other"]


@pytest.mark.parametrize(
    ("items", "stored"), [(["a", "b"], ["a", "b"]), (2, [0, 1]), (["a", 1], ["a", "1"]), ([1.5, 2.5], [1.5, 2.5])]
)
def test_tables_convert(items, stored):
    table = ldp.Estimate([5.0, 1.0], n=10, variance=1.0, domain=items).table()
    for converted in (table.to_arrow().to_pydict(), table.to_polars().to_dict(as_series=False)):
        assert converted["item"] == stored
        assert converted["frequency"] == [5.0, 1.0]
    frame = table.to_pandas()
    assert frame["item"].tolist() == stored
    assert frame["high"].tolist() == table["high"].tolist()
    assert next(iter(table))[:2] == (ldp.Domain(items).items[0], 5.0)


def test_a_package_that_is_missing_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "polars", None)
    with pytest.raises(MissingPackageError, match="pip install polars"):
        Table({"item": ["a"]}).to_polars()


def test_a_fraction_as_a_threshold_is_answered_with_both_ways_to_write_a_share():
    estimate = ldp.Estimate([90.0, 5.0, 70.0], n=300, variance=25.0)
    for fraction in ("0.1", " 0.1 "):
        with pytest.raises(InvalidInputError, match=r"write '10%' \(1 user in 10\) or '0\.1%' \(1 user in 1,000\)"):
            estimate.heavy_hitters(fraction)
    assert len(estimate.heavy_hitters(0.1)) == 3  # a number may be below 1, as the significance threshold may be
    with pytest.raises(InvalidInputError, match="a number of users, and not negative: -3"):
        estimate.heavy_hitters(-3)
    assert "more than 18.2 users" in repr(estimate.heavy_hitters(18.1788))
