"""A question and a mechanism that the library does not know, through a client: paid once, sent, counted and read."""

from __future__ import annotations

import numpy as np
import pytest
from collectors import collector
from questions_outside import Hour

import localdp as ldp
from localdp.errors import PlanLimitError
from localdp.studies import Single, Tally, study_in

PLAN = ldp.Plan(Hour(3), "test-gaps", 2.0)


def test_a_device_answers_from_its_permanent_response_and_pays_once_for_a_cell(tmp_path):
    client = ldp.Client(PLAN.to_json(), store=tmp_path)
    report = client.report("17:25")
    assert client.report("16:59") == report  # the same three hours
    assert ldp.Client(PLAN, store=tmp_path).report("15:00") == report
    assert client.spent == PLAN.mechanism.epsilon
    client.report("03:10")
    assert client.spent == 2 * PLAN.mechanism.epsilon


def test_reports_are_sent_and_counted_as_outcomes(tmp_path):
    with collector() as server:
        client = ldp.Client(PLAN, store=tmp_path, upload=server.url)
        assert client.send("17:25").delivered == 1
        ((path, _, body),) = server.requests
    assert path == f"/v1/plans/{PLAN.fingerprint}/reports"
    aggregate = PLAN.aggregate(PLAN.read(body))
    assert aggregate.counts.size == PLAN.mechanism.outcomes == PLAN.domain.size + 2
    assert aggregate.n == aggregate.counts.sum() == 1


def test_limits_of_a_device_hold_for_it(tmp_path):
    with pytest.raises(PlanLimitError):
        ldp.Client(PLAN.to_json(), store=tmp_path, most_epsilon=1.0)
    assert ldp.Client(PLAN.to_json(), store=tmp_path, needs_other=True).spent == 0  # it takes every time


def test_it_is_a_study_whose_result_finds_the_hours():
    """Of 20,000 people 60% answer at five, 40% at three; shares within 0.1 are 8 deviations and more."""
    study = study_in(Single(PLAN).to_json())
    (part,) = study.parts()
    reports = part.privatize(["17:25"] * 12_000 + ["03:10"] * 8_000, seed=4)
    found = study.result(Tally().counting(part, part.aggregate(reports)))
    assert np.abs(found.frequencies / found.n - [0, 0.4, 0, 0, 0, 0.6, 0, 0]).max() < 0.1
