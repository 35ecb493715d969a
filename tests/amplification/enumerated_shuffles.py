"""What shuffled reports tell, computed from channels with fractions alone, by adding one person after the other."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction


def kinds_of(rows):
    """The laws of a report under each value, with reports merged whose probabilities have the same ratios."""
    merged = defaultdict(lambda: [Fraction(0)] * len(rows))
    for column in zip(*rows, strict=True):
        total = sum(column)
        key = tuple(chance / total for chance in column)
        merged[key] = [old + new for old, new in zip(merged[key], column, strict=True)]
    return [list(row) for row in zip(*merged.values(), strict=True)]


def shuffled_law(laws):
    """The probability of every number of reports of each kind, if one person reports by each of these laws."""
    law = {(0,) * len(laws[0]): Fraction(1)}
    for one in laws:
        following = defaultdict(Fraction)
        for counts, chance in law.items():
            for kind, more in enumerate(one):
                if more:
                    following[(*counts[:kind], counts[kind] + 1, *counts[kind + 1 :])] += chance * more
        law = following
    return law


def divergence(first, second, others, e):
    """The delta at e = e^epsilon, if the others' reports have these laws."""
    here, there = shuffled_law([first, *others]), shuffled_law([second, *others])
    return sum((max(chance - e * there.get(counts, 0), Fraction(0)) for counts, chance in here.items()), Fraction(0))
