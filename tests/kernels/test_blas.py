"""One thread of BLAS while many small systems are solved."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import localdp as ldp
from localdp.kernels import blas
from localdp.questionnaires import draws
from localdp.structures import calibration

THREADS = 3


def _threads():
    return {read() for read, _ in blas.libraries()}


@pytest.fixture
def several():
    """As where the environment does not say how many threads there are."""
    if not blas.libraries():
        pytest.skip("this NumPy and SciPy do not use OpenBLAS")
    before = [read() for read, _ in blas.libraries()]
    for _, change in blas.libraries():
        change(THREADS)
    yield
    for (_, change), number in zip(blas.libraries(), before, strict=True):
        change(number)


@pytest.mark.usefixtures("several")
def test_the_number_of_threads_is_1_until_the_last_one_has_finished():
    entered, leave = threading.Event(), threading.Event()

    def other():
        with blas.one_thread():
            entered.set()
            leave.wait(30)

    helper = threading.Thread(target=other)
    with blas.one_thread():
        assert _threads() == {1}
        helper.start()
        assert entered.wait(30)
    assert _threads() == {1}
    leave.set()
    helper.join(30)
    assert _threads() == {THREADS}


@pytest.mark.usefixtures("several")
def test_structures_and_questionnaires_are_fitted_with_one_thread(monkeypatch):
    seen = []

    def watched(module, name):
        found = getattr(module, name)

        def run(*args, **options):
            seen.append((name, *_threads()))
            return found(*args, **options)

        monkeypatch.setattr(module, name, run)

    watched(calibration, "channel_fit")
    watched(draws, "raked")
    ldp.Plan(ldp.Scale(0, 30), "wave", epsilon=1.0).simulate(np.full(31, 100), seed=1).estimate().calibrate()
    questions = {"diet": ldp.Choice(["vegan", "any"]), "age": ldp.Scale(1, 3)}
    survey = ldp.Questionnaire(questions, epsilon=2.0, cross="all")
    _ = survey.simulate({"diet": ["vegan", "any"] * 50, "age": [1, 3] * 50}, seed=1).calibrate()["diet"]
    assert set(seen) == {("channel_fit", 1), ("raked", 1)}
    assert _threads() == {THREADS}
