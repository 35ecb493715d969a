"""Every upload is tested for forgery: which are flagged, which are not, and how often honest ones are."""

from __future__ import annotations

import numpy as np
import pytest

from localdp import Plan, Reports
from localdp.forgery import uploads as suspects
from localdp.forgery.uploads import verdicts

MECHANISMS = ["oue", "sue", "grr", "ss", "olh", "llh", "blh", "hr", "dbit"]
RANDOM = 20261117


def together(plan, *parts):
    """Reports of several uploads one after the other, and their sizes."""
    rows = np.concatenate([part.rows for part in parts])
    return Reports(plan, rows), np.array([len(part) for part in parts])


def suspect_reports(reports, sizes, random):
    """How many reports look forged in all."""
    found = verdicts(reports.plan.mechanism, reports.rows, sizes, random)
    assert found.shape == sizes.shape
    assert (found <= sizes).all()
    return int(found.sum())


def honest(plan, number, seed):
    return plan.privatize_indices(np.random.default_rng(seed).integers(0, plan.domain.size, number), seed=seed)


def one_by_one(reports, sizes, false_alarms):
    """What testing every upload whole gives."""
    starts, suspect = np.cumsum(sizes) - sizes, 0
    for start, size in zip(starts, sizes, strict=True):
        found = reports.plan.plausibility(reports[start : start + size], false_alarms=false_alarms)
        suspect += 0 if found.plausible else int(found.flagged.size) or found.n
    return suspect


PLANS = [(name, {}) for name in MECHANISMS] + [(name, {"once": 1.0}) for name in ("grr", "oue", "sue")]
SETS = ["oue", "sue", "grr", "ss", "olh", "llh", "blh"]


@pytest.mark.parametrize(("name", "options"), PLANS)
def test_honest_uploads_are_not_flagged(name, options):
    """400 uploads at a rate of 1e-9: a failure by chance has a probability of at most 4e-7 for each plan."""
    plan = Plan(40, name, 0.6 if name == "hr" else 2.0, **options)
    parts = [honest(plan, size % 50 + 1, size) for size in range(400)]
    assert suspect_reports(*together(plan, *parts), np.random.default_rng(RANDOM)) == 0


@pytest.mark.parametrize("name", SETS)
def test_honest_uploads_about_sets_are_not_flagged(name):
    """200 uploads at a rate of 1e-9: a failure by chance has a probability of at most 2e-7 for each mechanism."""
    plan = Plan(40, name, 2.0, set_size=3)
    parts = [plan.privatize([[1, 2, 3], [4]][: size % 2 + 1] * (size % 40 + 1), seed=size) for size in range(200)]
    assert suspect_reports(*together(plan, *parts), np.random.default_rng(RANDOM)) == 0


def test_sets_have_weights_too():
    plan = Plan(200, "oue", 1.0, set_size=3)
    rows = plan.privatize([[1, 2, 3]] * 50, seed=1).rows.copy()
    rows[7, :-1] = 255
    assert suspect_reports(Reports(plan, rows), np.ones(50, np.int64), np.random.default_rng(RANDOM)) == 1


@pytest.mark.parametrize("name", MECHANISMS)
def test_flags_are_those_of_the_exact_test_of_each_upload(name, monkeypatch):
    """At a rate of 20% many honest uploads are flagged, and all uploads are tested whole: the numbers are equal."""
    monkeypatch.setattr(suspects, "FALSE_ALARMS", 0.2)
    monkeypatch.setattr(suspects, "SAMPLED", 1_000)
    plan, rng = Plan(12, name, 0.6 if name == "hr" else 1.0), np.random.default_rng(RANDOM)
    parts = [honest(plan, int(rng.integers(1, 60)), seed) for seed in range(150)]
    parts += [Reports(plan, np.repeat(honest(plan, 1, 1).rows, 30, axis=0))]
    reports, sizes = together(plan, *parts)
    found, expected = suspect_reports(reports, sizes, rng), one_by_one(reports, sizes, 0.2)
    # An upload in which a single weight was flagged is not tested further; one_by_one counts the same reports of it.
    assert found == expected > 0


@pytest.mark.parametrize(("name", "size"), [("oue", 1_000), ("sue", 200), ("dbit", 400)])
def test_a_single_report_of_an_impossible_weight_is_found_among_thousands(name, size):
    plan = Plan(size, name, 1.0, **({"answers": 64} if name == "dbit" else {}))
    lit = honest(plan, 1, 3).rows.copy()
    if name == "dbit":
        fields = plan.mechanism.fields(lit) | np.uint64(1 << plan.mechanism.item_bits)
        from localdp.formats import bitstrings

        lit = bitstrings.from_fields(fields, plan.mechanism.item_bits + 1)
    else:
        lit[:] = 255
        lit[:, -1] &= 255 >> (-size % 8)
    parts = [honest(plan, 1, seed) for seed in range(500)]
    parts[123:123] = [Reports(plan, lit)]
    parts += [Reports(plan, np.concatenate([honest(plan, 20, 9).rows, lit]))]
    assert suspect_reports(*together(plan, *parts), np.random.default_rng(RANDOM)) == 2


def forged(plan, kind, number):
    if kind == "one function":
        return Reports(plan, np.repeat(honest(plan, 1, 5).rows, number, axis=0))
    if kind == "one item":
        return Reports(plan, np.ones((number, 1), np.uint8))
    rows = honest(plan, number, 6).rows.copy()
    rows[:, 0] |= 1  # everybody supports item 0, with plausible weights
    return Reports(plan, rows)


@pytest.mark.parametrize(
    ("name", "kind", "others"),
    [
        ("llh", "one function", 200),  # so many that hardly any would be in the sample
        ("olh", "one function", 200),
        ("grr", "one function", 200),
        ("oue", "one item", 200),
        ("oue", "support", 45),
    ],
)
def test_forged_uploads_are_found_among_honest_ones(name, kind, others):
    plan = Plan(8 if kind == "one item" else 200, name, 1.0)
    parts = [honest(plan, 1 if seed % 3 else 100, seed) for seed in range(others)]
    parts[17:17] = [forged(plan, kind, 100)]
    assert suspect_reports(*together(plan, *parts), np.random.default_rng(RANDOM)) == 100


def test_a_few_forged_reports_in_an_upload_are_found():
    plan = Plan(50_000, "llh", 1.0)
    part = Reports(plan, np.concatenate([honest(plan, 990, 1).rows, forged(plan, "one function", 10).rows]))
    reports, sizes = together(plan, *(honest(plan, 1_000, seed) for seed in range(30)), part)
    assert suspect_reports(reports, sizes, np.random.default_rng(RANDOM)) == 10


def test_a_device_that_sends_its_permanent_report_again_is_not_flagged():
    plan = Plan(64, "llh", 1.0)
    assert suspect_reports(*together(plan, *[honest(plan, 1, 4)] * 300), np.random.default_rng(RANDOM)) == 0
    unary = Plan(64, "oue", 1.0)
    assert suspect_reports(*together(unary, *[honest(unary, 1, 4)] * 300), np.random.default_rng(RANDOM)) == 0


def test_what_is_found_in_a_sample_is_scaled_to_all():
    plan = Plan(64, "llh", 1.0)
    reports, sizes = together(plan, *[forged(plan, "one function", 40)] * 200)
    assert suspect_reports(reports, sizes, np.random.default_rng(RANDOM)) == 8_000
    oue = Plan(64, "oue", 1.0)
    parts = [forged(oue, "support", 60) if place % 2 else honest(oue, 60, place) for place in range(200)]
    found = suspect_reports(*together(oue, *parts), np.random.default_rng(RANDOM))
    assert 0 < found < 200 * 60  # of 16 uploads, some are forged and others not


def test_the_screens_cost_little_beside_counting():
    """Honest uploads in numbers: none but the sample is tested whole."""
    plan, tested = Plan(300, "oue", 1.0), []
    real = Plan.plausibility

    def counted(self, reports, **options):
        tested.append(len(reports))
        return real(self, reports, **options)

    parts = [honest(plan, 50, seed) for seed in range(300)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Plan, "plausibility", counted)
        suspect_reports(*together(plan, *parts), np.random.default_rng(RANDOM))
    # The sum of one upload in 15,000 is more than four deviations away.
    assert len(tested) <= suspects.SAMPLED + 2
