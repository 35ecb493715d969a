"""Mechanisms of one's own: registered by name, their plans, reports and aggregates can be written and read."""

from __future__ import annotations

import json
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest

import localdp as ldp
from localdp.errors import ArchiveError, InvalidInputError, PlanError, UnknownMechanismError
from localdp.mechanisms import MECHANISMS, Mechanism, UnaryEncoding, create, kind_named, register
from localdp.randomness import thresholds
from localdp.registry import Registry

ITEMS = ["tea", "milk", "salt", "rice"]


class Louder(UnaryEncoding):
    """Unary encoding that keeps the held item's bit with probability 3/4."""

    name = "test-louder"

    def thresholds(self):
        e, p = thresholds.exp_below(self.requested_epsilon), Fraction(3, 4)
        return thresholds.rounded_down(p, self.width), thresholds.rounded_up(p / (p + e * (1 - p)), self.width)


@pytest.fixture(autouse=True)
def _registry(monkeypatch):
    """What a test registers is forgotten after it."""
    monkeypatch.setattr(ldp.mechanisms, "_REGISTRY", Registry(Mechanism, {*MECHANISMS, "auto", "rappor"}))


def test_a_registered_mechanism_is_chosen_by_its_name():
    assert register(Louder) is Louder
    plan = ldp.Plan(ITEMS, "test-louder", 1.0)
    assert type(plan.mechanism) is kind_named("test-louder") is Louder
    assert plan == ldp.Plan(ITEMS, Louder(4, 1.0))
    assert plan.why == "test-louder was asked for by name"


def test_its_plans_reports_and_aggregates_are_written_and_read(tmp_path):
    register(Louder)
    plan = ldp.Plan(ITEMS, "test-louder", 1.0)
    read = ldp.Plan.from_json(plan.to_json(), most_epsilon=1.0)
    assert read == plan
    assert isinstance(read.mechanism, Louder)
    reports = plan.privatize(ITEMS * 50)
    aggregate = read.aggregate(read.read(reports.to_bytes())).add(read.read(reports.to_json()))
    aggregate.save(tmp_path / "counts.ldp")
    assert ldp.Aggregate.load(tmp_path / "counts.ldp") == aggregate
    assert aggregate.n == 400


def test_its_estimates_are_calibrated_like_any_other():
    register(Louder)
    truth = (5_000 / np.arange(1, 101)).astype(int)
    estimate = ldp.Plan(100, "test-louder", 3.0).simulate(truth, seed=1).estimate()
    calibrated = estimate.calibrate()
    assert ldp.metrics.estimation_error(calibrated, truth) < ldp.metrics.estimation_error(estimate, truth)
    assert calibrated.heavy_hitters(500).items[:3] == [0, 1, 2]


def test_a_plan_of_an_unknown_mechanism_says_to_register_it(tmp_path):
    plan = ldp.Plan(ITEMS, Louder(4, 1.0))
    plan.aggregate(plan.privatize(ITEMS)).save(tmp_path / "counts.ldp")
    sentence = r"no mechanism 'test-louder'.*registered first: localdp.mechanisms.register\(YourClass\)"
    with pytest.raises(PlanError, match=sentence):
        ldp.Plan.from_json(plan.to_json())
    with pytest.raises(ArchiveError, match=sentence):
        ldp.Aggregate.load(tmp_path / "counts.ldp")
    with pytest.raises(UnknownMechanismError, match=sentence):
        ldp.Plan(ITEMS, "test-louder", 1.0)


def test_an_altered_plan_is_refused():
    register(Louder)
    document = json.loads(ldp.Plan(ITEMS, "test-louder", 1.0).to_json())
    document["parameters"]["keep"] = str(2**64 - 1)
    with pytest.raises(PlanError, match="this plan was altered"):
        ldp.Plan.from_json(json.dumps(document))


def test_auto_never_takes_it():
    class TooGood(Louder):
        name = "test-too-good"

        @property
        def q(self):
            return super().q / 10**6

    before = create("auto", 100, 1.0).mechanism
    register(TooGood)
    assert create("auto", 100, 1.0).mechanism == before
    assert "test-too-good" not in MECHANISMS


def _defined_anew():
    class Again(Louder):
        name = "test-again"

    return Again


def test_a_class_may_be_defined_anew_as_in_a_notebook():
    first, second = _defined_anew(), _defined_anew()
    register(first)
    stale = first(4, 1.0)
    assert register(register(second)) is second
    assert type(ldp.Plan(ITEMS, "test-again", 1.0).mechanism) is second
    with pytest.raises(InvalidInputError, match="its class was defined anew: make the mechanism anew"):
        ldp.Plan(ITEMS, stale)


def _named(given):
    class Named(Louder):
        name = given

    return Named


@pytest.mark.parametrize(
    ("kind", "sentence"),
    [
        (Louder(4, 1.0), "give the class Louder, not an object of it"),
        ("test-louder", "expected a class that derives from localdp.Mechanism, not 'test-louder'"),
        (dict, "expected a class that derives from localdp.Mechanism"),
        (UnaryEncoding, "UnaryEncoding is not complete: write thresholds"),
        (_named("oue"), "the name 'oue' belongs to the library: give Named a name of its own"),
        (_named("auto"), "the name 'auto' belongs to the library"),
        (_named("rappor"), "the name 'rappor' belongs to the library"),
        *((_named(name), "Named needs a name, such as") for name in ("", "My Name", "a--b", "x" * 41, None)),
    ],
)
def test_what_cannot_be_registered_is_refused(kind, sentence):
    with pytest.raises(InvalidInputError, match=sentence):
        register(kind)


def test_two_classes_cannot_share_a_name():
    register(Louder)
    with pytest.raises(InvalidInputError, match=r"'test-louder' belongs to .*Louder: give Named a name of its own"):
        register(_named("test-louder"))
    assert kind_named("test-louder") is Louder


def test_another_process_reads_the_plan_once_it_has_registered_the_class(tmp_path):
    (tmp_path / "mine.py").write_text(
        "from localdp.mechanisms import SymmetricUnary, register\n"
        "@register\nclass Mine(SymmetricUnary):\n    name = 'test-mine'\n"
    )
    write = "import mine, localdp; print(localdp.Plan(9, 'test-mine', 1.0).to_json())"
    read = "import sys, mine, localdp; print(localdp.Plan.from_json(sys.stdin.read()).mechanism.name)"
    plan = subprocess.run([sys.executable, "-c", write], cwd=tmp_path, capture_output=True, check=True).stdout  # noqa: S603
    done = subprocess.run([sys.executable, "-c", read], cwd=tmp_path, input=plan, capture_output=True, check=True)  # noqa: S603
    assert done.stdout.split() == [b"test-mine"]
