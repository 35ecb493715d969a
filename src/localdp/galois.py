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

**The other way round.** Let phi(u) be the lowest bit of u. Every linear map of the field to GF(2) is u -> phi(u s) for
one s, so the items are the elements s under another name: x = D(s), the integer with the bits phi(X^i s), has
<u, x> = phi(u s) for all u, and h_a(x) is the low m bits of D(a s). The items that support (a, z) are therefore the
D(w / a) for the w whose D(w) ends in z. In logarithms to a generator of the nonzero elements, log x being log s,

    { x : h_a(x) = z } = { x : log x = log y - log a mod N - 1, for a y that ends in z },

N/g sums for a report, and x = 0 if z = 0. When there are few reports, or g is large, that is cheaper than transforming.
"""

from __future__ import annotations

import math
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
_LOGARITHM_DEGREE = 18  # a tenth of a second, once


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
    maximal = {degree // prime for prime in _prime_factors(degree)}
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


@cache
def logarithms(degree: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Of the elements and of the items, to the smallest generator; in the place of 0, which has none, 2 (N - 1)."""
    period = (1 << degree) - 1
    powers, factor = np.ones(1, np.uint64), _generator(degree)
    while powers.size < period:
        powers = np.concatenate([powers, _times(powers, factor, degree)])
        factor = _multiply_modulo(factor, factor, irreducible(degree), degree)
    powers = powers[:period]
    logarithms = np.full((2, period + 1), 2 * period, np.int32)
    logarithms[0, powers] = np.arange(period)
    logarithms[1, linear_hash(powers, np.ones_like(powers), degree, degree)] = np.arange(period)
    logarithms.setflags(write=False)
    return logarithms[0], logarithms[1]


def _generator(degree: int) -> int:
    """The smallest element whose powers are all the nonzero ones."""
    period = (1 << degree) - 1
    steps = [period // prime for prime in _prime_factors(period)]
    candidates = range(1, period + 1)
    return next(element for element in candidates if all(_power(element, step, degree) != 1 for step in steps))


def _prime_factors(number: int) -> Iterator[int]:
    factor = 2
    while number > 1:
        if factor * factor > number:
            factor = number
        if number % factor == 0:
            yield factor
        while number % factor == 0:
            number //= factor
        factor += 1


def _power(element: int, exponent: int, degree: int) -> int:
    result = 1
    for digit in f"{exponent:b}":
        result = _multiply_modulo(result, result, irreducible(degree), degree)
        if digit == "1":
            result = _multiply_modulo(result, element, irreducible(degree), degree)
    return result


def _times(elements: Elements, factor: int, degree: int) -> Elements:
    """Each element times the same one."""
    product = np.zeros_like(elements)
    while factor:
        if factor & 1:
            product ^= elements
        elements = times_x(elements, degree)
        factor >>= 1
    return product


def count_support(rows: Rows, size: int, degree: int, bits: int) -> Counts:
    """How many reports (a row is a multiplier of `degree` bits, then a symbol) support each item, the cheapest way."""
    # About how many nanoseconds each way takes; only their order matters.
    reports, field, alphabet = rows.shape[0], 1 << degree, 1 << bits
    listing = 2 * reports * (field >> bits) + 4 * field if degree <= _LOGARITHM_DEGREE else math.inf
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
        symbols = reports >> np.uint64(degree) & np.uint64(
            (1 << bits) - 1
        )  # no row, valid or not, counts out of bounds
        total += work(reports & np.uint64(total.size - 1), symbols, degree, bits)
    return total


@accelerated
def list_support(multipliers: Elements, symbols: Elements, degree: int, bits: int) -> Counts:
    """For every item of the field, how many reports support it, by listing the items of each in logarithms."""
    of_elements, of_items = logarithms(degree)
    period, by_symbol = of_items.size - 1, items_by_symbol(of_items, bits)
    sums = np.zeros(3 * of_items.size, np.int64)
    for block in _blocks(multipliers.size, by_symbol.shape[1]):
        shifts = period - of_elements[multipliers[block]]
        sums += np.bincount((by_symbol[symbols[block]] + shifts[:, None]).reshape(-1), minlength=sums.size)
    return by_item(sums, of_items, int(np.count_nonzero(symbols == 0)))


def items_by_symbol(of_items: NDArray[np.int32], bits: int) -> NDArray[np.int32]:
    """A row of logarithms for each symbol: of the items that end in it."""
    return np.ascontiguousarray(of_items.reshape(-1, 1 << bits).T)


def by_item(sums: Counts, of_items: NDArray[np.int32], zeros: int) -> Counts:
    """The counts of the items from those of the sums of logarithms, where past 2 (N - 1) are those without one."""
    period = of_items.size - 1
    counts = (sums[:period] + sums[period : 2 * period]).take(of_items, mode="clip")
    counts[0] = zeros
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
