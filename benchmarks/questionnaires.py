"""Tables of two questions from one report a person: `Questionnaire` beside other ways to spend the same epsilon.

    python benchmarks/questionnaires.py --data adult --runs 20             # epsilon 1, 2 and 4
    python benchmarks/questionnaires.py --data independent dependent --runs 10
    python benchmarks/questionnaires.py --independence 10000               # how often the test rejects independence

Errors are total variations, averaged over all questions and over all pairs, and then over runs, with standard errors.
Other ways have no cells for people who do not answer, which is to their advantage:

- split: everybody answers every question with epsilon / k; pairs are products of the one-way tables
- one question: everybody answers one question; pairs are products
- one pair: everybody answers one pair; norm-sub
- calm: the same reports, with the margins of all tables made equal by averages, in turn with norm-sub, as in CALM (Z.
  Zhang et al., CCS 2018)
- rs+fd: one question with the larger epsilon log(k (e^epsilon - 1) + 1), and uniform fake answers to the others, by
  grr (H. Arcolezi et al., CIKM 2021); pairs are products

Adult is UCI's; the file lies beside the repository or where --adult says. `independent` has its margins and no
dependence, `dependent` six questions of six answers that agree nine times out of ten.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import itertools
import math
from pathlib import Path

import numpy as np

import localdp as ldp
from localdp.estimate.projections import project
from localdp.questionnaires.association import p_value

ADULT = Path(__file__).resolve().parents[2] / "shared/data/adult.csv.gz"
COLUMNS = ("workclass", "education", "marital", "occupation", "relationship", "race", "sex", "income")
LEVEL = 0.9
ROUNDS = 10


class People:
    """Everybody's answers as indices, and the true tables."""

    def __init__(self, name, answers, unknown):
        self.name, self.answers, self.unknown = name, answers, unknown
        self.n, self.k = answers.shape
        self.sizes = answers.max(axis=0) + 1
        self.pairs = list(itertools.combinations(range(self.k), 2))
        self.one = [np.bincount(answers[:, i], minlength=self.sizes[i]) / self.n for i in range(self.k)]
        self.two = {pair: self.table(pair) for pair in self.pairs}

    def cells(self, pair, people=slice(None)):
        i, j = pair
        return self.answers[people, i] * self.sizes[j] + self.answers[people, j]

    def table(self, pair):
        shape = self.sizes[pair[0]], self.sizes[pair[1]]
        return np.bincount(self.cells(pair), minlength=shape[0] * shape[1]).reshape(shape) / self.n

    def errors(self, one, two):
        """Mean total variations of one-way tables and of pairs."""
        return (
            np.mean([np.abs(a - b).sum() / 2 for a, b in zip(one, self.one, strict=True)]),
            np.mean([np.abs(two[pair] - self.two[pair]).sum() / 2 for pair in self.pairs]),
        )


def adult(path):
    with gzip.open(path, "rt") as file:
        rows = list(csv.DictReader(file))
    listed = [[row[name] for row in rows] for name in COLUMNS]
    places = [np.unique(values, return_inverse=True) for values in listed]
    unknown = [int(np.flatnonzero(names == "?")[0]) if "?" in names else None for names, _ in places]
    return People("adult", np.stack([indices for _, indices in places], axis=1), unknown)


def people(name, path, random):
    if name == "dependent":
        kind = random.choice(6, 30_000, p=[0.4, 0.25, 0.15, 0.1, 0.06, 0.04])
        noise = random.integers(0, 6, (30_000, 6))
        answers = np.where(random.random((30_000, 6)) < 0.9, kind[:, None], noise)
        return People(name, answers, [None] * 6)
    found = adult(path)
    if name == "independent":
        mixed = np.stack([random.permutation(column) for column in found.answers.T], axis=1)
        return People(name, mixed, found.unknown)
    return found


def shares_of(plan, frequencies, seed):
    """Raw estimated shares of a plan's items."""
    found = plan.simulate(frequencies, seed=seed).estimate()
    return found.frequencies / found.n


def consistent(raw):
    return project(raw, "norm-sub", 1.0, 0.0)


def split(who, epsilon, random):
    one = []
    for i in range(who.k):
        plan = ldp.Plan(int(who.sizes[i]), epsilon=epsilon / who.k)
        held = np.bincount(who.answers[:, i], minlength=who.sizes[i])
        one.append(consistent(shares_of(plan, held, int(random.integers(2**40)))))
    return products(who, one)


def one_question(who, epsilon, random):
    drawn, one = random.integers(0, who.k, who.n), []
    for i in range(who.k):
        plan = ldp.Plan(int(who.sizes[i]), epsilon=epsilon)
        held = np.bincount(who.answers[drawn == i, i], minlength=who.sizes[i])
        one.append(consistent(shares_of(plan, held, int(random.integers(2**40)))))
    return products(who, one)


def products(who, one):
    return one, {(i, j): np.outer(one[i], one[j]) for i, j in who.pairs}


def raw_pairs(who, epsilon, random):
    """Raw tables, if everybody answers one pair."""
    drawn, found = random.integers(0, len(who.pairs), who.n), {}
    for number, (i, j) in enumerate(who.pairs):
        size = int(who.sizes[i] * who.sizes[j])
        held = np.bincount(who.cells((i, j), drawn == number), minlength=size)
        raw = shares_of(ldp.Plan(size, epsilon=epsilon), held, int(random.integers(2**40)))
        found[i, j] = raw.reshape(who.sizes[i], who.sizes[j])
    return found


def margins(who, tables):
    """The mean of the margins of all tables, weighed by how noisy a sum of cells is."""
    one = []
    for i in range(who.k):
        sums = [
            (t.sum(axis=1 if p[0] == i else 0), t.shape[1 if p[0] == i else 0]) for p, t in tables.items() if i in p
        ]
        weights = np.array([1 / cells for _, cells in sums])
        one.append(sum(w * s for w, (s, _) in zip(weights, sums, strict=True)) / weights.sum())
    return one


def each_pair(who, raw):
    tables = {pair: consistent(table.ravel()).reshape(table.shape) for pair, table in raw.items()}
    return margins(who, tables), tables


def calm(who, raw):
    tables = dict(raw)
    for _ in range(ROUNDS):
        one = [consistent(sums) for sums in margins(who, tables)]
        for (i, j), table in tables.items():
            moved = table + ((one[i] - table.sum(axis=1)) / table.shape[1])[:, None]
            moved = moved + ((one[j] - moved.sum(axis=0)) / moved.shape[0])[None, :]
            tables[i, j] = consistent(moved.ravel()).reshape(moved.shape)
    return one, tables


def fake_data(who, epsilon, random):
    larger = math.log(who.k * (math.exp(epsilon) - 1) + 1)
    drawn, one = random.integers(0, who.k, who.n), []
    for i in range(who.k):
        size = int(who.sizes[i])
        p = math.exp(larger) / (math.exp(larger) + size - 1)
        q = (1 - p) / (size - 1)
        truth = np.bincount(who.answers[drawn == i, i], minlength=size)
        kept = random.binomial(truth, p)
        others = np.stack([random.multinomial(n, np.where(np.arange(size) == v, 0, 1 / (size - 1)))
                           for v, n in enumerate(truth - kept)])  # fmt: skip
        counts = kept + others.sum(axis=0) + random.multinomial(int((drawn != i).sum()), np.full(size, 1 / size))
        raw = (counts * who.k * size - who.n * (who.k - 1 + q * size)) / (who.n * size * (p - q))
        one.append(consistent(raw))
    return products(who, one)


def survey_of(who, epsilon):
    questions = {}
    for i, unknown in enumerate(who.unknown):
        cells = ldp.Domain(int(who.sizes[i]), unknown) if unknown is not None else int(who.sizes[i])
        questions[f"q{i}"] = ldp.Choice(cells)
    return ldp.Questionnaire(questions, epsilon=epsilon, cross="all", users=who.n)


def ours(who, survey, random):
    answers = {f"q{i}": who.answers[:, i] for i in range(who.k)}
    result = survey.simulate(answers, seed=int(random.integers(2**40))).calibrate()
    one = [result[f"q{i}"] for i in range(who.k)]
    two = {(i, j): result[f"q{i}", f"q{j}"] for i, j in who.pairs}
    held = {"cells": [], "cells above 1%": [], "margins": [], "conditional shares": []}
    for i, found in enumerate(one):
        held["margins"] += inside(found, who.one[i])
    for pair, found in two.items():
        cells = inside(found, who.two[pair].ravel())
        held["cells"] += cells
        held["cells above 1%"] += list(np.array(cells)[who.two[pair].ravel() > 0.01])
    for i, j in who.pairs[:: max(1, len(who.pairs) // 8)]:
        for answer in range(who.sizes[i]):
            if who.one[i][answer] > 0.02:
                truth = who.two[i, j][answer] / who.one[i][answer]
                held["conditional shares"] += inside(result[f"q{j}"].given({f"q{i}": answer}), truth)
    errors = who.errors([found.shares for found in one], {pair: found.shares for pair, found in two.items()})
    return errors, {name: np.mean(cells) for name, cells in held.items()}


def inside(found, truth):
    """Whether the intervals hold the true shares, up to half a person."""
    low, high = found.interval(LEVEL)
    return ((low - 0.5 <= truth * found.n) & (truth * found.n <= high + 0.5)).tolist()


def measure(who, epsilon, runs, first):
    survey, errors, coverage = survey_of(who, epsilon), {}, {}
    for run in range(runs):
        random = np.random.default_rng(first + run)
        raw = raw_pairs(who, epsilon, random)
        found, held = ours(who, survey, random)
        ways = {
            "split": split(who, epsilon, random),
            "one question": one_question(who, epsilon, random),
            "rs+fd": fake_data(who, epsilon, random),
            "one pair": each_pair(who, raw),
            "calm": calm(who, raw),
        }
        for name, tables in ways.items():
            errors.setdefault(name, []).append(who.errors(*tables))
        errors.setdefault("questionnaire", []).append(found)
        for name, share in held.items():
            coverage.setdefault(name, []).append(share)
    alone = sum(part.span.share for part in survey.parts() if len(part.names) == 1)
    print(f"\n{who.name}, epsilon {epsilon:g}, {runs} runs from seed {first}, {alone:.0%} of people asked one question")
    for name, values in errors.items():
        mean, error = np.mean(values, axis=0), np.std(values, axis=0, ddof=1) / runs**0.5 if runs > 1 else np.zeros(2)
        print(f"| {name} | {mean[0]:.4f} ± {error[0]:.4f} | {mean[1]:.4f} ± {error[1]:.4f} |")
    print(
        "intervals of 90% hold:",
        ", ".join(f"{name} {np.mean(held):.3f}" for name, held in coverage.items()),
        flush=True,
    )


def independence(runs, seed):
    """How often independence is rejected at 5% though it holds."""
    random = np.random.default_rng(seed)
    for rows, columns, n, epsilon in ((2, 2, 500, 1.0), (3, 5, 2_000, 2.0), (6, 4, 5_000, 4.0)):
        questions = {"a": ldp.Choice(rows), "b": ldp.Choice(columns)}
        survey = ldp.Questionnaire(questions, epsilon=epsilon, cross="all")
        plan, rejected = survey.part("a,b").plan, 0
        for _ in range(runs):
            x, y = (random.dirichlet(np.append(np.ones(size), 0.1)) for size in (rows, columns))
            counted = plan.simulate(random.multinomial(n, np.outer(x, y).ravel()), seed=int(random.integers(2**40)))
            raw = counted.estimate().frequencies / n
            best = np.maximum(consistent(raw), 1e-6).reshape(rows + 1, columns + 1)
            rejected += p_value(best / best.sum(), counted, (rows, columns)) <= 0.05
        print(
            f"{rows} x {columns}, {n} people, epsilon {epsilon:g}: rejected {rejected / runs:.2%} of {runs}", flush=True
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", default=["adult"], choices=["adult", "independent", "dependent"])
    parser.add_argument("--epsilon", nargs="+", type=float, default=[1.0, 2.0, 4.0])
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--first", type=int, default=9_000, help="the seed of the first run")
    parser.add_argument("--adult", type=Path, default=ADULT)
    parser.add_argument("--independence", type=int, default=0, help="null runs of the test, instead of tables")
    asked = parser.parse_args()
    if asked.independence:
        independence(asked.independence, asked.first)
        return
    for name in asked.data:
        who = people(name, asked.adult, np.random.default_rng(1))
        for epsilon in asked.epsilon:
            measure(who, epsilon, asked.runs, asked.first)


if __name__ == "__main__":
    main()
