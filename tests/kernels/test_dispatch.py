"""When compiled kernels are used: asked for, for a large call, or once small calls add up; never without Numba."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from localdp.errors import InvalidInputError
from localdp.kernels import dispatch
from localdp.kernels.counting import count_bits
from localdp.kernels.dispatch import LARGE_CALL_WORDS, SECONDS_WORTH_LOADING


@pytest.fixture
def process(monkeypatch):
    """A process that has done nothing yet. Numba is not loaded but asked for: the answer is in the list."""
    asked = []
    monkeypatch.setattr(dispatch, "_choice", "auto")
    monkeypatch.setattr(dispatch, "_expects_large_call", False)
    monkeypatch.setattr(dispatch, "_seconds_in_numpy", 0.0)
    monkeypatch.setattr(dispatch, "_numba_works", lambda: asked.append(True) or True)
    return asked


class _Clock:
    """Time passes only while a definition works."""

    def __init__(self, monkeypatch):
        self.now = 1000.0
        monkeypatch.setattr(dispatch, "perf_counter", lambda: self.now)

    def definition(self, seconds):
        def work():
            self.now += seconds
            return "defined"

        return dispatch.Accelerated(work, "nowhere.work")


def test_one_large_call_loads_numba_at_once(process):
    dispatch.expect_work(LARGE_CALL_WORDS - 1)
    assert not dispatch.uses_compiled()
    assert not process
    dispatch.expect_work(LARGE_CALL_WORDS)
    assert dispatch.uses_compiled()
    assert process


@pytest.mark.usefixtures("process")
def test_many_small_calls_are_not_a_large_one():
    for _ in range(100):
        dispatch.expect_work(LARGE_CALL_WORDS // 2)
    assert not dispatch.uses_compiled()


def test_small_calls_add_up_until_they_have_lost_what_loading_costs(process, monkeypatch):
    clock = _Clock(monkeypatch)
    monkeypatch.setattr(dispatch, "load_twin", lambda _: lambda: "compiled")
    work = clock.definition(SECONDS_WORTH_LOADING / 8)
    assert [work() for _ in range(8)] == ["defined"] * 8
    assert not process
    assert work() == "compiled"
    assert process


@pytest.mark.usefixtures("process")
def test_time_between_calls_does_not_count(monkeypatch):
    clock = _Clock(monkeypatch)
    work = clock.definition(SECONDS_WORTH_LOADING / 100)
    for _ in range(50):
        clock.now += 3600
        assert work() == "defined"
    assert not dispatch.uses_compiled()


@pytest.mark.usefixtures("process")
def test_what_a_twin_declines_is_done_by_the_definition(monkeypatch):
    monkeypatch.setattr(dispatch, "load_twin", lambda _: lambda: NotImplemented)
    with dispatch.kernels("fast"):
        assert _Clock(monkeypatch).definition(1.0)() == "defined"


@pytest.mark.usefixtures("process")
def test_counting_adds_to_the_sum_of_small_calls():
    rows = np.zeros((100, 128), np.uint8)
    count_bits(rows, 1024)
    once = dispatch._seconds_in_numpy
    assert once > 0
    count_bits(rows, 1024)
    assert dispatch._seconds_in_numpy > once


@pytest.mark.usefixtures("process")
def test_numpy_is_used_after_any_amount_of_work_if_asked_for(monkeypatch):
    monkeypatch.setattr(dispatch, "_seconds_in_numpy", 1e9)
    dispatch.expect_work(1 << 40)
    with dispatch.kernels("numpy"):
        assert not dispatch.uses_compiled()
    assert dispatch.uses_compiled()


def test_a_choice_of_kernels_ends_with_its_block():
    with dispatch.kernels("numpy"):
        with dispatch.kernels("fast"):
            assert dispatch.uses_compiled()
        assert not dispatch.uses_compiled()


def test_small_batches_of_a_real_process_add_up_to_numba():
    code = (
        "import sys, numpy as np, localdp as ldp; from localdp.kernels import dispatch; "
        "plan = ldp.Plan(1000, 'oue', 1.0); some = plan.privatize(np.zeros(100, int)); total = plan.aggregate(some); "
        "dispatch.SECONDS_WORTH_LOADING = 0.05; "
        "before = 'numba' in sys.modules; "
        "[total.add(some) for _ in range(10_000)]; print(before, 'numba' in sys.modules)"
    )
    assert _python(code, LOCALDP_KERNELS="auto") == "False True"


def _python(code, **environment):
    line = [sys.executable, "-W", "error", "-c", code]
    run = subprocess.run(line, capture_output=True, text=True, env={**os.environ, **environment})  # noqa: S603
    return run.stdout.strip() or run.stderr.strip().splitlines()[-1]


MANY = "import localdp as ldp, numpy as np; plan = ldp.Plan(1000, 'llh', 1.0); plan.privatize(np.zeros({users}, int))"
ASKED = "; import sys; print('numba' in sys.modules)"


@pytest.mark.parametrize(
    ("users", "kernels", "loaded"),
    [(1, "auto", False), (10**6, "auto", True), (10**6, "", True), (10**6, "numpy", False), (1, "fast", True)],
)
def test_numba_is_loaded_when_it_pays_or_is_asked_for(users, kernels, loaded):
    assert _python(MANY.format(users=users) + ASKED, LOCALDP_KERNELS=kernels) == str(loaded)


def test_everything_works_without_numba():
    missing = "import sys; sys.modules['numba'] = None; "
    check = "; print(plan.aggregate(plan.privatize(np.zeros(9, int))).n)"
    assert _python(missing + MANY.format(users=10**6) + check, LOCALDP_KERNELS="auto") == "9"
    assert "pip install numba" in _python(missing + MANY.format(users=1), LOCALDP_KERNELS="fast")


def test_nowhere_to_keep_machine_code_is_no_obstacle():
    nowhere = "import numba.core.caching as c; c.CacheImpl._locator_classes = []; "
    nowhere += "from localdp.kernels.compiled import walsh_hadamard as m; "
    run = "import numpy as np; v = np.arange(4); m.walsh_hadamard(v); print(v.tolist(), m._transform.stats.cache_path)"
    assert _python(nowhere + run) == "[6, -2, -4, 0] None"


def test_another_word_for_the_kernels_is_an_error():
    expected = "LOCALDP_KERNELS must be one of auto, numpy, fast, not 'quick'"
    with dispatch.kernels("quick"), pytest.raises(InvalidInputError, match=expected):
        dispatch.uses_compiled()
