"""Derivatives and antiderivatives: the normal form against numbers, the families against difference quotients."""

from __future__ import annotations

import cmath
import math
import re
from fractions import Fraction
from itertools import combinations

import pytest
from palaestra.envs.math.derivative import Derivative
from palaestra.envs.math.elementary_functions import MAX_POWER, Form, Functions, Sum
from palaestra.envs.math.integral import CONSTANTS, Integral
from palaestra.envs.math.symbolic_answers import UnreadableAnswer, read_expression
from palaestra.envs.question import Question, Task

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


def score(env: Question, task: Task, answer: str) -> float:
    return env.verify(task, answer).score


# The normal form.

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


# The families.


def test_derivatives_are_difference_quotients_of_the_question_at_every_difficulty():
    env = Derivative()
    for difficulty in (0.0, 0.25, 0.5, 0.75, 1.0):
        for seed in range(20):
            prompt, _ = env.reset(seed=seed, options={"difficulty": difficulty})
            match = re.match(r"Differentiate f\(x\) = (.+)\. Answer", prompt)
            assert match, prompt
            for x in (2.3, 0.41):
                # ln is that of the absolute value; the quotient then holds at each side of a pole.
                assert near(slope(match[1], x), value(env.oracle(env.here()), x), abs(value(match[1], x))), prompt


def test_antiderivatives_have_the_question_as_difference_quotient_at_every_difficulty():
    env = Integral()
    for difficulty in (0.0, 0.25, 0.5, 0.75, 1.0):
        for seed in range(20):
            prompt, _ = env.reset(seed=seed, options={"difficulty": difficulty})
            match = re.match(r"Find an antiderivative of f\(x\) = (.+) for x > 0\. Answer", prompt)
            assert match, prompt
            answer = env.oracle(env.here())
            for x in (1.7, 0.41):
                assert near(slope(answer, x), value(match[1], x), abs(value(answer, x))), prompt


@pytest.mark.parametrize("family", [Derivative, Integral])
def test_steps_are_true_derivatives_of_single_terms(family: type[Question]):
    env = family()
    for difficulty in (0.0, 0.5, 1.0):
        for seed in range(12):
            env.reset(seed=seed, options={"difficulty": difficulty})
            *steps, _ = env.solution_steps(env.here())
            assert len(steps) == len(env.here().data)
            for step in steps:
                match = re.fullmatch(r"\((.+)\)' = (.+)", step)
                assert match
                for x in (1.7, 0.41):
                    assert near(slope(match[1], x), value(match[2], x), abs(value(match[1], x))), step


KINDS = {
    Derivative: {
        "powers": r"x\^\d",
        "functions": r"(sin|cos|e\^|ln)\(\d\*x\)",
        "products": r"x(\^\d)?\*(sin|cos|e\^|ln)\((\d\*)?x\)",
        "quotients": r"\((\d\*)?x [-+] \d\)/\((\d\*)?x( [-+] \d)?\)",
        "chains": r"(sin|cos|e\^|ln)?\(\d\*x\^\d [-+] \d\)(\^\d)?",
    },
    Integral: {
        "powers": r"x(\^\d)?",
        "functions": r"(sin|cos|e\^)\(\d\*x\)|/x",
        "substitution": r"x(\^2)?[*/](sin|cos|e\^)?\(\d\*x\^\d \+ \d\)(\^\d)?",
        "parts": r"x(\^\d)?\*(sin|cos|e\^|ln)\((\d\*)?x\)",
    },
}


@pytest.mark.parametrize("family", [Derivative, Integral])
def test_the_rule_asked_for_occurs_and_no_harder_one(family: type[Question]):
    assert family.param_space["rule"].choices == tuple(KINDS[family])
    for rule in KINDS[family]:
        env = family(rule=rule, terms=3, size=9)
        seen = set()
        for seed in range(40):
            env.reset(seed=seed)
            kinds = []
            for (coefficient, body), _ in env.here().data:
                assert 1 <= abs(coefficient) <= 9
                kinds.append(next(kind for kind, pattern in KINDS[family].items() if re.fullmatch(pattern, body)))
            assert len(kinds) == 3
            assert len({body for (_, body), _ in env.here().data}) == 3
            assert rule in kinds
            seen.update(kinds)
        assert seen == set(list(KINDS[family])[: list(KINDS[family]).index(rule) + 1])


def test_a_derivative_may_be_written_in_any_way():
    task = Task("", "2*x*e^(3*x) + 3*x^2*e^(3*x) + 4*cos(2*x)")
    env = Derivative()
    for answer in [
        "x*e^(3*x)*(2 + 3*x) + 4*cos(2*x)",
        "e^{3x}(3x^2 + 2x) + 4 - 8 \\sin^2 x",
        "4cos(2x) + x exp(3x)(3x+2)",
        "F(x) = 2xe^{3x} + 3x^2e^{3x} + 4\\cos(2x)",
        "dy/dx = x e^{3x}(2 + 3x) + 4cos(2x)",
        "\\[ f'(x) = 2xe^{3x} + 3x^2e^{3x} + 4\\cos(2x) \\]",
        "**The derivative is 2*x*e^(3*x) + 3*x^2*e^(3*x) + 4*cos(2*x).**",
        "2xexp(3x) + 3x^2exp(3x) + 4cos(2x)",
        "$4\\cos^2(x) - 4\\sin^2(x) + (2x + 3x^2)e^{3x}$",
        "(2*x + 3*x^2)/e^(-3*x) + 4*(cos(x)^4 - sin(x)^4)",
    ]:
        assert score(env, task, answer) == 1, answer
    for answer in [
        *(
            "diff(x^2*e^(3*x) + 2*sin(2*x), x)",
            "Derivative(x^2*e^(3*x), x)",
            "d/dx (x^2*e^(3*x) + 2*sin(2*x))",
            "f'(x)",
        ),
        *("x^2*e^(3*x) + 2*sin(2*x)", "2*x*e^(3*x) + 3*x^2*e^(3*x)", "2*x*e^(3*x) + 3*x^2*e^(3*x) + 4*cos(2*x) + C"),
        *("2*x*e^(3*x) + 3*x^2*e^(3*x) - 4*cos(2*x)", "2*x*e^(3*x) + 3*x^2*e^(2*x) + 4*cos(2*x)", "", "x", "0"),
        *("2*x*e^(3*x) + 3*x^2*e^(3*x) + 4.0001*cos(2*x)", "y", "nan", "9**9**9", "(" * 3000, "-" * 4000 + "1"),
    ]:
        assert score(env, task, answer) == 0, answer


def test_an_antiderivative_may_be_written_in_any_way_with_any_constant():
    task = Task("", "2*x*cos(x^2) + 3/x + 2*sin(x)*cos(x)")
    env = Integral()
    for answer in [
        "sin(x^2) + 3*ln(x) + sin(x)^2",
        "sin(x^2) + ln(x^3) - cos(2x)/2 + C",
        "\\sin(x^2) + 3\\ln|x| - \\cos^2 x + c",
        "F(x) = sin(x^2) + 3 ln(5x) + sin^2(x) - 17/3",
        "sin(x^2) + 3*ln(abs(x)) + sin(x)^2 + K",
        "\\int f(x)\\,dx = \\sin(x^2) + 3\\ln|x| + \\sin^2(x) + C",
        "Answer: sin(x^2) + 3ln(x) + sin(x)^2 + C.",
    ]:
        assert score(env, task, answer) == 1, answer
    for answer in [
        *("Integral(2*x*cos(x^2) + 3/x + 2*sin(x)*cos(x), x)", "integrate(2*x*cos(x**2), x)", "int 2x cos(x^2) dx"),
        *(
            "\\int 2x\\cos(x^2) + 3/x + 2\\sin x\\cos x\\,dx",
            "2*x*cos(x^2) + 3/x + 2*sin(x)*cos(x)",
            "C",
            "F(x)",
            "F(x) + C",
        ),
        *(
            "sin(x^2) + 3*ln(x)",
            "sin(x^2) + 3*ln(x) + sin(x)^2 + x",
            "sin(x^2) + 3*ln(x) + sin(x)^2 + C*x",
            "sin(x^2) + 3*ln(x) + sin(x)^2 + D",
        ),
        *("sin(x^2) + 3*ln(x) + sin(x)^2 + y", "sin(x^2) + 2*ln(x) + sin(x)^2", "sin(x^2) + 3*ln(x) - sin(x)^2", "x^C"),
        *("", "x", "1", "9**9**9", "(" * 3000, "-" * 4000 + "1", "x = 2", "(1, 2)", "sin(x^2) + 3*ln(x) + sin(x)^2, x"),
    ]:
        assert score(env, task, answer) == 0, answer
    assert set("Cc") <= set(CONSTANTS)


@pytest.mark.parametrize("family", [Derivative, Integral])
def test_copying_the_question_is_never_right(family: type[Question]):
    env = family()
    for seed in range(30):
        prompt, _ = env.reset(seed=seed)
        match = re.search(r"f\(x\) = (.+?)(?: for x > 0)?\. Answer", prompt)
        assert match
        for answer in (match[1], f"f(x) = {match[1]}", f"Integral({match[1]}, x)", f"diff({match[1]})", "f(x)", prompt):
            assert score(env, env.here(), answer) == 0
