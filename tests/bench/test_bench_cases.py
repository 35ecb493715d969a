"""What is compared: times for each user, our four sides, and peers that exist."""

from __future__ import annotations

import os

import numpy as np
import pytest

from localdp.bench import cases, growth, timing
from localdp.bench.cases import CASES, LARGE, Case, PeerProtocol
from localdp.bench.peers import NAMES
from localdp.mechanisms import MECHANISMS


class Library:
    """Another library with made-up times."""

    def __init__(self):
        self.asked = []

    def run(self, protocol, users, size, epsilon):
        self.asked.append((protocol, users, size, epsilon))
        return {"privatize": 2.0, "aggregate": 1.0, "decode": 8.0}


@pytest.fixture(autouse=True)
def one_run_a_turn(monkeypatch):
    monkeypatch.setattr(timing, "TURN_SECONDS", 0.0)


def test_a_peer_is_measured_for_each_user_and_decoding_is_shared_by_our_users():
    case = Case("oue", 8, 1.0, 16, ())
    library = Library()
    run = cases.peer_run(case, PeerProtocol("them", "them", "OUE", 4), library)
    assert run() == {"privatize": 2 / 4, "aggregate": 1 / 4 + 8 / 16}
    assert library.asked == [("OUE", 4, 8, 1.0)]


def test_a_case_has_both_kernels_one_thread_and_every_peer(monkeypatch):
    monkeypatch.setenv("LOCALDP_THREADS", "2")
    case = Case("oue", 8, 1.0, 16, (PeerProtocol("one", "them", "a", 4), PeerProtocol("two", "them", "b", 2)))
    best = cases.measure(case, {"them": Library()}, rounds=1)
    assert list(best) == ["fast", "numpy", "fast, one thread", "numpy, one thread", "one", "two"]
    for timings in best.values():
        assert timings["both"] == timings["privatize"] + timings["aggregate"]
        assert min(timings.values()) > 0
    assert best["two"]["privatize"] == 1.0
    assert os.environ["LOCALDP_THREADS"] == "2"


def test_our_side_runs_with_the_kernels_and_threads_it_names(monkeypatch):
    import localdp as ldp
    from localdp.kernels import dispatch

    seen, privatize = [], ldp.Plan.privatize

    def noted(plan, values):
        seen.append((dispatch.uses_compiled(), os.environ["LOCALDP_THREADS"], len(values)))
        return privatize(plan, values)

    monkeypatch.setattr(ldp.Plan, "privatize", noted)
    monkeypatch.delenv("LOCALDP_THREADS", raising=False)
    cases.our_run(Case("grr", 8, 1.0, 16, ()), "numpy", 1)()
    cases.our_run(Case("grr", 8, 1.0, 16, ()), "fast", 2)()
    assert seen == [(False, "1", 16)] * 2 + [(True, "2", 16)] * 2
    assert "LOCALDP_THREADS" not in os.environ


@pytest.mark.parametrize("case", [*CASES, *LARGE], ids=lambda case: f"{case.mechanism}-{case.size}-{case.epsilon:g}")
def test_every_case_has_a_mechanism_of_ours_and_peers_on_fewer_users(case):
    assert case.mechanism in MECHANISMS
    assert case.peers
    assert {peer.library for peer in case.peers} <= set(NAMES)
    assert all(0 < peer.users < case.users for peer in case.peers)


def test_values_are_items_of_the_domain_and_always_the_same():
    values = cases.values_of(7, 1000)
    assert set(values.tolist()) == set(range(7))
    assert np.array_equal(values, cases.values_of(7, 1000))


def test_growth_is_in_nanoseconds_for_each_size():
    runs = [lambda: {"read": 2e-9, "write": 5e-9}, lambda: {"read": 3e-9, "write": 7e-9}]
    grown = growth._measured("copy, n =", "byte", (10, 20), runs, rounds=1)
    assert (grown.what, grown.unit, grown.sizes) == ("copy, n =", "byte", (10, 20))
    assert grown.nanoseconds["read"] == pytest.approx([2.0, 3.0])
    assert grown.nanoseconds["write"] == pytest.approx([5.0, 7.0])


def test_growth_is_divided_by_reports_bits_or_items(monkeypatch):
    monkeypatch.setattr(cases, "seconds", lambda action: (action(), 6.0)[1])
    reports = growth.with_reports("oue", 8, (2, 3), rounds=1)
    assert reports.what == "oue, d = 8, epsilon 1, n ="
    assert reports.nanoseconds["privatize"] == pytest.approx([3e9, 2e9])
    bits = growth.with_items("oue", 2, (4, 8), "bit", rounds=1)
    assert bits.what == "oue, n = 2, epsilon 1, d ="
    assert bits.nanoseconds["both"] == pytest.approx([12e9 / 8, 12e9 / 16])
    per_report = growth.with_items("llh", 2, (4, 8), "report", rounds=1)
    assert per_report.nanoseconds["aggregate"] == pytest.approx([3e9, 3e9])


def test_growth_of_calibrate_measures_with_and_without_fitting():
    grown = growth.of_calibrate((50, 100), rounds=1)
    assert (grown.unit, grown.sizes) == ("item", (50, 100))
    assert set(grown.nanoseconds) == {"fit and calibrate", "calibrate"}
    assert all(took > 0 for several in grown.nanoseconds.values() for took in several)
