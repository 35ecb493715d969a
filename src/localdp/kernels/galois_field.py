"""The field GF(2^r): its elements are r-bit integers, added by XOR and multiplied modulo a polynomial.

An integer stands for the polynomial over GF(2) whose coefficient of X^i is bit i. The modulus of degree r is part of
the wire format. It is the numerically smallest irreducible polynomial of that degree, taken from the table below, which
clients in other languages can copy; `tests/kernels/test_galois_field.py` proves every entry.
"""

from __future__ import annotations

import numpy as np

from localdp.types import Words

# For degrees 1 to 32; bit i is the coefficient of X^i.
_POLYNOMIALS = (
    0x2, 0x7, 0xb, 0x13, 0x25, 0x43, 0x83, 0x11b,
    0x203, 0x409, 0x805, 0x1009, 0x201b, 0x4021, 0x8003, 0x1002b,
    0x20009, 0x40009, 0x80027, 0x100009, 0x200005, 0x400003, 0x800021, 0x100001b,
    0x2000009, 0x400001b, 0x8000027, 0x10000003, 0x20000005, 0x40000003, 0x80000009, 0x10000008d,
)  # fmt: skip

# For degrees 1 to 18: the smallest generator, an element with all nonzero elements among its powers.
_GENERATORS = (1, 2, 2, 2, 2, 2, 2, 3, 7, 2, 2, 3, 2, 7, 2, 3, 2, 10)

LARGEST_DEGREE = len(_POLYNOMIALS)
LARGEST_DEGREE_WITH_LOGARITHMS = len(_GENERATORS)

_ONE = np.uint64(1)


def irreducible(degree: int) -> int:
    """The modulus of the field of this degree, as an integer.

    >>> [irreducible(degree) for degree in (1, 2, 3, 4, 8)]
    [2, 7, 11, 19, 283]
    """
    return _POLYNOMIALS[degree - 1]


def times_x(elements: Words, degree: int) -> Words:
    """Each element times X."""
    carry = elements >> np.uint64(degree - 1)
    return (elements << _ONE) ^ carry * np.uint64(irreducible(degree))


def multiply(elements: Words, factor: int, degree: int) -> Words:
    """Each element times the same factor.

    >>> multiply(np.array([1, 2, 4], np.uint64), factor=2, degree=3).tolist()  # X * X^2 = X^3 = X + 1
    [2, 4, 3]
    """
    product = np.zeros_like(elements)
    while factor:
        if factor & 1:
            product ^= elements
        elements = times_x(elements, degree)
        factor >>= 1
    return product


def powers_of_generator(degree: int) -> Words:
    """Every nonzero element once, as the powers 0, 1, 2, .. of the smallest generator.

    >>> powers_of_generator(3).tolist()
    [1, 2, 4, 3, 6, 7, 5]
    """
    powers, factor = np.ones(1, np.uint64), np.full(1, _GENERATORS[degree - 1], np.uint64)
    while powers.size < (1 << degree) - 1:
        powers = np.concatenate([powers, multiply(powers, int(factor[0]), degree)])
        factor = multiply(factor, int(factor[0]), degree)
    return powers[: (1 << degree) - 1]


def parity(words: Words) -> Words:
    """For each word, 1 if it has an odd number of bits set, else 0."""
    return np.bitwise_count(words).astype(np.uint64) & _ONE
