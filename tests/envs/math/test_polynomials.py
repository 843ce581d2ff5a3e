"""Polynomials: arithmetic, text, irreducibility and readers of answers."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest
from palaestra.envs.math.polynomials import (
    divide_exactly,
    find_rational_root,
    format_polynomial,
    is_irreducible,
    multiply_all,
    multiply_polynomials,
    nonzero_integer,
    read_product,
    read_sum,
    value_at,
)
from palaestra.envs.math.symbolic_answers import UnreadableAnswer


def test_products_and_quotients_by_hand():
    assert multiply_polynomials((2, 1), (-3, 1)) == (-6, -1, 1)
    assert multiply_all([(1, 1), (1, 1), (3,)]) == (3, 6, 3)
    assert divide_exactly((-6, -1, 1), (2, 1)) == (-3, 1)
    assert value_at((5, -1, 3), 2) == 15
    assert value_at((0, 0, 1), Fraction(1, 2)) == Fraction(1, 4)


@pytest.mark.parametrize(
    ("polynomial", "written_as"),
    [((5, -1, 3), "3x^2 - x + 5"), ((0, 1), "x"), ((-2, 0, 0, -1), "-x^3 - 2"), ((7,), "7"), ((), "0")],
)
def test_polynomials_are_written_as_in_school(polynomial: tuple[int, ...], written_as: str):
    assert format_polynomial(polynomial) == written_as


def test_irreducibility_of_small_monic_polynomials_agrees_with_all_products_of_smaller_ones():
    """Coefficients up to 2, so that roots are at most 3 in size, and coefficients of factors of degree 2 at most 9."""
    quadratics = list(product(range(-9, 10), range(-6, 7), [1]))
    products = {multiply_polynomials(p, q) for k, p in enumerate(quadratics) for q in quadratics[k:]}
    for degree in (2, 3, 4):
        for below in product(range(-2, 3), repeat=degree):
            polynomial = (*below, 1)
            has_root = any(value_at(polynomial, x) == 0 for x in range(-3, 4))
            assert is_irreducible(polynomial) == (not has_root and polynomial not in products), format_polynomial(
                polynomial
            )


@pytest.mark.parametrize(
    ("polynomial", "expected"),
    [
        ((4, 2), False),  # 2 (x + 2)
        ((4, 3), True),
        ((0, 0, 1), False),
        ((1, 0, 0, 0, 1), True),  # x^4 + 1
        ((4, 0, 0, 0, 1), False),  # (x^2 - 2x + 2)(x^2 + 2x + 2)
        ((1, 0, 1, 0, 1), False),  # (x^2 + x + 1)(x^2 - x + 1)
        ((1, 0, -10, 0, 1), True),  # splits modulo every prime
        ((1, 0, 4, 0, 4), False),  # (2x^2 + 1)^2
        ((3, 4, 9, 4, 4), False),  # (2x^2 + x + 3)(2x^2 + x + 1)
        ((-1, 0, 0, 8), False),  # 8x^3 - 1
        ((2, 0, 0, 8), False),  # 2 (4x^3 + 1)
    ],
)
def test_irreducibility_by_hand(polynomial: tuple[int, ...], expected: bool):
    assert is_irreducible(polynomial) == expected


def test_rational_roots_are_found_where_there_are_any():
    assert find_rational_root((-3, 2)) == Fraction(3, 2)
    assert find_rational_root((-2, 0, 1)) is None
    assert find_rational_root((2, 5, 5, 3)) == Fraction(-2, 3)  # (3x + 2)(x^2 + x + 1)


def test_an_expanded_polynomial_is_read_however_it_is_written():
    expected = {(("x", 2), ("y", 1)): 3, (("x", 1),): -1, (): 5}
    for answer in [
        "3x^2*y - x + 5",
        "5 - x + 3*y*x**2",
        "3 x^2 y + (-x) + 5",
        "$3x^{2}y-x+5$",
        "3x·x·y - x + 10/2",
        "y*x^1*3*x^1 - x + 5",
    ]:
        assert dict(read_sum(answer)) == expected, answer


@pytest.mark.parametrize(
    "answer",
    [
        *(
            "(x + 1)(x + 2)",
            "2(x + 1)",
            "(x+1)^2",
            "expand((x+1)*(x+2))",
            "x^(-1)",
            "x^0 + 1",
            "sqrt(x)",
            "x^x",
            "1/x",
            "",
            "x = 2",
        ),
        *("9**9**9", "(" * 2000 + "x" + ")" * 2000, "x^999999999999", "(x+1)^4000", "x" * 4000),
    ],
)
def test_what_is_no_expanded_polynomial_is_refused(answer: str):
    with pytest.raises(UnreadableAnswer):
        read_sum(answer)


def test_products_are_read_factor_by_factor():
    assert read_product("2(x - 1)^2*(x^2 + 1)") == (2, [((-1, 1), 2), ((1, 0, 1), 1)])
    assert read_product("-x^3 (2x+4) * 2^2") == (-4, [((0, 1), 3), ((4, 2), 1)])
    assert read_product("((x+1)^2)^3") == (1, [((1, 1), 6)])
    assert read_product("(x + 1 + x)(x^9 - x^9 + x^3*x - 3)") == (1, [((1, 2), 1), ((-3, 0, 0, 0, 1), 1)])
    for answer in [
        "(x + 1)(y + 1)",
        "(x/2 + 1)(x - 1)",
        "(x+1)^(-1)",
        "(x+1)/(x+2)",
        "(x+1)^65",
        "((x+1)^40)^40",
        f"{2**65}(x + 1)",
        f"(1/{2**65})(x + 1)",
        "9**9**9",
    ]:
        with pytest.raises(UnreadableAnswer):
            read_product(answer)


def test_signed_numbers_leave_out_zero_and_reach_both_ends():
    assert [nonzero_integer(i / 6, 3) for i in range(6)] == [-3, -2, -1, 1, 2, 3]
