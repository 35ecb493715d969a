"""Which trials a run of the evaluation consists of, and what runs each of them."""

from __future__ import annotations

from collections.abc import Iterator

from localdp.datasets import Dataset
from localdp.experiments.measures import bloom, few_items, fits, goodness, opt_in, optimality, trials
from localdp.experiments.tasks import THRESHOLD_EPSILON, Measurements, Task

THRESHOLD_MULTIPLES = (0.125, 0.177, 0.25, 0.354, 0.5, 0.707, 1.0, 1.414, 2.0, 2.828, 4.0)
OTHER_MECHANISMS = ("grr", "sue", "ss", "olh", "llh")

_EXPERIMENTS = {
    "methods": trials.run,
    "bloom": bloom.run,
    "few-items": few_items.run,
    "fits": fits.run,
    "goodness": goodness.run,
    "opt-in": opt_in.run,
    "optimality": optimality.run,
}

_SHARES = {"methods": 1, "optimality": 1, "goodness": 8, "opt-in": 8}


def run(task: Task) -> Measurements:
    """Run one trial of the experiment that the task names."""
    return _EXPERIMENTS[task.experiment](task)


def tasks(data: Dataset, epsilons: tuple[float, ...]) -> Iterator[Task]:
    """Every task on one data set: the paper's evaluation, other mechanisms, and our own experiments."""
    for epsilon in epsilons:
        yield Task(data, "oue", epsilon, THRESHOLD_MULTIPLES if epsilon == THRESHOLD_EPSILON else (1.0,))
    head = few_items.most_frequent(data)
    for mechanism in OTHER_MECHANISMS:
        yield Task(head if mechanism == "ss" and data.d > head.d else data, mechanism, THRESHOLD_EPSILON)
    yield Task(data, "bloom", THRESHOLD_EPSILON, experiment="bloom")
    for epsilon in (1.0, THRESHOLD_EPSILON):
        yield Task(data, "oue", epsilon, experiment="optimality")
        yield Task(data, "oue", epsilon, experiment="goodness")
    for part in (head, few_items.falling(data)):
        yield Task(part, "ss", THRESHOLD_EPSILON, experiment="few-items")
    yield Task(data, "oue", 1.0, experiment="fits")
    yield Task(data, "oue", 1.0, experiment="opt-in")


def trials_of(task: Task, count: int) -> int:
    """How often a task runs if the paper's evaluation runs `count` times: most of our own experiments a third of that.

    The theorem needs all of them, since what could contradict it is small. Tests of the family and opt-in, which are
    slow and give nearly the same answer every time, run an eighth as often, and once in a quick run.
    """
    share = _SHARES.get(task.experiment, 3)
    return min(count, max(2 if share == 3 else 1, count // share))
