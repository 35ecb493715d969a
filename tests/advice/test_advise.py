"""Advice: what it predicts is what happens, what it recommends is what `auto` takes, and it says so in words.

Simulations are seeded, so these tests do not fail by chance. The bounds are such that other seeds would fail one of
them with a probability below one in a thousand: over six runs the mean calibrated error varies by 3% or less and the
prediction is off by 4% or less, where 15% are allowed; the standard error over 16,470 items varies by 0.3%, of 3%.
Tests that say how many deviations they allow would fail by chance once in a million or less.
"""

from __future__ import annotations

import json
import math
import re

import numpy as np
import pytest
from command import localdp
from paths import DOCS

import localdp as ldp
from localdp.advice.options import ORDER, SHARES
from localdp.advice.shapes import SEVERAL
from localdp.estimate.thresholds import exact_threshold, smallest_detected
from localdp.mechanisms import MECHANISMS

RETAIL = ldp.datasets.load("retail")
RUNS = 6


@pytest.mark.parametrize("epsilon", [1.0, 2.0, 4.0])
def test_predictions_are_those_of_simulation(epsilon):
    advice = ldp.advise(RETAIL.d, RETAIL.n, epsilon=epsilon, like="retail")
    for option in advice.options:
        if option.mechanism not in ("oue", "olh", "llh"):
            continue
        plan, errors = ldp.Plan(RETAIL.d, option.mechanism, epsilon), []
        for seed in range(RUNS):
            estimate = plan.simulate(RETAIL.frequencies, seed=seed).estimate()
            methods = (estimate, estimate.calibrate())
            errors.append([ldp.metrics.estimation_error(m.frequencies, RETAIL.frequencies) for m in methods])
        raw, calibrated = np.mean(errors, axis=0)
        assert option.standard_error == pytest.approx(math.sqrt(raw), rel=0.03)
        assert option.raw_error == pytest.approx(raw, rel=0.03)
        assert option.calibrated_rms**2 == pytest.approx(calibrated, rel=0.15)


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize(
    ("mechanism", "items", "users", "epsilon"),
    [("grr", 3, 1_000, 2.0), ("oue", 500, 100_000, 4.0), ("llh", 60, 1_000, 3.0), ("ss", 20, 1_000, 1.0)],
)
def test_the_standard_error_is_that_of_simulation_at_every_share(mechanism, items, users, epsilon, share):
    """1,500 runs: a standard deviation is known to 1.8%, so that 9% is five of its deviations."""
    option = next(o for o in ldp.advise(items, users, epsilon=epsilon).options if o.mechanism == mechanism)
    frequencies = np.zeros(items, np.int64)
    frequencies[:2] = round(share * users), users - round(share * users)
    plan = ldp.Plan(items, mechanism, epsilon)
    found = [plan.simulate(frequencies, seed=seed).estimate().frequencies[0] for seed in range(1_500)]
    assert np.std(found) == pytest.approx(option.standard_error_at(share), rel=0.09)


def test_with_few_users_thresholds_and_shares_are_the_exact_ones():
    """300 collections of 10,000 items from 1,000 users: the Gaussian threshold is exceeded in most, ours in 5%."""
    option = ldp.advise(10_000, 1_000, epsilon=6.0).chosen
    plan = ldp.Plan(10_000, "oue", 6.0)
    oue = next(o for o in ldp.advise(10_000, 1_000, epsilon=6.0).options if o.mechanism == "oue")
    held = round(oue.smallest_share * 1_000)
    frequencies = np.zeros(10_000, np.int64)
    frequencies[:2] = held, 1_000 - held
    found = np.array([plan.simulate(frequencies, seed=seed).estimate().frequencies for seed in range(300)])
    exceeded = (found[:, 2:] > oue.threshold).any(axis=1).mean()
    assert exceeded < 0.05 + 5 * 0.0126
    assert (found[:, 2:] > 4.4 * oue.standard_error).any(axis=1).mean() > 0.5
    assert 0.9 - 5 * 0.0173 < (found[:, 0] > oue.threshold).mean() < 0.93 + 5 * 0.0173
    assert option.threshold > 4.4 * option.standard_error


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0])
@pytest.mark.parametrize("items", [2, 12, 3_000])
def test_it_never_contradicts_auto(items, epsilon):
    advice = ldp.advise(items, 50_000, epsilon=epsilon)
    auto = ldp.Plan(items, "auto", epsilon)
    assert advice.recommended == auto.mechanism.name
    assert advice.why[0] == f"Take {auto.why}."
    assert advice.plan() == auto
    assert advice.plan([f"item {i}" for i in range(items)]).mechanism == auto.mechanism


def test_every_mechanism_that_exists_is_compared():
    assert {*ORDER, "dbit", "slh", "cms", "hcms"} == set(MECHANISMS)
    assert [o.mechanism for o in ldp.advise(10, 100, epsilon=0.5).options] == list(ORDER)
    assert "hr" not in ldp.advise(10, 100, epsilon=1.0).table()["mechanism"]


def test_an_option_says_what_the_estimate_will():
    option = ldp.advise(500, 20_000, epsilon=1.0).chosen
    estimate = ldp.Plan(500, option.mechanism, 1.0).simulate([40] * 500, seed=1).estimate()
    assert option.standard_error == estimate.std_error
    made = ldp.Plan(500, option.mechanism, 1.0).mechanism
    assert option.report_bytes == made.report_bytes
    assert option.threshold == exact_threshold(20_000, made.p, made.q, 500)
    assert option.smallest_share == smallest_detected(20_000, made.p, made.q, 500) / 20_000
    for share in SHARES:
        assert option.standard_error_at(share) == pytest.approx(estimate.std_error_at([share * 20_000])[0])


def test_without_a_shape_errors_are_ranges_over_all_of_them():
    several = ldp.advise(5_000, 200_000, epsilon=1.0)
    assert several.like is None
    assert tuple(several.chosen.calibrated) == SEVERAL
    alone = {name: ldp.advise(5_000, 200_000, epsilon=1.0, like=name) for name in SEVERAL}
    for name, advice in alone.items():
        assert advice.like == name
        assert advice.chosen.calibrated == {name: several.chosen.calibrated[name]}
        assert advice.table()["lowest"].tolist() == advice.table()["highest"].tolist()
    errors = [advice.chosen.calibrated_rms for advice in alone.values()]
    assert several.chosen.lowest[1] == min(errors)
    assert several.chosen.highest[1] == several.chosen.calibrated_rms == max(errors)
    assert several.table()["highest"][-1] == max(errors)


@pytest.mark.parametrize("mechanism", ["oue", "grr", "blh"])
def test_an_item_of_the_smallest_share_is_seen_nine_times_in_ten(mechanism):
    """800 runs: the share varies by 1.1%, so that 5% is more than four deviations."""
    option = next(o for o in ldp.advise(40, 20_000, epsilon=2.0).options if o.mechanism == mechanism)
    held = round(option.smallest_share * 20_000)
    frequencies = [held, 20_000 - held, *[0] * 38]
    plan = ldp.Plan(40, mechanism, 2.0)
    seen = [plan.simulate(frequencies, seed=seed).estimate().frequencies[0] > option.threshold for seed in range(800)]
    assert np.mean(seen) == pytest.approx(0.9, abs=0.05)


def test_the_epsilon_found_is_the_least_in_steps():
    for target in ({"smallest_share": "0.5%"}, {"target_error": 0.002}, {"target_error": 0.01, "smallest_share": 0.01}):
        found = ldp.advise(2_000, 150_000, **target)
        assert found.users_needed <= 150_000
        less = ldp.advise(2_000, 150_000, epsilon=found.epsilon - 0.01, **target)
        assert less.users_needed > 150_000
        assert "too few" in " ".join(less.why)
        assert found.chosen.standard_error_at(1.0) <= target.get("target_error", 1) * 150_000


def test_the_users_found_are_the_fewest():
    targets = ({"smallest_share": 0.005}, {"target_error": "0.2%"}, {"target_error": "0.2%", "up_to": 0.1})
    for target in targets:
        found = ldp.advise(2_000, epsilon=1.0, **target)
        assert found.users == found.users_needed
        assert ldp.advise(2_000, found.users, **target).epsilon <= 1.0
        errors = {at: found.chosen.standard_error_at(at) / found.users for at in (0.0, 0.1, 1.0)}
        share = found.chosen.smallest_share if "smallest_share" in target else errors[target.get("up_to", 1.0)]
        assert share == pytest.approx(0.005 if "smallest_share" in target else 0.002, rel=1e-3)


def test_without_an_epsilon_the_smallest_that_detects_a_common_item_is_taken():
    advice = ldp.advise(100, 50_000)
    assert advice.table()["epsilon"].tolist() == [0.5, 1.0, 2.0, advice.epsilon, 4.0]
    assert advice.chosen.smallest_share <= 0.01
    assert ldp.advise(100, 50_000, epsilon=advice.epsilon - 0.05).chosen.smallest_share > 0.01
    assert f"Take epsilon {advice.epsilon:g}: it is the smallest" in advice.why[0]
    assert "would be just enough" not in " ".join(advice.why)
    assert ldp.advise(100, 50_000, smallest_share="1%").epsilon == advice.epsilon
    many = ldp.advise(100, 10_000_000)
    assert many.epsilon < 0.5
    assert many.table()["epsilon"].tolist() == [many.epsilon, 0.5, 1.0, 2.0, 4.0]


def test_a_target_out_of_reach_is_no_reason_for_a_large_epsilon():
    few = ldp.advise(1_000, 500)
    assert few.epsilon == 1.0
    assert "no epsilon to recommend" in few.why[0]
    assert f"{few.users_needed:,} users instead of 500" in few.why[0]
    assert few.table()["share seen"].min() > 0.01


def test_too_few_users_and_too_much_epsilon_are_said():
    assert "too few users" in " ".join(ldp.advise(1_000, 100, epsilon=0.5).why)
    assert "too few users to detect single items" in " ".join(ldp.advise(1_000, 500, epsilon=1.0, like="zipf").why)
    assert "weak" in " ".join(ldp.advise(50, 1_000, epsilon=8.0).why)
    assert "50:50 between two items becomes at most 73:27" in " ".join(ldp.advise(50, 1_000, epsilon=1.0).why)


def test_it_prints_in_eighty_columns_and_converts():
    advice = ldp.advise(RETAIL.d, RETAIL.n, epsilon=1.0, like="retail")
    lines = str(advice).splitlines()
    assert max(map(len, lines)) < 80
    assert sum(line.startswith("> ") for line in lines) == 2  # in the table, and in that of the standard errors
    document = json.loads(advice.to_json())
    assert document["recommended"] == "llh"
    assert [option["mechanism"] for option in document["options"]] == advice.table()["mechanism"]
    assert advice.table().to_arrow().num_rows == 7
    assert repr(advice) == "<Advice for 16,470 items, 908,576 users: llh at epsilon 1>"
    assert advice.curve["highest"].tolist() == sorted(advice.curve["highest"], reverse=True)
    assert document["options"][0]["standard_errors"]["0.1"] == advice.table()["at 10%"][0]
    assert document["options"][0]["calibrated"] == {"retail": advice.table()["highest"][0]}
    assert {text.get_text() for text in advice.plot().get_legend().get_texts()} >= {"raw", "epsilon 1"}
    several = ldp.advise(RETAIL.d, RETAIL.n, epsilon=1.0)
    assert max(map(len, str(several).splitlines())) < 80
    assert json.loads(several.to_json())["like"] is None
    labels = {text.get_text() for text in several.plot().get_legend().get_texts()}
    assert "calibrated, over several shapes" in labels


def test_the_page_shows_what_is_printed():
    page = (DOCS / "choosing.md").read_text("utf-8")
    shown = page.split("$ localdp advise --items 5000 --users 200000\n")[1].split("...\n```")[0]
    assert len(shown) > 1_000
    assert str(ldp.advise(5_000, 200_000)).startswith(shown)


@pytest.mark.parametrize(
    ("arguments", "options", "sentence"),
    [
        ((1, 100), {}, "from 2 to 2^32"),
        ((2.5, 100), {"epsilon": 1.0}, "from 2 to 2^32"),
        ((1, 100), {"target_error": 0.1}, "from 2 to 2^32"),
        ((10, 0), {}, "no users"),
        ((10, -5), {}, "cannot be -5"),
        ((10, 1.5), {}, "a whole number"),
        ((10,), {}, "say how many users"),
        ((10,), {"epsilon": 1.0}, "give a target"),
        ((10,), {"target_error": 0.1}, "say how many users"),
        ((10, 100), {"epsilon": 17}, "epsilon must be above 0 and at most 16"),
        ((10, 100), {"epsilon": "1"}, "epsilon must be"),
        ((10, 100), {"target_error": 0}, "target error is a share"),
        ((10, 100), {"target_error": "ten"}, "target error is a share"),
        ((10, 100), {"smallest_share": "100%"}, "smallest share is a share"),
        ((10, 100), {"smallest_share": True}, "smallest share is a share"),
        ((10, 100), {"smallest_share": float("nan")}, "smallest share is a share"),
        ((10,), {"epsilon": 0.01, "target_error": 1e-9}, "at most 2^53"),
        ((10, 100), {"smallest_share": 1e-6}, "too few to detect an item"),
        ((10, 100), {"up_to": 0.1}, "give target_error, too"),
        ((10, 100), {"smallest_share": 0.1, "up_to": 0.1}, "give target_error, too"),
        ((10, 100), {"target_error": 0.1, "up_to": "most"}, "up_to is a share"),
        ((10, 100), {"target_error": 0.1, "up_to": 1.5}, "up_to is a share"),
        ((10, 100), {"target_error": 0.1, "up_to": -1}, "up_to is a share"),
        ((10, 100), {"target_error": 0.1, "up_to": float("nan")}, "up_to is a share"),
        ((10, 100), {"like": "held-5%"}, "no shape and no file 'held-5%'"),
        ((10, 100), {"like": "retial"}, "no shape and no file 'retial'"),
        ((10, 100), {"like": [0, 0]}, "nobody holds"),
        ((10, 100), {"like": [1, -2]}, "none negative"),
        ((10, 100), {"like": 3}, "flat list"),
    ],
)
def test_bad_input_is_a_sentence(arguments, options, sentence):
    with pytest.raises(ldp.LocalDPError, match=re.escape(sentence)):
        ldp.advise(*arguments, **options)


def test_the_plan_is_for_as_many_items():
    with pytest.raises(ldp.errors.DomainError, match="for 10 items, but the domain has 2"):
        ldp.advise(10, 100, epsilon=1.0).plan(["a", "b"])


def test_the_command_says_and_writes_the_same(tmp_path):
    (tmp_path / "own.csv").write_text("frequency,items\n5,90\n400,10\n")
    command = ("advise", "--items", 100, "--users", 5_000, "-e", 1, "--like", "own.csv")
    shown = localdp(*command, "--plot", "error.png", "-o", "advice.csv", cwd=tmp_path)
    assert shown.returncode == 0, shown.stderr
    assert shown.stderr == ""
    assert "like those of own.csv" in " ".join(shown.stdout.split())
    assert max(map(len, shown.stdout.splitlines())) < 80
    assert (tmp_path / "error.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "advice.csv").read_text().startswith('"mechanism","epsilon"')
    machine = localdp(*command, "--json", "-o", "advice.json", cwd=tmp_path)
    assert json.loads(machine.stdout) == json.loads((tmp_path / "advice.json").read_text())
    assert json.loads(machine.stdout)["users"] == 5_000


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--users", "10"), "--items"),
        (("--items", "1", "--users", "10"), "from 2 to 2^32"),
        (("--items", "ten", "--users", "10"), "--items"),
        (("--items", "10", "--users", "10", "--epsilon", "0"), "epsilon must be above 0 and at most 16"),
        (("--items", "10", "--users", "10", "--target-error", "5 percent"), "a share of the users"),
        (("--items", "10", "--users", "10", "--up-to", "10%"), "give --target-error, too"),
        (("--items", "10", "--users", "10", "--like", "none.dat"), "no file"),
        (("--items", "10", "--users", "10", "--plot", "x.jpeg"), "a picture is written to a .png, .svg or .pdf file"),
        (("--items", "10", "--users", "10", "-o", "x.txt"), "neither a .csv"),
        (("--items", "10", "--users", "10", "-o", "nowhere/x.json"), "no folder"),
    ],
)
def test_what_the_command_cannot_use_is_one_line(tmp_path, arguments, sentence):
    done = localdp("advise", *arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
    assert sentence in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_share_that_nobody_can_reach_is_none():
    shown = str(ldp.advise(2, 1))
    assert "none" in shown
    assert "200.000%" not in shown
