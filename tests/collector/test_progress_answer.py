"""How far a plan has come: the standard error now, and what more reports would give."""

from __future__ import annotations

import json

import pytest

import localdp as ldp
from localdp.collector.answers.progress import ProgressAnswer


def test_precision_now_is_that_of_the_estimates():
    plan = ldp.Plan(200, "oue", 1.0)
    estimate = plan.simulate([500] * 200, seed=1).estimate()
    answer = ProgressAnswer(plan, 100_000, minimum=10)
    assert answer.now.std_error == pytest.approx(estimate.std_error)
    assert answer.now.std_error_share == pytest.approx(estimate.std_error / 100_000)
    assert answer.now.threshold == pytest.approx(estimate.significance_threshold(), rel=0.01)
    assert [one.reports for one in answer.later] == [200_000, 500_000, 1_000_000]
    for one, times in zip(answer.later, (2, 5, 10), strict=True):
        assert one.std_error_share == pytest.approx(answer.now.std_error_share / times**0.5)
    seen = [one.visible_share for one in (answer.now, *answer.later)]
    assert seen == sorted(seen, reverse=True)


def test_an_item_at_the_visible_share_is_seen_nine_times_in_ten():
    plan = ldp.Plan(50, "oue", 1.0)
    share = ProgressAnswer(plan, 20_000).now.visible_share
    held = round(share * 20_000)
    seen = 0
    for seed in range(400):
        estimate = plan.simulate([held, 20_000 - held, *[0] * 48], seed=seed).estimate()
        seen += estimate.frequencies[0] > estimate.significance_threshold()
    assert 325 <= seen <= 390  # of 400 with probability 0.9: outside with probability 1e-6 or so


def test_before_the_first_report_the_answer_says_what_some_would_give():
    document = json.loads(json.dumps(ProgressAnswer(ldp.Plan(9, epsilon=1.0), 0, minimum=50).document()))
    assert document["now"] is None
    assert document["fake_users"] is None
    assert document["released"] is False
    assert [one["reports"] for one in document["later"]] == [1_000, 10_000, 100_000]
    assert document["sentences"][0] == "50 more reports are needed before estimates are released."


def test_the_document_says_what_forged_reports_do():
    document = ProgressAnswer(ldp.Plan(100, "oue", 1.0), 10_000, suspect=2).document()
    assert document["suspect_reports"] == 2
    assert document["fake_users"]["needed"] == 61
    assert {"oue", "grr", "llh"} <= {other["mechanism"] for other in document["fake_users"]["mechanisms"]}
    json.dumps(document, allow_nan=False)


def test_where_nothing_is_visible_the_answer_says_so():
    answer = ProgressAnswer(ldp.Plan(1_000, "oue", 0.1), 5)
    assert answer.now.visible_share is None
    assert any("no item stands out" in sentence for sentence in answer.sentences)


@pytest.mark.parametrize("once", [None, 0.5])
def test_every_kind_of_plan_has_progress(once):
    plan = ldp.Plan(30, "auto", 2.0, once=once)
    document = ProgressAnswer(plan, 1).document()
    assert document["now"]["reports"] == 1
    assert document["fake_users"]["needed"] >= 1
