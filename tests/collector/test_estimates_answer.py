"""Estimates that analysts get: the library's numbers, in three formats, and only past the minimum."""

from __future__ import annotations

import csv
import io
import json

import numpy as np
import pyarrow as pa
import pytest

import localdp as ldp
from localdp.collector.answers.estimates import EstimatesAnswer
from localdp.collector.answers.fitted import Remembering, fit, merged
from localdp.collector.answers.queries import EstimatesQuery
from localdp.collector.answers.released import Released
from localdp.errors import InvalidInputError, TooFewReportsError

ITEMS = ["tea", "mil,k", 'wa"ter', "7", "süß"]


@pytest.fixture(scope="module")
def aggregate():
    return ldp.Plan(ITEMS, "oue", 2.0).simulate([5_000, 3_000, 1_500, 400, 100], seed=3)


def answered(aggregate, query=None, suspect=0):
    """The answer about all of these reports, as a collector makes it, beside so many that look forged."""
    query, n = query or EstimatesQuery(), aggregate.n
    fitted = fit(aggregate, query.prior, reports=query.reports_per_person)
    return EstimatesAnswer(query, fitted, Released(1, n, n + suspect, suspect, 0))


def _document(aggregate, **parameters):
    return json.loads(answered(aggregate, EstimatesQuery.read(parameters)).rendered("json").body)


def test_the_document_has_the_numbers_of_the_library(aggregate):
    estimate = aggregate.estimate()
    calibrated = estimate.calibrate("smooth")
    document = _document(aggregate, prior="smooth", level="0.8")
    low, high = calibrated.interval(0.8)
    items = document["items"]
    assert items["item"] == ITEMS
    assert items["low"] == low.tolist()
    assert items["high"] == high.tolist()
    np.testing.assert_allclose(items["raw"], estimate.frequencies, atol=6e-4)
    np.testing.assert_allclose(items["raw_std_error"], estimate.std_error_at(estimate.frequencies), atol=6e-4)
    np.testing.assert_allclose(items["frequency"], calibrated.frequencies, atol=6e-4)
    for share, users in (("share", calibrated.frequencies), ("share_low", low), ("share_high", high)):
        np.testing.assert_allclose(items[share], users / 10_000, atol=6e-8)
    assert document["n"] == 10_000
    assert document["deviations"] == pytest.approx(1.281552)
    assert document["plan"] == aggregate.plan.fingerprint
    assert document["std_error"] == pytest.approx(estimate.std_error, abs=6e-4)
    assert document["significance_threshold"] == pytest.approx(estimate.significance_threshold(), abs=6e-4)
    assert document["prior"]["asked"] == "smooth"
    assert document["warnings"] == []


def test_reports_of_the_same_people_are_not_those_of_more_people():
    merged = ldp.Plan(ITEMS, "oue+sue", 2.0, once=1.0).simulate([5_000, 3_000, 1_500, 400, 100], seed=3)
    for given, reports in (("4", 4), ("1-4", (1, 4))):
        document, right = _document(merged, reports_per_person=given), merged.estimate(reports_per_person=reports)
        assert document["n"] == right.n
        assert document["std_error"] == pytest.approx(right.std_error, abs=6e-4)
    assert document["std_error_share"] > _document(merged)["std_error_share"]
    with pytest.raises(InvalidInputError, match="how many reports each person sent"):
        EstimatesQuery.read({"reports_per_person": "many"})
    kept = Remembering()
    assert kept(merged, "auto").n == 10_000
    assert kept(merged, "auto", reports=(4.0, 4.0)).n == 2_500


def test_all_formats_hold_the_same_table(aggregate):
    answers = {kind: answered(aggregate, EstimatesQuery(format=kind)) for kind in ("json", "csv", "arrow")}
    items = json.loads(answers["json"].rendered("json").body)["items"]
    rows = list(csv.reader(io.StringIO(answers["csv"].rendered("csv").body.decode())))
    assert rows[0] == [*items, "note"]
    assert [row[-1] for row in rows[2:]] == [""] * (len(ITEMS) - 1)
    assert rows[1][-1] == "quote share: the true one lies between share_low and share_high with probability 90%"
    assert [row[0] for row in rows[1:]] == ITEMS
    assert [float(row[3]) for row in rows[1:]] == items["frequency"]
    with pa.ipc.open_file(answers["arrow"].rendered("arrow").body) as file:
        assert file.read_all().to_pydict() == items
    media = {kind: answer.rendered(kind).media_type for kind, answer in answers.items()}
    assert media == {
        "json": "application/json",
        "csv": "text/csv; charset=utf-8",
        "arrow": "application/vnd.apache.arrow.file",
    }


def test_top_and_threshold_narrow_the_answer(aggregate):
    calibrated = aggregate.estimate().calibrate()
    top = _document(aggregate, top="2")
    assert "items" not in top
    assert "hitters" not in top
    assert top["top"]["k"] == 2
    assert top["top"]["items"]["item"] == ["tea", "mil,k"]
    np.testing.assert_allclose(top["top"]["items"]["probability"], calibrated.top(2).probabilities, atol=1e-6)
    found = _document(aggregate, threshold="10%", rule="fdr", fdr="20%", top="50")
    assert found["top"]["k"] == 5
    assert found["hitters"]["threshold"] == 1_000
    assert found["hitters"]["rule"] == "fdr 0.2"
    assert found["hitters"]["items"]["item"] == calibrated.heavy_hitters("10%", fdr=0.2).items
    assert any("Rule fdr" in note for note in found["notes"])
    table = answered(aggregate, EstimatesQuery(threshold="10%", format="csv")).table()
    assert list(table["item"]) == calibrated.heavy_hitters("10%").items


def test_a_numbered_domain_keeps_its_numbers():
    aggregate = ldp.Plan(40, "grr", 3.0).simulate(np.arange(40) ** 3, seed=1)
    assert _document(aggregate)["items"]["item"] == list(range(40))
    assert _document(aggregate, top="1")["top"]["items"]["item"] == [39]


def test_nothing_is_released_below_the_minimum(aggregate):
    with pytest.raises(TooFewReportsError, match=r"there are 10,000 reports .* released from 10,001 on"):
        Released.all_of(aggregate.n, 10_001).check()
    Released.all_of(aggregate.n, 10_000).check()
    with pytest.raises(TooFewReportsError, match="there are no reports"):
        Released.all_of(0, 0).check()


def test_forged_reports_are_warned_of_in_the_answer_and_not_by_python(aggregate):
    plan = aggregate.plan
    forged = ldp.Aggregate(plan, aggregate.counts + 500, aggregate.n + 500)
    document = _document(forged)
    assert any("reports may be forged" in warning for warning in document["warnings"])
    answer = answered(aggregate, suspect=3)
    (warning,) = answer.warnings
    assert warning.startswith("3 reports look forged, and are left out. Together")
    assert warning.endswith("Together they can add at most 6.94 users to one item")
    document = answer.content()
    assert document["suspect_reports"] == 3
    assert (document["released"]["n_without_suspects"], document["released"]["n_with_suspects"]) == (10_000, 10_003)


def test_merging_leaves_the_parts_as_they_are(aggregate):
    before = aggregate.counts.copy()
    both = merged(aggregate.plan, [aggregate, aggregate])
    assert both.n == 20_000
    assert (both.counts == 2 * before).all()
    assert (aggregate.counts == before).all()
    assert aggregate.n == 10_000


def test_an_answer_about_41270_items_is_valid_json_of_moderate_size():
    d = 41_270
    plan = ldp.Plan([f"page {place}" for place in range(d)], "oue", 1.0)
    rng = np.random.default_rng(5)
    held = (2_000_000 / (np.arange(d) + 10)).astype(np.int64)
    n, mechanism = int(held.sum()), plan.mechanism
    counts = rng.binomial(held, mechanism.p_star) + rng.binomial(n - held, mechanism.q_star)
    body = answered(ldp.Aggregate(plan, counts, n), EstimatesQuery(prior="power-law")).rendered("json").body
    items = json.loads(body)["items"]
    assert {len(column) for column in items.values()} == {d}
    assert len(body) < 110 * d


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ([("top", "0")], "top is a whole number of at least 1, not '0'"),
        ([("top", "2000")], "top is at most 1,000, not 2,000"),
        ([("top", "1"), ("top", "2")], "top was given twice"),
        ([("from", "2026-13-01")], "from is a day in UTC, written as 2026-11-16, not '2026-13-01'"),
        ([("to", "20261101")], "to is a day in UTC"),
        ([("from", "2026-02-01"), ("to", "2026-01-31")], "from is a day after to"),
        ([("prior", "fixed")], "prior is power-law, .* or auto, not 'fixed'"),
        ([("by", "version")], "by is segment, not 'version'"),
        ([("format", "xml")], "format is json, csv or arrow, not 'xml'"),
        ([("threshold", "0.2")], "for a share of the users write '20%'"),
        ([("threshold", "many")], "threshold is a number of users, a share of them such as 0.5%, or significance"),
        ([("rule", "best")], "rule is mean, f1 or fdr, not 'best'"),
        ([("rule", "mean"), ("fdr", "0.1")], "fdr belongs to rule=fdr"),
        ([("fdr", "0")], "fdr is a probability between 0 and 1"),
        ([("level", "90")], "level is a probability between 0 and 1, not 90"),
        ([("top", "1"), ("threshold", "5"), ("format", "csv")], "format=csv holds one table"),
        ([("limit", "5")], "there is no parameter 'limit': there are from, to, prior"),
    ],
)
def test_queries_that_cannot_be_read_are_sentences(parameters, message):
    with pytest.raises(InvalidInputError, match=message):
        EstimatesQuery.read(parameters)


def test_a_share_that_is_too_large_is_refused_when_it_is_used(aggregate):
    with pytest.raises(InvalidInputError, match=r"a share of them such as '0.5%'"):
        _document(aggregate, threshold="200%")
