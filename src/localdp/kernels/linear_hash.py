r"""The linear hash family over GF(2^r), and how to count its reports without trying every item on every report.

**The family.** Items and multipliers are elements of the field (`localdp.kernels.galois_field`), that is, r-bit
integers. Write <u, x> for the parity of `u & x`. For a nonzero multiplier a, the m-bit hash of an item x has the bits

    h_a(x)_i = < a X^i , x >,    i = 0 .. m-1,   m <= r.

**It collides evenly.** h_a is linear over GF(2), so h_a(x) = h_a(y) exactly when h_a(w) = 0 for w = x XOR y,
which is not 0. The map a -> (<a, w>, <aX, w>, .., <aX^(m-1), w>) is linear too, and onto: a relation
sum_i u_i <aX^i, w> = <a u, w> = 0 for all a (with u = sum_i u_i X^i of degree below m <= r) forces u = 0, since for
u != 0 the products a u run through the whole field and <., w> is not constant. So every one of the 2^m
values is taken by exactly N/2^m of the N = 2^r values of a; one of those that give 0 is a = 0, which is
never drawn. Of the N - 1 nonzero a, exactly N/g - 1 collide (g = 2^m) and exactly N/g give each other difference,
*for every pair of items*: the family is exactly pure, without assuming an ideal hash.

**Decoding.** The indicator of a symbol is a sum of characters, [h = z] = (1/g) sum_{u<g} (-1)^<u, h XOR z>, and
<u, h_a(x)> = <u a, x> with u a the product in the field. Summed over reports (a, z),

    c(x) = (1/g) sum_{u<g} sum_(a,z) (-1)^<u,z> (-1)^<ua, x> = (n + WHT(G)(x)) / g,

where WHT is the Walsh-Hadamard transform of size N. To get G, transform the histogram H[a, z] of the reports over z,
and for u = 1..g-1 add its entry for (a, u) to G[b] at b = u a. No step takes n times d operations.

**Sets of symbols.** A report may also support the items whose hash is in a set of s symbols, {z XOR y : y < s}. (With
s = 1, the set is z itself.) Its indicator is [h XOR z < s] = (1/g) sum_u w(u) (-1)^<u, h XOR z>, where w(u) is the sum
of (-1)^<u,y> over y < s. So the entry for (a, u) is multiplied by w(u), and c(x) = (n s + WHT(G)(x)) / g.

**Listing.** Let phi(u) be the lowest bit of u. Every linear map of the field to GF(2) is u -> phi(u s) for
one s. So each item x is D(s) for one element s, where D(s) is the integer with the bits phi(X^i s): then
<u, x> = phi(u s) for all u, and h_a(x) is the low m bits of D(a s). The items that support (a, z) are therefore the
D(w / a) for the w such that D(w) ends in z. In logarithms to a generator of the nonzero elements, with log x = log s,

    { x : h_a(x) = z } = { x : log x = log y - log a mod N - 1, for a y that ends in z },

N/g sums for a report, and x = 0 if z = 0. With few reports or a large g, listing is cheaper than transforming.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from functools import cache

import numpy as np
from numpy.typing import NDArray

from localdp.formats import bitstrings
from localdp.kernels.counting import add_histogram
from localdp.kernels.dispatch import accelerated
from localdp.kernels.galois_field import LARGEST_DEGREE_WITH_LOGARITHMS, parity, powers_of_generator, times_x
from localdp.kernels.walsh_hadamard import walsh_hadamard
from localdp.types import Counts, Rows, Words

Logarithms = NDArray[np.int32]

_ONE = np.uint64(1)
_HISTOGRAM_BITS = 25  # 2^25 cells: a histogram of int32 and, while NumPy counts, one of int64 take 384 MiB
_BLOCK_REPORTS = 1 << 20  # 8 MiB as integers
_BLOCK_NUMBERS = 1 << 22


@accelerated("linear_hash.linear_hash")
def linear_hash(multipliers: Words, items: Words, degree: int, bits: int) -> Words:
    """The hash of each item under each multiplier; arguments broadcast."""
    hashed = np.zeros(np.broadcast(multipliers, items).shape, np.uint64)
    for place in range(bits):
        hashed |= parity(multipliers & items) << np.uint64(place)
        multipliers = times_x(multipliers, degree)
    return hashed


def count_support(rows: Rows, size: int, degree: int, bits: int, among: int = 1) -> Counts:
    """How many reports support each item, counted in the cheaper way.

    A row is a multiplier of `degree` bits and, after it, a symbol of `bits` bits; it supports the items with a hash
    among `among` symbols.
    """
    # Rough nanoseconds for each way; only which one is smaller matters.
    reports, field, alphabet = rows.shape[0], 1 << degree, 1 << bits
    listing = (
        2 * reports * among * (field >> bits) + 4 * field if degree <= LARGEST_DEGREE_WITH_LOGARITHMS else math.inf
    )
    collecting = min(8 * reports * alphabet, 3 * field * alphabet * (bits + 2) + 6 * reports)
    count = count_listed if listing < collecting + 3 * field * degree else count_transformed
    return count(rows, size, degree, bits, among)


def count_listed(rows: Rows, size: int, degree: int, bits: int, among: int = 1) -> Counts:
    """Count by listing the s N/g items that each report supports: for few reports or many symbols."""
    return _sum_over_blocks(list_support, rows, degree, bits, among)[:size]


def count_transformed(rows: Rows, size: int, degree: int, bits: int, among: int = 1) -> Counts:
    """Count by adding up the signs (-1)^<u,z> of the reports and transforming the sums: for most cases."""
    return counts_from(collect(rows, degree, bits, among), rows.shape[0], size, bits, among)


def collect(rows: Rows, degree: int, bits: int, among: int = 1) -> Counts:
    """G (see the top of this file), which adds up over any division of the reports."""
    reports = rows.shape[0]
    many = reports > 1 << degree and degree + bits <= _HISTOGRAM_BITS and reports < 1 << 30
    if many:
        return collect_histogram(rows, degree, bits, among)
    return _sum_over_blocks(collect_reports, rows, degree, bits, among)


def counts_from(collected: Counts, reports: int, size: int, bits: int, among: int = 1) -> Counts:
    """The count of every item, from the G of this number of reports. It is transformed in place."""
    walsh_hadamard(collected)
    return np.asarray(collected[:size] + reports * among >> bits)


def character_sums(bits: int, among: int) -> Counts:
    """w(u) for every u: the sum of (-1)^<u,y> over y < among.

    >>> character_sums(bits=2, among=3).tolist()
    [3, 1, 1, -1]
    """
    sums = np.zeros(1 << bits, np.int64)
    sums[:among] = 1
    walsh_hadamard(sums)
    return sums


def _sum_over_blocks(
    count: Callable[[Words, Words, int, int, int], Counts], rows: Rows, degree: int, bits: int, among: int
) -> Counts:
    """The sum of what `count` returns for blocks of reports, each given as its multipliers and its symbols."""
    total = np.zeros(1 << degree, np.int64)
    step = max(_BLOCK_REPORTS, total.size)
    for start in range(0, rows.shape[0], step):
        reports = bitstrings.to_integers(rows[start : start + step])
        # Masked, so that no row, valid or not, is counted out of bounds.
        symbols = reports >> np.uint64(degree) & np.uint64((1 << bits) - 1)
        total += count(reports & np.uint64(total.size - 1), symbols, degree, bits, among)
    return total


@accelerated("linear_hash.list_support")
def list_support(multipliers: Words, symbols: Words, degree: int, bits: int, among: int = 1) -> Counts:
    """How many reports support each item of the field, counted by listing their items in logarithms."""
    of_elements, of_items = logarithms(degree)
    period, by_symbol = of_items.size - 1, items_by_symbol(of_items, bits)
    sums = np.zeros(3 * of_items.size, np.int64)
    for block in _blocks(multipliers.size, by_symbol.shape[1]):
        shifts = period - of_elements[multipliers[block]]
        for other in range(among):
            supported = by_symbol[symbols[block] ^ np.uint64(other)]
            sums += np.bincount((supported + shifts[:, None]).reshape(-1), minlength=sums.size)
    return counts_by_item(sums, of_items, int(np.count_nonzero(symbols < among)))


@cache
def logarithms(degree: int) -> tuple[Logarithms, Logarithms]:
    """The discrete logarithms of the elements, and those of the items; 2 (N - 1) marks 0, which has none."""
    powers = powers_of_generator(degree)
    found = np.full((2, powers.size + 1), 2 * powers.size, np.int32)
    found[0, powers] = np.arange(powers.size)
    found[1, linear_hash(powers, np.ones_like(powers), degree, degree)] = np.arange(powers.size)
    found.setflags(write=False)
    return found[0], found[1]


def items_by_symbol(of_items: Logarithms, bits: int) -> Logarithms:
    """The logarithms of the items that end in each symbol, one row for each symbol."""
    return np.ascontiguousarray(of_items.reshape(-1, 1 << bits).T)


def counts_by_item(sums: Counts, of_items: Logarithms, zeros: int) -> Counts:
    """Turn counts by sum of logarithms into counts by item; `zeros` is the count of item 0.

    Sums that are equal modulo N - 1 belong to the same item. Sums from 2 (N - 1) on belong to item 0, which has no
    logarithm, and are left out.
    """
    period = of_items.size - 1
    counts = (sums[:period] + sums[period : 2 * period]).take(of_items, mode="clip")
    counts[0] = zeros
    return counts


@accelerated("linear_hash.collect_histogram")
def collect_histogram(rows: Rows, degree: int, bits: int, among: int = 1) -> Counts:
    """G (see the top of this file) from the histogram of the reports, transformed over the symbols.

    It is for more reports than multipliers.
    """
    field, alphabet = 1 << degree, 1 << bits
    histogram = np.zeros(alphabet * field, np.int32)
    add_histogram(rows, histogram)
    by_symbol = histogram.reshape(alphabet, field)
    walsh_hadamard(by_symbol)
    weights, collected = character_sums(bits, among), np.zeros(field, np.int64)
    for symbol, product in products(np.arange(field, dtype=np.uint64), degree, bits):
        # a -> u a is one-to-one, so no index repeats and += is safe.
        collected[product] += weights[symbol] * by_symbol[symbol]
    return collected


@accelerated("linear_hash.collect_reports")
def collect_reports(multipliers: Words, symbols: Words, degree: int, bits: int, among: int = 1) -> Counts:
    """G from the g - 1 products of each multiplier. Each product is a 64-bit word; the top bit is its term's sign."""
    collected = np.zeros(1 << degree, np.int64)
    sign, mask = np.uint64(63), np.uint64((1 << degree) - 1)
    weights = character_sums(bits, among)[1:].astype(np.float64)
    for block in _blocks(multipliers.size, 1 << bits):
        signed = [
            power | (symbols[block] >> np.uint64(place) & _ONE) << sign
            for place, power in enumerate(powers(multipliers[block], degree, bits))
        ]
        products = _span(np.zeros(signed[0].size, np.uint64), signed)[signed[0].size :]
        index = (products & mask).view(np.int64)
        weight = np.repeat(weights, signed[0].size) * (1.0 - 2.0 * (products >> sign))
        collected += np.bincount(index, weight, collected.size).astype(np.int64)
    return collected


def powers(elements: Words, degree: int, count: int) -> list[Words]:
    """The elements times 1, times X, times X^2 and so on, `count` arrays in all."""
    found = [elements]
    for _ in range(1, count):
        found.append(times_x(found[-1], degree))
    return found


def products(elements: Words, degree: int, bits: int) -> Iterator[tuple[int, Words]]:
    """Every u of so many bits but 0, with the products u a of the elements a, which the next ones overwrite."""
    multiples, product = powers(elements, degree, bits), np.zeros_like(elements)
    for number in range(1, 1 << bits):
        product ^= multiples[(number & -number).bit_length() - 1]  # Gray code: each step changes one power
        yield number ^ number >> 1, product


def _span(start: Words, basis: Iterable[Words]) -> Words:
    """Each start plus every combination of its basis vectors; the starts themselves come first."""
    combined = start
    for vector in basis:
        combined = np.concatenate([combined, combined ^ np.tile(vector, combined.size // start.size)])
    return combined


def _blocks(reports: int, each: int) -> Iterator[slice]:
    """Slices of the reports, so that a slice expands to about 2^22 numbers (32 MiB) if a report expands to `each`."""
    step = max(1, _BLOCK_NUMBERS // each)
    return (slice(start, start + step) for start in range(0, reports, step))
