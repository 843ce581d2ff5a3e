"""The normal form of elementary functions against numbers."""

from __future__ import annotations

import cmath
import math
import re
from fractions import Fraction
from itertools import combinations

import pytest
from palaestra.envs.math.elementary_functions import MAX_POWER, Form, Functions, Sum
from palaestra.envs.math.symbolic_answers import UnreadableAnswer, read_expression

_TOKEN = re.compile(r"[0-9]+|[-+*/^() ]|sinh|cosh|tanh|sin|cos|tan|cot|sec|csc|ln|x|e")


_NAMES = {name: getattr(cmath, name) for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")}


_NAMES |= {"ln": lambda u: cmath.log(abs(u)), "e": math.e, "sec": lambda u: 1 / cmath.cos(u)}


_NAMES |= {"cot": lambda u: 1 / cmath.tan(u), "csc": lambda u: 1 / cmath.sin(u)}


def value(formula: str, x: float) -> float:
    """The value of a formula with explicit signs of multiplication; its tokens vet what is evaluated."""
    assert "".join(_TOKEN.findall(formula)) == formula, formula
    return complex(eval(formula.replace("^", "**"), {"__builtins__": {}}, {**_NAMES, "x": x})).real


def slope(formula: str, x: float) -> float:
    """The difference quotient."""
    return (value(formula, x + 1e-6) - value(formula, x - 1e-6)) / 2e-6


def near(a: float, b: float, size: float) -> bool:
    return abs(a - b) <= 1e-5 * max(abs(a), abs(b), size)


def equal(one: str, other: str) -> bool:
    functions = Functions()
    return functions.equal(functions.read(read_expression(one)), functions.read(read_expression(other)))


FORMULAS = [
    *(
        "0",
        "1",
        "x",
        "x^2",
        "(x + 1)^2",
        "x^2 + 2*x + 1",
        "x^(-1)",
        "1/x",
        "x/(x^2 + x)",
        "1/(x + 1)",
        "(x - 1)/(x^2 - 1)",
    ),
    *(
        "sin(x)^2 + cos(x)^2",
        "sin(2*x)",
        "2*sin(x)*cos(x)",
        "cos(2*x)",
        "1 - 2*sin(x)^2",
        "cos(x)^2 - sin(x)^2",
        "cos(x)",
    ),
    *("tan(x)", "sin(x)/cos(x)", "1/cot(x)", "1 + tan(x)^2", "sec(x)^2", "1/cos(x)^2", "csc(x)*tan(x)", "sec(x)"),
    *(
        "e^(2*x)",
        "(e^x)^2",
        "e^x*e^x",
        "e^x",
        "1/e^(-x)",
        "e^(x + 1)",
        "e*e^x",
        "cosh(x) + sinh(x)",
        "e^(x^2)",
        "tanh(x)",
    ),
    *(
        "(e^x - e^(-x))/(e^x + e^(-x))",
        "sinh(2*x)/2",
        "sinh(x)*cosh(x)",
        "sin(x^2 + x)",
        "sin(x^2)*cos(x) + cos(x^2)*sin(x)",
    ),
    *(
        "ln(x)",
        "ln(x^2)/2",
        "ln(3*x) - ln(3)",
        "ln(1/x)",
        "-ln(x)",
        "ln(x + 1)",
        "ln(2*x + 2) - ln(2)",
        "ln(x/3) + ln(3)",
        "ln(2*x/3)",
        "ln(x - 1)",
        "ln(1 - x)",
        "ln(x^2 + x) - ln(x)",
    ),
    *("x*ln(x)", "ln(x)/x^(-1)", "sin(3*x)", "3*sin(x) - 4*sin(x)^3", "sin(-3*x)", "-sin(3*x)", "cos(-x)", "e^(1/x)"),
    *(
        "(1 + 1/x)*x/(x + 1)",
        "sin(0)",
        "x^2/x^2",
        "sin(x)/x",
        "x*e^(2*x)",
        "x*e^(2*x) + x",
        "sin(x)^4",
        "(1 - cos(x)^2)^2",
    ),
]


def test_two_formulas_have_one_form_if_and_only_if_they_have_the_same_values():
    places = (0.37, 1.3, 2.9)
    values = {formula: [value(formula, x) for x in places] for formula in FORMULAS}
    alike = 0
    for one, other in combinations(FORMULAS, 2):
        same = all(abs(a - b) < 1e-9 for a, b in zip(values[one], values[other]))
        alike += same
        assert equal(one, other) == same, (one, other)
    assert alike > 30


def at(form: Form, x: float) -> float:
    """The value of a form."""

    def total(terms: Sum) -> complex:
        result = 0j
        for (b, n, exponent, atoms), c in terms.items():
            power = sum(float(a) * 1j**j * x**k for (k, j), a in exponent)
            factors = [math.log(abs(sum(float(a) * x**k for k, a in atom[1]))) ** m for atom, m in atoms]
            result += float(c) * 1j**b * x**n * cmath.exp(power) * math.prod(factors)
        return result

    quotient = total(form.above) / total(form.below)
    assert abs(quotient.imag) < 1e-9 * max(1.0, abs(quotient))
    return quotient.real


def test_forms_have_the_values_of_their_formulas_and_derivatives_those_of_difference_quotients():
    for formula in FORMULAS:
        functions = Functions()
        form = functions.read(read_expression(formula))
        derived = functions.derivative(form)
        for x in (0.37, 1.3, 2.9):
            assert near(at(form, x), value(formula, x), 1e-3), formula
            assert near(at(derived, x), slope(formula, x), 1e-3), formula


def test_only_single_letters_are_constants():
    functions = Functions("CK")
    assert functions.read("C").above == functions.read("K").above
    for name in ("CK", "C_1", "D", ""):
        with pytest.raises(UnreadableAnswer, match="not known"):
            functions.read(name)


def test_the_inverse_of_i_is_minus_i():
    one, i, minus_i = ({(b, 0, (), ()): Fraction(c)} for b, c in [(0, 1), (1, 1), (1, -1)])
    functions = Functions()
    assert functions.equal(functions._inverse(Form(i, one)), Form(minus_i, one))
    assert functions.equal(functions._product(Form(i, one), Form(minus_i, one)), Form(one, one))


@pytest.mark.parametrize(
    ("function", "derivative"),
    [
        ("x^3", "3*x^2"),
        ("1/x", "-1/x^2"),
        ("sin(x^2)", "2*x*cos(x^2)"),
        ("tan(x)", "1/cos(x)^2"),
        ("sec(x)", "sec(x)*tan(x)"),
        ("e^(3*x)/x", "e^(3*x)*(3*x - 1)/x^2"),
        ("ln(x^2 + 1)", "2*x/(x^2 + 1)"),
        ("x*ln(x)", "ln(x) + 1"),
        ("ln(x)^3", "3*ln(x)^2/x"),
        ("(x + 1)/(x - 1)", "-2/(x - 1)^2"),
        ("ln(7)", "0"),
        ("C*x + C", "C"),
        ("sinh(2*x)", "2*cosh(2*x)"),
    ],
)
def test_derivatives_by_hand(function: str, derivative: str):
    functions = Functions("C")
    found = functions.derivative(functions.read(read_expression(function)))
    assert functions.equal(found, functions.read(read_expression(derivative)))
    assert not functions.equal(found, functions.read(read_expression(f"{derivative} + x")))


@pytest.mark.parametrize(
    "formula",
    [
        *(
            "y",
            "x^x",
            "2^x",
            "sqrt(x)",
            "x^(1/2)",
            "|x|",
            "x!",
            "pi*x",
            "arctan(x)",
            "log_2(x)",
            "f(x)",
            "floor(x)",
            "i*x",
        ),
        *("1/0", "1/(x - x)", "ln(0)", "ln(x - x)", "tan(0)^(-1)", "0^(-1)", "e^(e^x)", "sin(sin(x))", "ln(ln(x))"),
        *("e^(ln(x))", "cos(ln(x))", "e^(1/(x + 1))", "sin(1/(x + 1))", "ln(sin(x))", "x^(2*x)", "x^(x - x + 1/2)"),
        *("9**9**9", "x^9999", "(x + sin(x) + e^x + ln(x))^64", "((x+sin(x))^20 + (1+e^x)^20)^20", "e^(9^9^9)"),
    ],
)
def test_what_has_no_form_is_refused(formula: str):
    with pytest.raises(UnreadableAnswer):
        Functions().read(read_expression(formula))


def test_work_is_bounded_however_it_is_spread():
    long = "+".join(f"sin({k}*x)" for k in range(1, 90))
    for answer in [f"({long})*({long})", "*".join(["(1 + x + sin(x))"] * 100), "/".join(["(1+e^x)"] * 200), long * 2]:
        functions = Functions()
        try:
            functions.derivative(functions.read(read_expression(answer)))
        except UnreadableAnswer:
            continue
        assert functions._left >= 0
    with pytest.raises(UnreadableAnswer, match="large"):
        Functions().read(read_expression(f"({long})*({long})"))
    # Few products, but of long numbers.
    with pytest.raises(UnreadableAnswer, match="large"):
        Functions().read(read_expression(f"({'9' * 1_900}*x + 1)^{MAX_POWER}"))
    assert Functions().read(read_expression(f"(9*x + 1)^{MAX_POWER}"))
    assert Functions().read(read_expression(f"x^{MAX_POWER}"))
    assert read_expression("x" + " " * 1_999) == "x"
    with pytest.raises(UnreadableAnswer, match="longer than 2,000"):
        read_expression("x" + " " * 2_000)
