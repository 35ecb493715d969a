"""Published ways to find unlisted values, on our codes and mechanisms: PEM, TreeHist and a trie with a threshold.

**PEM** (T. Wang, N. Li and S. Jha, Locally Differentially Private Heavy Hitter Identification, IEEE TDSC 2021) divides
the users into equal groups, asks each for a longer prefix and keeps a fixed number of candidates with the largest
estimates. Its authors advise as few groups as can be computed; it gets the same 2^22 cells for a round as ours.

**TreeHist** (R. Bassily, K. Nissim, U. Stemmer and A. Thakurta, Practical Locally Private Heavy Hitters, NeurIPS 2017)
asks every user for a prefix of one random length, bit by bit, and for the whole value, each with half of epsilon, and
walks down the tree of prefixes whose estimates are above a threshold.

**A trie** (as in Z. Sun et al., Private Federated Discovery of Out-of-Vocabulary Words for Gboard, arXiv 2404.11607)
asks equal groups for one more character each, here 5 bits, and keeps the prefixes above a threshold that one false
prefix a round would pass in expectation.

The walks draw the count of each candidate by its law, Binomial(holders, p) + Binomial(others, q), as hashing gives it,
instead of hashing every user for every candidate.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import ndtri

import localdp as ldp
from localdp.discovery.books import IMPOSSIBLE
from localdp.discovery.codes import Encoded
from localdp.discovery.design import CELLS
from localdp.discovery.prefixes import Candidates, in_order, prefix_rows, with_bits
from localdp.discovery.rounds import Round, first_candidates
from localdp.mechanisms import LinearLocalHashing
from localdp.randomness import keystream
from localdp.studies.places import PLACES, Span

MOST = 4_096  # candidates that a walk goes on with
STANDS_OUT = 3.0  # standard errors, of TreeHist's threshold
CHARACTER = 5  # bits


def pem(discovery: ldp.Discovery, encoded: Encoded, kept: int, seed: int) -> list[Any]:
    """The items that PEM finds if it keeps this number of candidates in every round."""
    code, source = discovery.code, keystream.seeded(seed)
    bits = pem_bits(sum(discovery.design.bits), kept)
    groups = source.below(len(bits), len(encoded))
    candidates = first_candidates(code, bits[0])
    for number in range(len(bits)):
        current = Round.make("00" * 32, number, candidates, discovery.epsilon, Span(0, PLACES))
        part = encoded[np.flatnonzero(groups == number)]
        rows = current.plan.mechanism.privatize(candidates.indices(part), source.branch())
        aggregate = ldp.Aggregate(current.plan, current.plan.mechanism.tally(rows), len(part))
        following = bits[number + 1] if number + 1 < len(bits) else 0
        candidates, largest = extended(code, candidates, aggregate.estimate().frequencies, kept, following)
    found = [code.decode(row.tobytes(), candidates.position) for row in largest]
    return [item for item in found if item is not None][: discovery.top]


def pem_bits(total: int, kept: int) -> list[int]:
    """The bits of each round of PEM: as many as fit into the cells."""
    bits, most = [CELLS.bit_length() - 2], (CELLS - 1) // kept
    while sum(bits) < total:
        bits.append(min(most.bit_length() - 1, total - sum(bits)))
    return bits


def extended(
    code: Any, candidates: Candidates, estimates: np.ndarray, kept: int, following: int
) -> tuple[Candidates, np.ndarray]:
    """The candidates with the largest estimates, for the next round, and their rows, the largest first."""
    count, bits = len(candidates.open), candidates.bits
    states = [code.extended(code.state_of(row.tobytes(), candidates.position), bits) for row in candidates.open]
    ends = np.concatenate(states) if states else np.zeros(0, np.int16)
    usable = np.append(ends != IMPOSSIBLE, np.ones(len(candidates.finished), np.bool_))
    scores = np.where(usable, estimates[:-1], -np.inf)
    best = np.argsort(-scores, kind="stable")[:kept]
    parents = np.concatenate([candidates.open, candidates.finished])
    inside = best < count << bits
    parent = np.where(inside, best >> bits, count + best - (count << bits))
    extension = np.where(inside, best & ((1 << bits) - 1), 0)
    rows = with_bits(parents[parent], candidates.position, extension, bits, code.row_bytes)
    position = candidates.position + bits
    final = np.ones(len(best), np.bool_)
    final[inside] = code.is_final(ends[best[inside]], position)
    opened, finished = rows[~final], rows[final]
    opened, finished = opened[in_order(opened)], finished[in_order(finished)]
    return Candidates(position, following if len(opened) else 0, opened, finished), rows


def treehist(discovery: ldp.Discovery, encoded: Encoded, seed: int) -> list[Any]:
    """The items that TreeHist finds."""
    rng = np.random.default_rng(seed)
    half = LinearLocalHashing(CELLS, discovery.epsilon / 2)
    rows, _ = walk(discovery, encoded, 1, lambda _: STANDS_OUT, half, rng)
    everybody = np.ones(len(encoded), np.bool_)
    return best_of(discovery, rows, noisy_shares(rows, encoded, everybody, sum(discovery.design.bits), half, rng))


def trie(discovery: ldp.Discovery, encoded: Encoded, seed: int) -> list[Any]:
    """The items that a trie with a threshold finds."""
    mechanism = LinearLocalHashing(CELLS, discovery.epsilon)

    def one_false(cells: int) -> float:
        return float(-ndtri(1 / max(cells, 3)))

    rng = np.random.default_rng(seed)
    return best_of(discovery, *walk(discovery, encoded, CHARACTER, one_false, mechanism, rng))


def walk(
    discovery: ldp.Discovery,
    encoded: Encoded,
    step: int,
    limit: Callable[[int], float],
    mechanism: LinearLocalHashing,
    rng: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray]:
    """The whole values above the limit at every level, by groups of equal size, and their estimates by the last."""
    code, total = discovery.code, sum(discovery.design.bits)
    levels = [*range(step, total, step), total]
    groups = rng.integers(0, len(levels), len(encoded))
    rows, estimates = np.zeros((1, code.row_bytes), np.uint8), np.zeros(1)
    position = 0
    for number, level in enumerate(levels):
        bits = level - position
        several = np.repeat(rows, 1 << bits, axis=0)
        rows = with_bits(several, position, np.tile(np.arange(1 << bits), len(rows)), bits, code.row_bytes)
        rows = rows[[code.state_of(row.tobytes(), level) != IMPOSSIBLE for row in rows]]
        group = groups == number
        estimates = noisy_shares(rows, encoded, group, level, mechanism, rng)
        deviation = np.sqrt(mechanism.variance(1) / group.sum())
        kept = np.flatnonzero(estimates > limit(len(rows)) * deviation)
        kept = kept[np.argsort(-estimates[kept], kind="stable")[:MOST]]
        rows, estimates, position = rows[kept], estimates[kept], level
    return rows, estimates


def noisy_shares(
    rows: np.ndarray, encoded: Encoded, group: np.ndarray, level: int, mechanism: LinearLocalHashing, rng: Any
) -> np.ndarray:
    """Estimated shares of the users of a group that begin with each row."""
    held = np.bincount(encoded.places[group], minlength=len(encoded.rows))
    held[encoded.outside] = 0
    counted: dict[bytes, int] = {}
    for row, number in zip(prefix_rows(encoded.rows, level)[held > 0], held[held > 0].tolist(), strict=True):
        counted[row.tobytes()] = counted.get(row.tobytes(), 0) + number
    holders = np.array([counted.get(row.tobytes(), 0) for row in prefix_rows(rows, level)], np.int64)
    users, p, q = int(group.sum()), mechanism.p_star, mechanism.q_star
    supports = rng.binomial(holders, p) + rng.binomial(users - holders, q)
    return np.asarray((supports / users - q) / (p - q))


def best_of(discovery: ldp.Discovery, rows: np.ndarray, estimates: np.ndarray) -> list[Any]:
    """The values with the largest estimates."""
    total = sum(discovery.design.bits)
    order = np.argsort(-estimates, kind="stable")
    found = [discovery.code.decode(rows[place].tobytes(), total) for place in order.tolist()]
    return [item for item in found if item is not None][: discovery.top]
