"""Nothing out of bounds gets in: indices, counts, sizes, positional seeds, and long messages."""

from __future__ import annotations

import inspect
import re

import numpy as np
import pytest

import localdp as ldp
from localdp.errors import LONGEST_MESSAGE, DomainError, FrequencyError, LocalDPError, UnknownItemError, WireError
from localdp.kernels import dispatch
from localdp.mechanisms import MECHANISMS
from localdp.randomness.keystream import secure

NAMES = [(name, 0.5 if name == "hr" else 1.0) for name in MECHANISMS]


@pytest.mark.parametrize("values", [[0.0, 1.0], [True, False], ["0"], [[0, 1]], [None]])
def test_a_mechanism_refuses_what_is_not_an_index(values):
    with pytest.raises(UnknownItemError, match=r"not among 0\.\.19"):
        MECHANISMS["oue"](20, 1.0).privatize(values, secure())


@pytest.mark.parametrize(
    ("name", "size", "counts", "n"),
    [
        ("grr", 4, [3, 3, 3, 3], 3),
        ("grr", 4, [1, 1, 0, 0], 3),
        ("ss", 4, [0, 0, 0, 0], 3),
        ("ss", 9, [3, 3, 3, 3, 3, 3, 3, 3, 3], 3),
        ("llh", 8, [0, 0, 0, 0, 0, 0, 0, 0], 5),
    ],
)
def test_counts_that_no_reports_can_give_are_refused(name, size, counts, n):
    with pytest.raises(FrequencyError, match="no reports can have these counts"):
        ldp.Aggregate(ldp.Plan(size, name, 1.0), np.array(counts), n)


@pytest.mark.parametrize(("name", "epsilon"), NAMES)
@pytest.mark.parametrize("size", [2, 7, 8, 16])
def test_counts_of_real_reports_are_accepted(name, epsilon, size):
    plan = ldp.Plan(size, name, epsilon)
    counted = plan.aggregate(plan.privatize(np.arange(50) % size, seed=1))
    assert ldp.Aggregate(plan, counted.counts, counted.n) == counted
    simulated = plan.simulate(np.full(size, 9), seed=2)
    assert ldp.Aggregate(plan, simulated.counts, simulated.n) == simulated


def test_the_sum_of_counts_does_not_overflow():
    plan, most = ldp.Plan(4096, "grr", 1.0), 2**53 - 1
    with pytest.raises(FrequencyError, match=f"add up to {4096 * most}, not to {most}"):
        ldp.Aggregate(plan, np.full(4096, most), most)


@pytest.mark.parametrize(
    ("size", "said"),
    [(2**32 + 1, "4,294,967,297"), (10**310, "about 2^1029"), (10**5000, "about 2^16609")],
    ids=["just past", "past floats", "past digits"],
)
def test_a_size_without_bounds_is_refused_with_a_sentence(size, said):
    with pytest.raises(DomainError, match=re.escape(f"at most 2^32 items, not {said}")):
        ldp.Plan(size, "llh", 1.0)


@pytest.mark.parametrize(
    ("owner", "method"),
    [
        (ldp.Plan, "privatize"),
        (ldp.Plan, "privatize_indices"),
        (ldp.Plan, "simulate"),
        (ldp.Plan, "aggregate"),
        (ldp.Aggregate, "add"),
        (ldp.Mechanism, "privatize"),
        (ldp.Mechanism, "tally"),
    ],
)
def test_seed_and_progress_are_given_by_name_only(owner, method):
    parameters = inspect.signature(getattr(owner, method)).parameters.values()
    named = [parameter for parameter in parameters if parameter.name in ("seed", "progress")]
    assert named
    assert all(parameter.kind is inspect.Parameter.KEYWORD_ONLY for parameter in named)


def test_a_positional_seed_is_an_error():
    with pytest.raises(TypeError, match="positional"):
        ldp.Plan(4, "grr", 1.0).privatize([1, 2], 7)


@pytest.mark.parametrize("kernels", ["numpy", "fast"])
def test_values_that_change_while_reports_are_made_never_get_out_of_bounds(kernels, monkeypatch):
    monkeypatch.setattr("localdp.kernels.chunks.CHUNK_WORDS", 1 << 9)
    monkeypatch.setenv("LOCALDP_THREADS", "1")
    values = np.zeros(5000, np.int64)

    def meddle(*_):
        values[-1000:] = 70

    with dispatch.kernels(kernels), pytest.raises(UnknownItemError, match=r"not among 0\.\.63: 70"):
        MECHANISMS["oue"](64, 1.0).privatize(values, secure(), progress=meddle)


def test_messages_stay_short():
    plan = ldp.Plan(["tea", "coffee"], "grr", 1.0)
    with pytest.raises(WireError) as caught:
        plan.read('{"plan": "' + "x" * 10_000_000 + '", "reports": []}')
    assert len(str(caught.value)) <= LONGEST_MESSAGE + 50
    with pytest.raises(UnknownItemError) as caught:
        plan.privatize(["x" * 10_000_000])
    assert len(str(caught.value)) <= LONGEST_MESSAGE + 50
    assert len(str(LocalDPError("a" * 5000))) <= LONGEST_MESSAGE + 50
