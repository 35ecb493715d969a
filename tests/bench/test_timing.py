"""Sides take turns and the smallest time counts; a clock that only these tests move stands in for the real one."""

from __future__ import annotations

import pytest

from localdp.bench import timing


class Clock:
    """A clock that moves when it is told to."""

    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(timing, "perf_counter", clock)
    return clock


def _side(name, clock, took, ran):
    """A side that takes these seconds at every run and notes that it ran."""

    def run():
        ran.append(name)
        clock.now += took
        return {"step": took}

    return run


def test_seconds_are_those_on_the_clock(clock):
    def work():
        clock.now += 2.5

    assert timing.seconds(work) == 2.5


def test_sides_take_turns_of_a_quarter_of_a_second_or_one_run(clock):
    ran = []
    sides = {"short": _side("short", clock, 0.125, ran), "long": _side("long", clock, 0.5, ran)}
    timing.interleaved(sides, rounds=2)
    assert ran == ["short", "short", "long"] * 2


def test_the_smallest_time_of_each_step_counts(clock):
    found = iter([{"a": 3.0, "b": 1.0}, {"a": 2.0, "b": 4.0}, {"a": 5.0, "b": 2.0}])

    def run():
        clock.now += 1
        return next(found)

    assert timing.interleaved({"ours": run}, rounds=3) == {"ours": {"a": 2.0, "b": 1.0}}


def test_the_times_of_sides_are_kept_apart(clock):
    ran = []
    sides = {"x": _side("x", clock, 0.5, ran), "y": _side("y", clock, 1.5, ran)}
    assert timing.interleaved(sides, rounds=3) == {"x": {"step": 0.5}, "y": {"step": 1.5}}
