r"""The field GF(2^r) as r-bit integers, and the linear hash family built on it.

**The family.** Let P be an irreducible polynomial of degree r over GF(2); an r-bit integer is a polynomial
(bit i the coefficient of X^i) and products are taken modulo P. Write <u, x> for the parity of `u & x`. For a
nonzero a, the m-bit hash of an item x < 2^r has the bits

    h_a(x)_i = < a X^i , x >,    i = 0 .. m-1,   m <= r.

**It collides evenly.** h_a is linear over GF(2), so h_a(x) = h_a(y) exactly when h_a(w) = 0 for w = x XOR y,
which is not 0. The map a -> (<a, w>, <aX, w>, .., <aX^(m-1), w>) is linear too, and onto: a relation
sum_i u_i <aX^i, w> = <a u, w> = 0 for all a (with u = sum_i u_i X^i of degree below m <= r) forces u = 0, since for
u != 0 the products a u run through the whole field and <., w> is not constant. So every one of the 2^m
values is taken by exactly N/2^m of the N = 2^r values of a; the value 0 is also taken by a = 0, which is
never drawn. Of the N - 1 nonzero a, exactly N/g - 1 collide (g = 2^m) and exactly N/g give each other difference,
*whatever the pair*: the family is exactly pure, with no appeal to an ideal hash.

**Decoding.** The indicator of a symbol is a sum of characters, [h = z] = (1/g) sum_{u<g} (-1)^<u, h XOR z>, and
<u, h_a(x)> = <u a, x> with u a the product in the field. Summed over reports (a, z),

    c(x) = (1/g) sum_{u<g} sum_(a,z) (-1)^<u,z> (-1)^<ua, x> = (n + G^(x)) / g,

where G[b] collects the transform over z of the histogram H[a, z] at b = u a for u = 1..g-1, and ^ is the
Walsh-Hadamard transform of size N. Nothing is ever n times d.

**The other way round.** <aX^i, x> = <X^i, A'x> where A' is the transpose of multiplication by a, so h_a(x) is the
low m bits of A'x, and the items that support (a, z) are A'^-1 (z + 2^m w) for w < N/g: the hash of all r bits
under a^-1. When there are few reports, or g is large, listing those items is cheaper than transforming.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache

import numpy as np
from numpy.typing import NDArray

from localdp import bitstrings
from localdp.acceleration import accelerated
from localdp.bitstrings import Rows
from localdp.kernels import add_histogram, walsh_hadamard

Elements = NDArray[np.uint64]
Counts = NDArray[np.int64]

_ONE = np.uint64(1)
_HISTOGRAM_BITS = 25  # int32, with as many int64 while counting: 384 MiB
_BLOCK_REPORTS = 1 << 20


@cache
def irreducible(degree: int) -> int:
    """The numerically smallest irreducible polynomial of this degree, as an integer (Rabin's test).

    >>> [irreducible(r) for r in (1, 2, 3, 4, 8)]
    [2, 7, 11, 19, 283]
    """
    return next(poly for poly in range(1 << degree, 2 << degree) if _is_irreducible(poly, degree))


def _is_irreducible(poly: int, degree: int) -> bool:
    """X^(2^r) = X modulo the polynomial, and X^(2^(r/p)) - X shares no factor with it for primes p dividing r."""
    if degree == 1:
        return True
    maximal = {degree // p for p in range(2, degree + 1) if degree % p == 0 and all(p % f for f in range(2, p))}
    power = 2
    for step in range(1, degree + 1):
        power = _multiply_modulo(power, power, poly, degree)
        if step in maximal and _common_divisor(poly, power ^ 2) != 1:
            return False
    return power == 2


def _multiply_modulo(left: int, right: int, poly: int, degree: int) -> int:
    product = 0
    while right:
        if right & 1:
            product ^= left
        right >>= 1
        left <<= 1
        if left >> degree & 1:
            left ^= poly
    return product


def _common_divisor(left: int, right: int) -> int:
    while right:
        while left.bit_length() >= right.bit_length():
            left ^= right << (left.bit_length() - right.bit_length())
        left, right = right, left
    return left


def times_x(elements: Elements, degree: int) -> Elements:
    """Each element times X in the field."""
    carry = elements >> np.uint64(degree - 1)
    return (elements << _ONE) ^ carry * np.uint64(irreducible(degree))


def parity(words: Elements) -> Elements:
    """The parity of the bits of each word."""
    return np.bitwise_count(words).astype(np.uint64) & _ONE


@accelerated
def linear_hash(multipliers: Elements, items: Elements, degree: int, bits: int) -> Elements:
    """The hash of each item under each multiplier; arguments broadcast."""
    hashed = np.zeros(np.broadcast(multipliers, items).shape, np.uint64)
    for place in range(bits):
        hashed |= parity(multipliers & items) << np.uint64(place)
        multipliers = times_x(multipliers, degree)
    return hashed


def inverses(elements: Elements, degree: int) -> Elements:
    """The inverse of each nonzero element: its power 2^r - 2, by squaring."""
    result = np.ones_like(elements)
    power = elements
    for _ in range(degree - 1):
        power = multiply(power, power, degree)
        result = multiply(result, power, degree)
    return result


def multiply(left: Elements, right: Elements, degree: int) -> Elements:
    """The product of each pair in the field."""
    product = np.zeros_like(left)
    for place in range(degree):
        product ^= left * (right >> np.uint64(place) & _ONE)
        left = times_x(left, degree)
    return product


def inverses_of(multipliers: Elements, degree: int) -> Elements:
    """The inverse of each, by way of a table of them all where that is less work."""
    if multipliers.size <= 1 << degree:
        return inverses(multipliers, degree)
    return inverses(np.arange(1 << degree, dtype=np.uint64), degree)[multipliers]


def count_support(rows: Rows, size: int, degree: int, bits: int) -> Counts:
    """How many reports (a row is a multiplier of `degree` bits, then a symbol) support each item, the cheapest way."""
    # About how many nanoseconds each way takes; only their order matters.
    reports, field, alphabet = rows.shape[0], 1 << degree, 1 << bits
    listing = 8 * reports * (field >> bits) + 8 * reports * degree * (degree - bits + 1)
    collecting = min(8 * reports * alphabet, 3 * field * alphabet * (bits + 2) + 6 * reports)
    count = count_listed if listing < collecting + 3 * field * degree else count_transformed
    return count(rows, size, degree, bits)


def count_listed(rows: Rows, size: int, degree: int, bits: int) -> Counts:
    """List the N/g items of every report. For many symbols."""
    return _sum_over_blocks(list_support, rows, degree, bits)[:size]


def count_transformed(rows: Rows, size: int, degree: int, bits: int) -> Counts:
    """Collect the characters of the reports and transform over the items. The usual way."""
    reports = rows.shape[0]
    many = reports > 1 << degree and degree + bits <= _HISTOGRAM_BITS and reports < 1 << 30
    collected = collect_histogram(rows, degree, bits) if many else _sum_over_blocks(collect_reports, rows, degree, bits)
    walsh_hadamard(collected)
    return np.asarray(collected[:size] + reports >> bits)


def _sum_over_blocks(
    work: Callable[[Elements, Elements, int, int], Counts], rows: Rows, degree: int, bits: int
) -> Counts:
    """What the work makes of multipliers and symbols, a block of reports at a time."""
    total = np.zeros(1 << degree, np.int64)
    step = max(_BLOCK_REPORTS, total.size)
    for start in range(0, rows.shape[0], step):
        reports = bitstrings.to_integers(rows[start : start + step])
        total += work(reports & np.uint64(total.size - 1), reports >> np.uint64(degree), degree, bits)
    return total


@accelerated
def list_support(multipliers: Elements, symbols: Elements, degree: int, bits: int) -> Counts:
    """For every item of the field, how many reports support it, by listing the items of each."""
    counts = np.zeros(1 << degree, np.int64)
    inverse = inverses_of(multipliers, degree)
    units = _ONE << np.arange(bits, degree, dtype=np.uint64)
    for block in _blocks(multipliers.size, counts.size >> bits):
        free = linear_hash(inverse[block], units[:, None], degree, degree)
        items = _span(linear_hash(inverse[block], symbols[block], degree, degree), free)
        counts += np.bincount(items.view(np.int64), minlength=counts.size)
    return counts


@accelerated
def collect_histogram(rows: Rows, degree: int, bits: int) -> Counts:
    """G from the histogram of (symbol, multiplier), transformed over the symbols: for more reports than multipliers."""
    field, alphabet = 1 << degree, 1 << bits
    histogram = np.zeros(alphabet * field, np.int32)
    add_histogram(rows, histogram)
    by_symbol = histogram.reshape(alphabet, field)
    walsh_hadamard(by_symbol)
    powers = _powers(np.arange(field, dtype=np.uint64), degree, bits)
    collected = np.zeros(field, np.int64)
    product = np.zeros(field, np.uint64)
    for number in range(1, alphabet):
        product ^= powers[_lowest_set_bit(number)]  # Gray code: one power a step
        # a -> u a is one-to-one, so no index repeats and += is safe.
        collected[product] += by_symbol[number ^ number >> 1]
    return collected


@accelerated
def collect_reports(multipliers: Elements, symbols: Elements, degree: int, bits: int) -> Counts:
    """G report by report: the g - 1 products of each multiplier, with the sign of its symbol in the top bit."""
    collected = np.zeros(1 << degree, np.int64)
    sign, mask = np.uint64(63), np.uint64((1 << degree) - 1)
    for block in _blocks(multipliers.size, 1 << bits):
        signed = [
            power | (symbols[block] >> np.uint64(place) & _ONE) << sign
            for place, power in enumerate(_powers(multipliers[block], degree, bits))
        ]
        products = _span(np.zeros(signed[0].size, np.uint64), signed)[signed[0].size :]
        index = (products & mask).view(np.int64)
        weight = 1.0 - 2.0 * (products >> sign)
        collected += np.bincount(index, weight, collected.size).astype(np.int64)
    return collected


def _powers(elements: Elements, degree: int, count: int) -> list[Elements]:
    """The elements times 1, X, X^2, .."""
    powers = [elements]
    for _ in range(1, count):
        powers.append(times_x(powers[-1], degree))
    return powers


def _span(start: Elements, basis: Iterable[Elements]) -> Elements:
    """Each start plus every combination of its basis vectors, the start itself first."""
    combined = start
    for vector in basis:
        combined = np.concatenate([combined, combined ^ np.tile(vector, combined.size // start.size)])
    return combined


def _blocks(reports: int, each: int) -> Iterator[slice]:
    """Slices of the reports that become at most about 2^22 numbers each."""
    step = max(1, (1 << 22) // each)
    return (slice(start, start + step) for start in range(0, reports, step))


def _lowest_set_bit(number: int) -> int:
    return (number & -number).bit_length() - 1
