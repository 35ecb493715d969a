"""The field GF(2^r): its tables are proved, and its arithmetic is compared with integers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from localdp.kernels import galois_field
from localdp.kernels.galois_field import LARGEST_DEGREE, LARGEST_DEGREE_WITH_LOGARITHMS, irreducible

U = np.uint64
DEGREES = range(1, LARGEST_DEGREE + 1)
DEGREES_WITH_LOGARITHMS = range(1, LARGEST_DEGREE_WITH_LOGARITHMS + 1)


def _product(left: int, right: int) -> int:
    """The product of two polynomials over GF(2): a multiplication without carries."""
    return 0 if not right else (left if right & 1 else 0) ^ _product(left << 1, right >> 1)


def _remainder(number: int, modulus: int) -> int:
    while number.bit_length() >= modulus.bit_length():
        number ^= modulus << number.bit_length() - modulus.bit_length()
    return number


def _multiply(left: int, right: int, modulus: int) -> int:
    return _remainder(_product(left, right), modulus)


def _power(base: int, exponent: int, modulus: int) -> int:
    result = _remainder(1, modulus)
    for digit in f"{exponent:b}":
        result = _multiply(result, result, modulus)
        result = _multiply(result, base, modulus) if digit == "1" else result
    return result


def _greatest_common_divisor(one: int, other: int) -> int:
    while other:
        one, other = other, _remainder(one, other)
    return one


def _prime_factors(number: int) -> set[int]:
    found, factor = set(), 2
    while factor * factor <= number:
        while number % factor == 0:
            found.add(factor)
            number //= factor
        factor += 1
    return found | {number} - {1}


def _is_irreducible(polynomial: int) -> bool:
    """Rabin's test: P of degree r divides X^(2^r) - X and, for every prime p | r, is coprime to X^(2^(r/p)) - X."""
    degree = polynomial.bit_length() - 1

    def frobenius(times: int) -> int:
        """X^(2^times) - X modulo P."""
        power = _remainder(2, polynomial)
        for _ in range(times):
            power = _multiply(power, power, polynomial)
        return power ^ _remainder(2, polynomial)

    if frobenius(degree):
        return False
    return all(
        _greatest_common_divisor(polynomial, frobenius(degree // prime)) == 1 for prime in _prime_factors(degree)
    )


@pytest.mark.parametrize("degree", range(1, 9))
def test_rabins_test_agrees_with_trying_all_factors(degree):
    composite = {_product(a, b) for a in range(2, 1 << degree) for b in range(2, 1 << degree)}
    for polynomial in range(1 << degree, 2 << degree):
        assert _is_irreducible(polynomial) == (polynomial not in composite)


@pytest.mark.parametrize("degree", DEGREES)
def test_each_polynomial_is_the_smallest_irreducible_one_of_its_degree(degree):
    smallest = next(polynomial for polynomial in range(1 << degree, 2 << degree) if _is_irreducible(polynomial))
    assert irreducible(degree) == smallest


def _generates(element: int, degree: int) -> bool:
    """Whether the order of a nonzero element is 2^degree - 1, and not a proper divisor of it."""
    order = (1 << degree) - 1
    return all(_power(element, order // prime, irreducible(degree)) != 1 for prime in _prime_factors(order))


@pytest.mark.parametrize("degree", DEGREES_WITH_LOGARITHMS)
def test_each_generator_is_the_smallest_one(degree):
    smallest = next(element for element in range(1, 1 << degree) if _generates(element, degree))
    powers = galois_field.powers_of_generator(degree)
    assert powers[1 % powers.size] == smallest


@pytest.mark.parametrize("degree", DEGREES_WITH_LOGARITHMS)
def test_powers_of_the_generator_are_all_nonzero_elements_in_order(degree):
    powers = galois_field.powers_of_generator(degree)
    assert np.array_equal(np.sort(powers), np.arange(1, 1 << degree, dtype=U))
    assert powers[0] == 1
    generator = int(powers[1 % powers.size])
    assert np.array_equal(galois_field.multiply(powers[:-1], generator, degree), powers[1:])


@given(st.sampled_from(DEGREES), st.data())
def test_products_are_those_of_polynomials_modulo_the_polynomial(degree, data):
    element, factor = (data.draw(st.integers(0, (1 << degree) - 1)) for _ in range(2))
    modulus = irreducible(degree)
    assert galois_field.multiply(np.array([element], U), factor, degree)[0] == _multiply(element, factor, modulus)
    expected = _multiply(element, 2, modulus) if degree > 1 else 0  # of degree 1, the modulus is X itself
    assert galois_field.times_x(np.array([element], U), degree)[0] == expected


@given(st.lists(st.integers(0, 2**64 - 1), max_size=10))
def test_parity_is_that_of_the_bits_set(words):
    assert galois_field.parity(np.array(words, U)).tolist() == [word.bit_count() % 2 for word in words]
