"""Polynomials: products, complete factorisations and rational roots, against evaluation, sympy and brute force."""

from __future__ import annotations

import re
from fractions import Fraction
from itertools import pairwise, product

import pytest
from palaestra.envs.math.polynomial_expand import _POOLS, PolynomialExpand
from palaestra.envs.math.polynomial_factor import PolynomialFactor
from palaestra.envs.math.polynomial_roots import PolynomialRoots
from palaestra.envs.math.polynomials import (
    divide_exactly,
    find_rational_root,
    format_polynomial,
    is_irreducible,
    multiply_all,
    multiply_polynomials,
    read_product,
    read_sum,
    value_at,
)
from palaestra.envs.math.symbolic_answers import UnreadableAnswer, format_sum, read_expression
from palaestra.envs.question import Question, Task

HUGE = ["9**9**9", "(" * 2000 + "x" + ")" * 2000, "x^999999999999", "(x+1)^4000", "x" * 4000, "9" * 4000 + "x^2"]


def value(formula: str, **variables: int) -> int:
    """The value of a polynomial as text, by Python's own arithmetic; the pattern vets what is evaluated."""
    assert re.fullmatch(r"[-+*^() 0-9xyz]+", formula), formula
    explicit = re.sub(r"(?<=[0-9xyz)])(?=[xyz(])", "*", formula.replace(" ", ""))
    return eval(explicit.replace("^", "**"), {}, variables)


def score(env: Question, task: Task, answer: str) -> float:
    return env.verify(task, answer).score


def everywhere(env: Question, seeds: int) -> list[Task]:
    tasks = []
    for difficulty in (0.0, 0.25, 0.5, 0.75, 1.0):
        for seed in range(seeds):
            env.reset(seed=seed, options={"difficulty": difficulty})
            tasks.append(env.here())
    return tasks


# Arithmetic and text.


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


def test_sums_are_written_with_their_signs():
    assert format_sum([(3, "x^2"), (-1, "x"), (Fraction(1, 2), "")]) == "3*x^2 - x + 1/2"
    assert format_sum([(-1, "x"), (0, "x^2"), (Fraction(-2, 3), "x")]) == "-x - (2/3)*x"
    assert format_sum([(1, "/x"), (4, "/x"), (Fraction(1, 2), "/x")]) == "1/x + 4/x + (1/2)/x"
    assert format_sum([]) == "0"


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


# Reading.


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


def test_a_name_with_brackets_may_stand_before_the_answer():
    assert read_expression("P(x) = x + 1") == ("+", "x", 1)
    for answer in ["x = 1", "1 = x", "x < 2", "(1, 2)", "P(x) = x = 1", "P(x) < x + 1", "P(x) != x", "P(y) = x"]:
        with pytest.raises(UnreadableAnswer):
            read_expression(answer)


@pytest.mark.parametrize("name", ["sin", "cos", "tan", "sec", "ln", "exp"])
def test_a_variable_may_touch_the_function_that_it_multiplies(name: str):
    assert read_expression(f"x{name}(2x)") == read_expression(f"x*{name}(2*x)")
    assert read_expression(f"3x{name}(x) + x") == read_expression(f"3*x*{name}(x) + x")


@pytest.mark.parametrize("answer", ["(" * 990 + "x" + ")" * 990, "x^" * 990 + "x", "|" * 990 + "x", "sin " * 490 + "x"])
def test_deep_nesting_is_refused_and_no_failure(answer: str):
    with pytest.raises(UnreadableAnswer, match="nested too deeply"):
        read_expression(answer)


# The families.


def test_expansions_equal_the_product_at_many_points():
    for task in everywhere(PolynomialExpand(), 20):
        factors = re.match(r"Expand (.+) and collect", task.prompt)
        assert factors
        for x, y, z in [(2, 3, 5), (-7, 11, 4), (100, -1, 30), (1000, 99, -98)]:
            assert value(factors[1], x=x, y=y, z=z) == value(task.solution or "", x=x, y=y, z=z)
        terms = read_sum(task.solution or "")
        assert len({monomial for monomial, _ in terms}) == len(terms) > 1


def test_terms_are_drawn_from_all_monomials_up_to_a_degree():
    for variables, degree in ((1, 3), (2, 2), (3, 2)):
        powers = product(range(degree + 1), repeat=variables)
        every = [(*key, *(0,) * (3 - variables)) for key in powers if sum(key) <= degree]
        assert sorted(_POOLS[variables]) == sorted(every)


def test_expansion_tasks_have_the_factors_terms_variables_and_size_asked_for():
    for factors, terms, variables, size in [(2, 2, 1, 9), (3, 4, 3, 20), (2, 3, 2, 9)]:
        env = PolynomialExpand(factors=factors, terms=terms, variables=variables, size=size)
        for seed in range(30):
            prompt, _ = env.reset(seed=seed)
            question = prompt.split(" and collect")[0].removeprefix("Expand ")
            parts = re.findall(r"\(([^)]+)\)", question)
            assert len(parts) == factors
            assert all(len(re.split(r" [-+] ", part)) == terms for part in parts)
            assert len(set(re.findall("[xyz]", question))) == variables
            assert max(map(int, re.findall(r"(?<!\^)\b\d+", question))) <= size


def test_an_expansion_must_be_the_sum_with_like_terms_collected():
    env = PolynomialExpand()
    task = Task("Expand (x + 2)(x - 3)", {(("x", 2),): 1, (("x", 1),): -1, (): -6})
    for answer in [
        "x^2 - x - 6",
        "-6 - x + x**2",
        "x^2 + -1*x - 6",
        "\\boxed{x^2-x-6}",
        "P(x) = x^2 - x - 6",
        "(x + 2)(x - 3) = x^2 - x - 6",
        "The expanded form is $x^2 - x - 6$.",
        "x^2-x-6+0",
    ]:
        collected = "+0" not in answer
        assert score(env, task, answer) == collected, answer
    for answer in ["(x + 2)(x - 3)", "(x+2)*(x-3)", "expand((x+2)*(x-3))", "x(x - 1) - 6", "x^2 + x - 6", "x^2 - x"]:
        assert score(env, task, answer) == 0, answer
    for answer in [
        "x^2 + 2x - 3x - 6",
        "y^2 - y - 6",
        "x^2 - x - 6 = 0",
        "x^2 - x - 6, 1",
        "2 * (x^2 - x - 6) / 2",
        "",
    ]:
        assert score(env, task, answer) == 0, answer
    assert "collected" in env.verify(task, "x^2 + 2x - 3x - 6").feedback
    assert env.verify(task, "(x + 2)(x - 3)").malformed
    for answer in HUGE:
        assert score(env, task, answer) == 0


def test_factorisations_are_those_of_sympy():
    sympy = pytest.importorskip("sympy")
    x = sympy.Symbol("x")
    for task in everywhere(PolynomialFactor(), 8):
        number, factors = sympy.factor_list(sympy.Poly(task.data[::-1], x))
        found = sorted((tuple(map(int, factor.all_coeffs()[::-1])), power) for factor, power in factors)
        expected = sorted((factor, task.reference[1].count(factor)) for factor in set(task.reference[1]))
        assert (int(number), found) == (task.reference[0], expected)
        assert multiply_all([*task.reference[1], (number,)]) == task.data


def test_polynomials_to_factor_have_as_many_factors_of_such_degree_as_asked_for():
    for factors, degree, leading in [(2, 1, 1), (3, 3, 2), (4, 4, 4)]:
        env = PolynomialFactor(factors=factors, degree=degree, leading=leading, size=20)
        numbers, firsts, lasts = set(), set(), set()
        for seed in range(30):
            env.reset(seed=seed)
            number, found = env.here().reference
            assert len(found) == factors
            assert sorted(len(factor) - 1 for factor in found)[-1] == degree
            assert all(len(factor) - 1 <= min(degree, 2) for factor in sorted(found, key=len)[:-1])
            assert max(number, *(factor[-1] for factor in found)) <= leading
            numbers.add(number)
            firsts |= {factor[-1] for factor in found}
            lasts |= {abs(factor[0]) for factor in found}
        assert numbers == firsts == set(range(1, leading + 1))
        assert 15 < max(lasts) <= 20


def test_only_the_complete_factorisation_is_right():
    env = PolynomialFactor()
    # 2 (x - 1)^2 (x^2 + 1) (2x + 3)
    factors = ((-1, 1), (-1, 1), (3, 2), (1, 0, 1))
    task = Task("", (2, factors), data=multiply_all([*factors, (2,)]))
    right = ["2(x - 1)^2(2x + 3)(x^2 + 1)", "2(x-1)(x-1)(x^2+1)(2x+3)", "(2x+3)*2*(1-x)^2*(1+x**2)"]
    right += ["-2(1 - x)(x - 1)(2x + 3)(x^2 + 1)", "2\\left(x-1\\right)^{2}(2x+3)(x^{2}+1)"]
    right += [f"{format_polynomial(task.data)} = 2(x - 1)^2(2x + 3)(x^2 + 1)", "**2(x - 1)^2(2x + 3)(x^2 + 1)**."]
    right += ["(3 - 1)(x - 1)^2(2x + 3)(x^2 + 1)"]
    for answer in right:
        assert score(env, task, answer) == 1, answer
    partly = ["(2x - 2)(x - 1)(2x + 3)(x^2 + 1)", "2(x^2 - 2x + 1)(2x + 3)(x^2 + 1)", "(x - 1)^2(4x + 6)(x^2 + 1)"]
    partly += [format_polynomial(task.data), f"1*({format_polynomial(task.data)})", "2(x-1)(2x+3)(x^3-x^2+x-1)"]
    for answer in partly:
        assert score(env, task, answer) == 0, answer
        assert "further" in env.verify(task, answer).feedback, answer
    wrong = ["(x - 1)^2(2x + 3)(x^2 + 1)", "2(x + 1)^2(2x + 3)(x^2 + 1)", "-2(x-1)^2(2x+3)(x^2+1)", "2(x-1)^2(2x+3)"]
    wrong += ["4(x - 1)^2(x + 3/2)(x^2 + 1)", "factor(x)", "2(x-1)^2(2x+3)(x-i)(x+i)", "0(x-1)^5", "", "x", *HUGE]
    for answer in wrong:
        assert score(env, task, answer) == 0, answer
    assert "degree" in env.verify(task, "2(x - 1)^2(2x + 3)").feedback
    assert env.verify(task, "2(x + 1)^2(2x + 3)(x^2 + 1)").feedback == "The product is not the polynomial."
    assert env.verify(task, "factor(x)").malformed
    assert not env.verify(task, wrong[0]).malformed
    # 4 (x - 1)(x + 2)
    task = Task("", (4, ((-1, 1), (2, 1))), data=(-8, 4, 4))
    for answer in ["4(x - 1)(x + 2)", "2^2(x - 1)(x + 2)", "(1 + 1)^2(x - 1)(x + 2)", "(1 + 1)(5 - 3)(x - 1)(x + 2)"]:
        assert score(env, task, answer) == 1, answer
    assert score(env, task, "(1 + 1)(x - 1)(x + 2)") == 0


def test_factors_count_as_often_as_they_occur():
    env = PolynomialFactor()
    factors = ((-1, 1), (-1, 1), (2, 1))
    task = Task("", (1, factors), data=multiply_all(factors))
    assert score(env, task, "(x - 1)^2(x + 2)") == 1
    assert score(env, task, "(x - 1)(x + 2)(x - 1)") == 1
    assert score(env, task, "(x - 1)(x + 2)^2") == 0
    assert score(env, task, "(x - 1)(x + 2)") == 0


def test_the_polynomial_itself_is_never_its_factorisation():
    for task in everywhere(PolynomialFactor(), 10):
        for answer in [
            format_polynomial(task.data),
            f"({format_polynomial(task.data)})",
            f"-({format_polynomial(tuple(-c for c in task.data))})",
        ]:
            assert score(PolynomialFactor(), task, answer) == 0


def test_rational_roots_are_all_there_with_their_multiplicities():
    """By trying every fraction that could be one; a root is as often one as it is a root of the derivatives too."""
    tried = sorted({Fraction(a, b) for b in range(1, 9) for a in range(-45, 46)})
    for task in everywhere(PolynomialRoots(), 4):
        found = []
        for root in tried:
            rest = task.data
            while sum(c * root.numerator**k * root.denominator ** (len(rest) - k) for k, c in enumerate(rest)) == 0:
                found.append(root)
                rest = tuple(k * c for k, c in enumerate(rest))[1:]
        assert list(map(str, found)) == task.reference
        assert len(set(found)) > 1


def test_kinds_of_roots_are_as_asked_for():
    for kind in ("integers", "fractions", "others"):
        env = PolynomialRoots(kind=kind, roots=3)
        for seed in range(40):
            env.reset(seed=seed)
            task = env.here()
            roots = list(map(Fraction, task.reference))
            assert len(roots) == 3
            assert all(root.denominator == 1 for root in roots) == (kind == "integers")
            assert len(task.data) - 1 == (5 if kind == "others" else 3)
            assert max(abs(root.numerator) for root in roots) <= 40
    repeated = PolynomialRoots(roots=4)
    tasks = everywhere(repeated, 10)
    assert sum(len(set(task.reference)) < 4 for task in tasks) > len(tasks) / 4


def test_roots_may_be_listed_in_any_order_but_each_as_often_as_it_is_one():
    env = PolynomialRoots()
    task = Task("", ["-2", "1/3", "1/3"])
    for answer in [
        *("-2, 1/3, 1/3", "1/3, -2, 2/6", "x = 1/3, x = -2, x = 1/3", "[1/3; 1/3; -2]", "{-2, 1/3, 1/3}"),
        *("x = -2, 1/3, 1/3", "x = 1/3, x = 1/3, or x = -2", "x_1 = -2, x_2 = 1/3, x_{3} = 1/3", "-2\n1/3\n1/3"),
        *(r"$x = -2, \frac{1}{3}, \frac{1}{3}$", "The rational roots are: \u22122, 1/3 and 1/3."),
    ]:
        assert score(env, task, answer) == 1, answer
    for answer in ["y = -2, y = 1/3, y = 1/3", "x, 1/3, 1/3", "-2, 1/3 (twice)", "", "x^2 = -2, 1/3, 1/3"]:
        verdict = env.verify(task, answer)
        assert verdict.malformed, answer
        assert "such as" in verdict.feedback
    for answer in [
        "-2, 1/3",
        "-2, -2, 1/3",
        "2, 1/3, 1/3",
        "-2, 1/3, 1/3, 1/3",
        "-2, 0.333, 0.333",
        "",
        "-2",
        "9**9**9",
    ]:
        assert score(env, task, answer) == 0, answer
    for answer in HUGE:
        assert score(env, task, answer) == 0


@pytest.mark.parametrize("family", [PolynomialExpand, PolynomialFactor, PolynomialRoots])
def test_every_step_of_a_solution_is_a_true_equation(family: type[Question]):
    for task in everywhere(family(), 6):
        *steps, _ = family().solution_steps(task)
        assert steps
        for step in steps:
            if "=" not in step:
                continue
            left, right = step.split(": ")[-1].split(" = ")
            for x in (2, -3, 10):
                assert value(left, x=x, y=7, z=-5) == value(right, x=x, y=7, z=-5), step


def test_roots_are_divided_out_until_nothing_or_no_rational_root_is_left():
    env = PolynomialRoots()
    task = Task("", ["-2", "1/2"], "-2, 1/2", data=multiply_all([(2, 1), (-1, 2)]))
    last = "1/2 is the root of 2x - 1."
    assert env.solution_steps(task) == ["-2 is a root: 2x^2 + 3x - 2 = (x + 2)(2x - 1)", last, "-2, 1/2"]
    task = Task("", ["3"], "3", data=multiply_all([(-3, 1), (1, 0, 1)]))
    first = "3 is a root: x^3 - 3x^2 + x - 3 = (x - 3)(x^2 + 1)"
    assert env.solution_steps(task) == [first, "x^2 + 1 has no rational roots.", "3"]


def test_steps_of_a_factorisation_lead_from_the_polynomial_to_the_last_factor():
    for task in everywhere(PolynomialFactor(), 5):
        *steps, _ = PolynomialFactor().solution_steps(task)
        assert steps[0].startswith(format_polynomial(task.data))
        for before, after in pairwise(steps):
            assert before.endswith(f"({after.split(' = ')[0]})")
