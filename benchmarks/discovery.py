"""Find the top 20 among unlisted keys, hexadecimal digits, words, addresses and queries: our rule beside three others.

Keys follow a Zipf distribution with exponent 1.2 over 200,000 random numbers of 48 bits; hexadecimal digits are the
same as text, and nobody says so. Words are drawn from those of `pydoc_data.topics`, the English text of Python's own
help, which comes with every CPython, in proportion to how often they occur. Addresses are those of the pages of
Python's documentation about the modules of its standard library, in proportion to how often the source of that library,
as it is installed, imports the module. Queries are two words about food with a Zipf distribution of exponent 1. The row
"words, known" has a public dictionary as a head start: the 10,000 most common words in the descriptions of the packages
that are installed; that of "queries, known" has the queries among 10,000 pairs of words.

PEM, TreeHist and a trie with a threshold (`discovery_peers`) get the same code and mechanism. PEM keeps 20 candidates,
and for a second column the better of 20 and 80, chosen afterwards.

Our settings were chosen on other draws of queries and words (20,000 users, epsilon 4) and of hexadecimal digits
(200,000 users, epsilon 4), on words and addresses in the descriptions of packages, and on keys. The seeds of a table
are drawn when it is made, and the table says which. Nothing is kept from one call to the next.
`python benchmarks/discovery.py` writes a section of docs/results/discovery.md, with 10 runs a row, in some hours;
`--runs 3 --only "words" --seed 5` prints some rows.
"""

from __future__ import annotations

import argparse
import os
import re
import secrets
import sys
import sysconfig
import time
from collections import Counter
from functools import cache
from importlib.metadata import distributions
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from discovery_peers import pem, treehist, trie

import localdp as ldp

PAGE = Path(__file__).parent.parent / "docs" / "results" / "discovery.md"
TOP, KEYS, KNOWN = 20, 200_000, 10_000
METHODS = ("ours", "PEM", "PEM, 80", "TreeHist", "trie")
_FOODS = "chicken beef pork salmon shrimp lentil potato tomato mushroom spinach pumpkin apple banana lemon chocolate"
_DISHES = "curry soup stew salad pie cake roast pasta pizza burger tacos risotto lasagna sandwich bread muffins cookies"


class Row(NamedTuple):
    """One row of the table."""

    values: str
    users: int
    epsilon: float

    @property
    def label(self) -> str:
        return f"{self.values}, {self.users:,}, epsilon {self.epsilon:g}"

    @property
    def options(self) -> dict[str, Any]:
        """How the kind of values is said to the library."""
        options: dict[str, dict[str, Any]] = {"keys": {"bits": 48}, "addresses": {"most_bytes": 64}}
        return {"known": dictionary(self.values)} if self.values.endswith("known") else options.get(self.values, {})


ROWS = [
    *(Row(values, 2_000_000, 2.0) for values in ("keys", "hexadecimal", "words", "addresses")),
    *(Row(values, 2_000_000, 1.0) for values in ("keys", "words")),
    *(Row(values, 200_000, 4.0) for values in ("hexadecimal", "words", "addresses")),
    *(Row(values, 20_000, 4.0) for values in ("words", "words, known", "queries", "queries, known")),
]


def drawn(names: list[Any], weights: Any, users: int, rng: np.random.Generator) -> list[Any]:
    """One value for each user."""
    shares = np.array(weights, np.float64)
    return [names[place] for place in rng.choice(len(names), users, p=shares / shares.sum()).tolist()]


def counted_words() -> Counter[str]:
    """The words of Python's help."""
    from pydoc_data.topics import topics

    return Counter(re.findall(r"[a-z]+", " ".join(topics.values()).lower()))


@cache
def imported() -> Counter[str]:
    """How often the source of the standard library imports each of its modules, without private ones and tests."""
    found: Counter[str] = Counter()
    for folder, folders, files in os.walk(sysconfig.get_paths()["stdlib"]):
        folders[:] = [one for one in folders if one not in ("site-packages", "dist-packages", "test", "idlelib")]
        for name in files:
            if name.endswith(".py"):
                text = Path(folder, name).read_text("utf-8", "ignore")
                found.update(re.findall(r"^\s*(?:import|from)\s+([a-zA-Z][\w.]*)", text, re.MULTILINE))
    return Counter({name: n for name, n in found.items() if name.split(".")[0] in sys.stdlib_module_names})


@cache
def dictionary(kind: str) -> tuple[str, ...]:
    """Public values: the most common words in the descriptions of installed packages, or queries and pairs of those."""
    texts = sorted(str(one.metadata.get_payload()) for one in distributions())
    counted = Counter(re.findall(r"\b[a-z]{1,15}\b", " ".join(texts).lower()))
    words = [word for word, _ in counted.most_common(KNOWN)]
    if kind.startswith("words"):
        return tuple(words)
    pairs = (f"{one} {two}" for one in words[100:300] for two in words[300:500])
    return tuple(dict.fromkeys([*queries(), *pairs]))[:KNOWN]


def queries() -> list[str]:
    """Two words about food."""
    return [f"{food} {dish}" for food in _FOODS.split() for dish in _DISHES.split()]


def values_of(row: Row, seed: int) -> list[Any]:
    """The values of all users."""
    rng = np.random.default_rng(seed)
    if row.values in ("keys", "hexadecimal"):
        numbers = rng.integers(0, 1 << 48, KEYS).tolist()
        names = numbers if row.values == "keys" else [f"{number:012x}" for number in numbers]
        return drawn(names, np.arange(1.0, KEYS + 1) ** -1.2, row.users, rng)
    if row.values.startswith("queries"):
        asked = queries()
        rng.shuffle(asked)
        return drawn(asked, 1 / np.arange(1.0, len(asked) + 1), row.users, rng)
    counted = imported() if row.values == "addresses" else counted_words()
    names = sorted(counted)
    weights = [counted[name] for name in names]
    if row.values == "addresses":
        names = [f"https://docs.python.org/3/library/{name}.html" for name in names]
    return drawn(names, weights, row.users, rng)


def f_score(found: list[Any], true: set[Any]) -> float:
    """The F-score of a list."""
    return 2 * len(true & set(found)) / (len(found) + len(true))


def run(row: Row, seed: int) -> dict[str, float]:
    """One run of all methods."""
    values = values_of(row, seed)
    counted = Counter(values)
    true = {item for item, _ in counted.most_common(TOP)}
    start = time.process_time()
    found = ldp.discover(values, epsilon=row.epsilon, top=TOP, seed=seed, **row.options)
    low, high = found.interval(0.9)
    other, rest = found.other(0.9), row.users - sum(counted[item] for item in found.items)
    hits, known = len(true & set(found.items)), bool(found.items)
    measured = {
        "seconds": time.process_time() - start,
        "found": float(hits),
        "precision": hits / len(found) if known else float("nan"),
        "inside": float(np.mean([low[i] <= counted[x] <= high[i] for i, x in enumerate(found)])) if known else np.nan,
        "rest": float(other.low <= rest <= other.high) if not found.beginnings else np.nan,
        "ours": f_score(found.items, true),
    }
    discovery = ldp.Discovery(epsilon=row.epsilon, users=row.users, top=TOP, **row.options | {"known": ()})
    encoded = discovery.code.encode(values)
    measured["PEM"] = f_score(pem(discovery, encoded, TOP, seed), true)
    measured["PEM, 80"] = f_score(pem(discovery, encoded, 4 * TOP, seed), true)
    measured["TreeHist"] = f_score(treehist(discovery, encoded, seed), true)
    measured["trie"] = f_score(trie(discovery, encoded, seed), true)
    return measured


def line(row: Row, runs: list[dict[str, float]]) -> str:
    """One row of the table: means, and standard errors of the F-scores."""
    columns = {key: np.array([one[key] for one in runs]) for key in runs[0]}
    means = {
        key: float(np.nanmean(values)) if not np.isnan(values).all() else float("nan")
        for key, values in columns.items()
    }
    error = {key: values.std(ddof=1) / len(runs) ** 0.5 if len(runs) > 1 else np.nan for key, values in columns.items()}
    better = "PEM" if means["PEM"] >= means["PEM, 80"] else "PEM, 80"
    scores = " | ".join(f"{means[key]:.2f} ± {error[key]:.2f}" for key in ("ours", "PEM", better, "TreeHist", "trie"))
    ends = " | ".join(f"{means[key]:.2f}" for key in ("precision", "inside", "rest"))
    users = f"{row.users:,} | {row.epsilon:g}"
    return (
        f"| {row.values} | {users} | {means['found']:.1f} | {scores} | {ends} | {means['seconds']:.0f} | {len(runs)} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--seed", type=int, help="the first seed; drawn anew without")
    parser.add_argument("--only", default="", help="only rows whose label has this part, such as 20,000; printed")
    parser.add_argument("--write", action="store_true", help="write the page also with --only")
    arguments = parser.parse_args()
    first = secrets.randbelow(1 << 30) if arguments.seed is None else arguments.seed
    print(f"seeds from {first} on", flush=True)
    head = "values | users | epsilon | found | F | PEM keeps 20 | PEM, better of 20 and 80 | TreeHist | trie"
    lines = [f"| {head} | precision | in intervals | rest in its | CPU seconds | runs |", "|" + "---|" * 14]
    for row in ROWS:
        if re.search(arguments.only, row.label):
            lines.append(line(row, [run(row, first + number) for number in range(arguments.runs)]))
            print(lines[-1], flush=True)
    text = "\n".join([*lines, "", f"F-scores are means with standard errors; seeds from {first} on."])
    if not arguments.only or arguments.write:
        page = PAGE.read_text("utf-8")
        before, rest = page.split("<!-- begin table -->")
        after = rest.split("<!-- end table -->")[1]
        PAGE.write_text(f"{before}<!-- begin table -->\n\n{text}\n\n<!-- end table -->{after}", "utf-8")


if __name__ == "__main__":
    main()
