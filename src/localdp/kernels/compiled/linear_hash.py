"""Linear local hashing: the twins of `localdp.kernels.linear_hash`."""

from __future__ import annotations

import numpy as np

from localdp.kernels.compiled.jit import compiled
from localdp.kernels.compiled.walsh_hadamard import transform_columns
from localdp.kernels.counting import add_histogram
from localdp.kernels.galois_field import irreducible
from localdp.kernels.linear_hash import character_sums, counts_by_item, items_by_symbol, logarithms
from localdp.types import Counts, Rows, Words

_TILE = 256  # multipliers handled together: their products and powers stay in the first-level cache


def linear_hash(multipliers: Words, items: Words, degree: int, bits: int) -> Words:
    if multipliers.shape != items.shape or multipliers.ndim != 1:
        return NotImplemented
    hashed = np.empty(items.size, np.uint64)
    _linear_hash(multipliers, items, degree, bits, irreducible(degree), hashed)
    return hashed


@compiled
def _linear_hash(multipliers, items, degree, bits, polynomial, hashed):
    for user in range(items.size):
        power, item, symbol = np.int64(multipliers[user]), np.int64(items[user]), np.int64(0)
        for place in range(bits):
            symbol |= _parity(power & item) << place
            power = _times_x(power, degree, polynomial)
        hashed[user] = np.uint64(symbol)


@compiled
def _parity(number):
    """The parity of at most 32 bits."""
    number ^= number >> 16
    number ^= number >> 8
    number ^= number >> 4
    return 0x6996 >> (number & 15) & 1


@compiled
def _times_x(element, degree, polynomial):
    """The element times X, in the field with this modulus."""
    return element << 1 ^ (element >> degree - 1) * polynomial


def collect_histogram(rows: Rows, degree: int, bits: int, among: int = 1) -> Counts:
    histogram = np.zeros(1 << degree + bits, np.int32)
    add_histogram(rows, histogram)
    transform_columns(histogram, 1 << bits)
    collected = np.zeros(1 << degree, np.int64)
    _collect_histogram(histogram, degree, bits, irreducible(degree), character_sums(bits, among), collected)
    return collected


@compiled
def _collect_histogram(histogram, degree, bits, polynomial, weights, collected):
    """Add the transformed histogram, weighted and in Gray-code order of u, to `collected` at the products u a."""
    field, alphabet = 1 << degree, 1 << bits
    width = min(field, _TILE)
    powers, product = np.empty((bits, width), np.int64), np.empty(width, np.int64)
    for start in range(0, field, width):
        for x in range(width):
            product[x] = 0
            powers[0, x] = start + x
            for place in range(1, bits):
                powers[place, x] = _times_x(powers[place - 1, x], degree, polynomial)
        for number in range(1, alphabet):
            power = powers[_lowest_set_bit(number)]
            symbol = number ^ number >> 1
            weight = weights[symbol]
            part = histogram[symbol * field + start : symbol * field + start + width]
            for x in range(width):
                product[x] ^= power[x]
                collected[product[x]] += weight * part[x]


@compiled
def _lowest_set_bit(number):
    """The place of the lowest bit that is set; the number is not 0."""
    place = 0
    while not number >> place & 1:
        place += 1
    return place


def collect_reports(multipliers: Words, symbols: Words, degree: int, bits: int, among: int = 1) -> Counts:
    collected = np.zeros(1 << degree, np.int64)
    weights = character_sums(bits, among)
    _collect_reports(multipliers, symbols, degree, bits, irreducible(degree), weights, collected)
    return collected


@compiled
def _collect_reports(multipliers, symbols, degree, bits, polynomial, weights, collected):
    powers, signs = np.empty(bits, np.int64), np.empty(bits, np.int64)
    for report in range(multipliers.size):
        power, symbol = np.int64(multipliers[report]), np.int64(symbols[report])
        for place in range(bits):
            powers[place], signs[place] = power, 1 - 2 * (symbol >> place & 1)
            power = _times_x(power, degree, polynomial)
        product, sign = np.int64(0), np.int64(1)
        for number in range(1, 1 << bits):
            place = _lowest_set_bit(number)
            product ^= powers[place]
            sign *= signs[place]
            collected[product] += sign * weights[number ^ number >> 1]


def list_support(multipliers: Words, symbols: Words, degree: int, bits: int, among: int = 1) -> Counts:
    of_elements, of_items = logarithms(degree)
    sums = np.zeros(3 * of_items.size, np.int32)  # enough: a block of reports adds at most 1 for each report
    _list_support(multipliers, symbols, of_elements, items_by_symbol(of_items, bits), among, sums)
    return counts_by_item(sums.astype(np.int64), of_items, int(np.count_nonzero(symbols < among)))


@compiled
def _list_support(multipliers, symbols, of_elements, by_symbol, among, sums):
    period = of_elements.size - 1
    for report in range(multipliers.size):
        shift = period - of_elements[multipliers[report]]
        for other in range(among):
            for logarithm in by_symbol[np.int64(symbols[report]) ^ other]:
                sums[logarithm + shift] += 1
