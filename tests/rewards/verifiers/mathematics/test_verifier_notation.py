r"""Notations that can be taken for another one, and the ways of writing one value that people use."""

from __future__ import annotations

from typing import Any

import pytest
from palaestra.errors import InputError
from palaestra.rewards import Verdict, verify

OPTIONAL = {"units": "optional"}


def judge(answer: str, reference: Any, **options: Any) -> Verdict:
    verdict = verify("math", answer, reference, deadline=20.0, **options)
    assert verdict.valid, (answer, reference, verdict)
    return verdict


# reference, right, wrong; the answer is not malformed where it is right.
SHEET: list[tuple[str, list[str], list[str]]] = [
    # A letter before brackets may be a function.
    ("f(2)=3", ["f(2)=3", "3=f(2)"], ["f(4)=6", "f(1)=1.5", "f=1.5", "2f=3", "f(6)=9"]),
    ("f(3)", ["f(3)"], ["f(1)+f(2)", "3f(1)", "3f"]),
    ("f(x+1)", ["f(x+1)"], ["f(x)+f(1)", "f(x)+f", "fx+f"]),
    ("P(A)=0.5", [r"P(A)=\frac12"], ["PA=0.5", "2P(A)=1.5"]),
    ("f^{-1}(2)=3", ["f^{-1}(2)=3"], ["f^{-1}(4)=6", "2=3f"]),
    # A comma or a full stop is not always what it looks like.
    ("125", ["125"], ["0{,}125", r"0\,125", "000{,}125"]),
    ("1125", ["1{,}125", r"1\,125"], ["01{,}125"]),
    ("6", ["6"], ["2.(3)", "3.(2)", "1.(6)", "101_2=6", "7_{10}=6", r"\mathbb{R}=6", r"\mathbb{Z}=6"]),
    ("0", ["0"], ["0.(3)", "0.(9)"]),
    ("1/3", [r".\overline{3}", r"0.\overline{3}"], [r".\overline{4}"]),
    # Memberships, subscripts, factorials, exponents of ten.
    (r"n\in\mathbb{N}", [r"n\in\mathbb{N}", "n∈ℕ"], [r"n\in\mathbb{Z}", r"m\in\mathbb{N}"]),
    (r"\frac{\pi}{2}+k\pi, k\in\mathbb{Z}", [r"k\pi+\pi/2, k\in\mathbb{Z}"], [r"k\pi, k\in\mathbb{Z}"]),
    ("S_{n+1}", ["S_{n+1}"], ["S_{n-1}", "S_n+1", "S_n"]),
    (r"\binom{10}{3}", [r"\frac{10!}{3!7!}"], [r"\frac{10!}{3!6!}"]),
    (r"6.02\times10^{23}", ["6.02 x 10^{23}", "6.02 x 10^23"], ["6.02 x 10^{22}", "6.02x"]),
    (r"\infty", ["Infinity", "infinity"], ["-Infinity"]),
    # Units.
    (r"25^\circ\text{C}", ["25 degrees Celsius", "25 ℃", "25 °C"], ["25 degrees Fahrenheit", "25 ℉", "25 degrees"]),
    (r"77^\circ F", ["77 degrees Fahrenheit", "77 ℉"], ["77 degrees Celsius"]),
    ("5000000", ["5 million", r"5\text{ million}"], ["5 billion", "5", "5 millions"]),
    ("$5,000,000", ["$5 million", "5 million dollars"], ["$5 billion"]),
    ("3500000", ["3 1/2 million", "3.5 million"], ["3 million"]),
    ("60 eggs", ["5 dozen eggs"], ["5 eggs"]),
    ("5 halves", ["5 halves"], ["5", "5 thirds"]),
    # Matrices.
    (
        r"\begin{pmatrix} 1 & -2 \\ 0 & \frac{1}{2} \end{pmatrix}",
        [r"\left[\begin{array}{cc}1&-2\\0&\frac12\end{array}\right]"],
        [r"\left[\begin{array}{cc}1&2\\0&\frac12\end{array}\right]"],
    ),
]


@pytest.mark.parametrize(("reference", "right", "wrong"), SHEET, ids=[row[0] for row in SHEET])
def test_the_sheet_of_notations(reference: str, right: list[str], wrong: list[str]):
    for answer in [reference, *right]:
        assert judge(answer, reference).success, answer
    for answer in wrong:
        assert not judge(answer, reference).success, answer


@pytest.mark.parametrize(
    "word",
    [
        *("million", "thousand", "hundred", "billion", "trillion", "dozen", "score", "pairs", "millions"),
        *("halves", "thirds", "tenths", "hundredths", "squared", "cubed", "times", "minus", "over", "twice"),
    ],
)
def test_a_word_that_changes_the_number_is_no_unit_to_be_ignored(word: str):
    assert not judge(f"5 {word}", "5", **OPTIONAL).success


def test_a_counted_noun_may_be_ignored_where_units_are_optional():
    assert judge("5 apples", "5", **OPTIONAL).success
    assert judge("5 cm squared", r"5\text{ cm}^2", **OPTIONAL).success


@pytest.mark.parametrize("options", [{"units": "bogus"}, {"deadline": -1}, {"log_base": 1}])
def test_options_are_checked_for_plain_numbers_too(options: dict[str, Any]):
    with pytest.raises(InputError):
        verify("math", "5", "5", **options)


# answer, reference: what differs late, in a place far away, or only as a whole.
@pytest.mark.parametrize(
    ("answer", "reference"),
    [
        (r"\sqrt{1+10^{-60}}", "1"),
        (r"\cos(10^{-40})", "1"),
        (r"2^{10^{-50}}", "1"),
        (r"\sin 1+10^{-60}", r"\sin 1"),
        (r"2^{1/3}+10^{-70}", r"\sqrt[3]{2}"),
        (r"\sqrt{2+10^{-100}}", r"\sqrt2"),
        ("|x-10|", "10-x"),
        (r"\sqrt[4]{(x-10)^4}", "10-x"),
        ("x+9", "|x+9|"),
        (r"\lfloor x/100+1/2\rfloor", "0"),
        (r"\sqrt{(x+5)(x+6)}", r"\sqrt{x+5}\sqrt{x+6}"),
    ],
)
def test_what_differs_late_or_far_away_is_wrong_and_decided(answer: str, reference: str):
    assert not judge(answer, reference).success
    assert not judge(reference, answer).success


def test_points_far_away_do_not_refute_what_large_numbers_hide():
    assert judge(r"\cosh^2 x-\sinh^2 x", "1").success
    assert not judge(r"\cosh^2 x-\sinh^2 x", "1+10^{-30}").success


@pytest.mark.parametrize("name", ["a", "y", "u", "N", "s", r"\phi", "a_n", "f", r"\mathrm{f}", r"\text{f}", "f^2"])
@pytest.mark.parametrize("brackets", ["(%s)", r"\left(%s\right)"])
def test_a_name_before_a_number_in_brackets_is_a_function_and_no_factor(name: str, brackets: str):
    at_two = name + brackets % 2 + "=3"
    assert judge(at_two, at_two).success
    for wrong in (name + brackets % 4 + "=6", name + brackets % 1 + "=1.5", f"{name}=1.5", f"2{name}=3"):
        assert not judge(wrong, at_two).success, wrong


def test_square_brackets_behind_a_function_are_no_factor_either():
    assert judge("f[2]=3", "f(2)=3").success
    assert not judge("f[4]=6", "f[2]=3").success


@pytest.mark.parametrize(
    ("answer", "reference"),
    [("x(x+1)", "x^2+x"), ("x(2y)", "2xy"), ("i(2)", "2i"), (r"\pi(2)", r"2\pi"), ("2(x)", "2x")],
)
def test_a_variable_before_an_expression_in_brackets_is_a_factor(answer: str, reference: str):
    assert judge(answer, reference).success


@pytest.mark.parametrize(
    ("answer", "reference", "right"),
    [
        (r"10^{-61}\sin1", r"10^{-60}\sin 1", False),
        (r"10^{-501}\sin1", r"10^{-500}\sin 1", False),
        ("0", r"10^{-600}\sin 1", False),
        (r"2\cdot10^{-60}\sin 1\cos 1", r"10^{-60}\sin 2", True),
        (r"\sin\pi", "0", True),
    ],
)
def test_small_values_are_told_apart(answer: str, reference: str, right: bool):
    assert judge(answer, reference).success == right


@pytest.mark.parametrize(
    ("answer", "reference", "right"),
    [
        (r"x\sqrt2<2", r"x<\sqrt2", True),
        (r"-x\sqrt2>-2", r"x<\sqrt2", True),
        (r"(\sqrt2-\sqrt3)x<\sqrt2-\sqrt3", "x>1", True),
        (r"(\sqrt2-\sqrt3)x<\sqrt2-\sqrt3", "x<1", False),
        (r"-x\sqrt2<2", r"x<\sqrt2", False),
        (r"x\sqrt2\le2", r"x<\sqrt2", False),
    ],
)
def test_the_sign_of_an_irrational_factor_of_an_inequality_counts(answer: str, reference: str, right: bool):
    assert judge(answer, reference).success == right


def test_a_number_before_an_exponent_with_a_variable_is_no_subscript():
    assert judge(r"\frac{n2^n}{2}", r"n\cdot2^{n-1}").success
    assert judge("n2^{n-1}", r"n\cdot2^{n-1}").success
    assert not judge("n2^n", r"n\cdot2^{n-1}").success
    for answer in ("x2", "x2^2", r"\sin n2^n"):
        assert judge(answer, "4x").malformed


@pytest.mark.parametrize(
    ("answer", "reference", "right"),
    [
        ("x=1, x=2", "1, 2", True),
        ("x=1,2", "1, 2", True),
        ("x=1 or x=2", "1, 2", True),
        ("x=2, x=1", "1, 2", False),
        ("x=1, y=2", "1, 2", False),
        ("x=1, x=2, x=3", "1, 2", False),
        ("x=1, x=2", "(1, 2)", False),
        ("x=1 and x=2", "1, 2", False),
        ("(1,2)", "(x,y)=(1,2)", True),
        ("(x,y)=(1,2)", "(1,2)", True),
        ("(y,x)=(1,2)", "(1,2)", False),
        ("(x,x)=(1,2)", "(1,2)", False),
        ("(x,y)=(2,1)", "(1,2)", False),
        ("(x,y)=(1,2,3)", "(1,2,3)", False),
        ("(1,2)", "(x,y,z)=(1,2)", False),
    ],
)
def test_names_may_be_given_to_a_list_or_a_tuple(answer: str, reference: str, right: bool):
    assert judge(answer, reference).success == right
    if right:
        assert not judge(answer, reference, assignment=False).success


def test_bars_nest():
    for answer in ("||x|-1|", "|1-|x||", r"\left|\left|x\right|-1\right|"):
        assert judge(answer, "||x|-1|").success, answer
    for answer in ("|x-1|", "|x|-1", "|x+1|"):
        assert not judge(answer, "||x|-1|").success, answer
    assert judge("|x||y|", "|xy|").success


def test_what_differs_at_whole_numbers_only_is_wrong():
    assert not judge(r"\lfloor x\rfloor+\lfloor-x\rfloor", "-1").success
    assert not judge(r"2\lfloor x\rfloor+1", r"\lfloor x\rfloor+\lceil x\rceil").success
    assert judge(r"\lfloor x+1\rfloor", r"\lfloor x\rfloor+1").success


def test_a_large_imaginary_exponent_has_a_value():
    assert judge("e^{2ie^{12}}", r"\cos(2e^{12})+i\sin(2e^{12})").success
    assert not judge("e^{2ie^{13}}", r"\cos(2e^{12})+i\sin(2e^{12})").success


def test_what_is_too_large_to_compute_is_left_open_and_not_wrong():
    assert not verify("math", "e^{-e^{20}}", "0").valid


@pytest.mark.parametrize(
    ("answer", "reference", "right"),
    [
        (r"2x\sqrt{3x}", r"\sqrt{12x^3}", True),
        (r"\ln(x^3)", r"3\ln x", True),
        (r"2x\sqrt{2x}", r"\sqrt{12x^3}", False),
        (r"\ln(x^2)", r"2\ln x", False),
        (r"\sqrt{x}\sqrt{y}", r"\sqrt{xy}", False),
        (r"\ln(xy)", r"\ln x+\ln y", False),
        (r"\sqrt{-x^2-1}", r"2\sqrt{-x^2-1}", False),
        (r"x\sqrt{-4}", r"x\sqrt{-9}", False),
        (r"i\sqrt{x}", r"\sqrt{-x}", False),
        (r"\sqrt{x}+|x-200|", r"\sqrt{x}+x-200", False),
        (r"\sqrt{x}+\sqrt{(x-1)^2}", r"\sqrt{x}+x-1", False),
    ],
)
def test_where_neither_side_is_real_nothing_is_compared(answer: str, reference: str, right: bool):
    assert judge(answer, reference).success == right
    assert judge(reference, answer).success == right


def test_a_domain_that_cannot_be_shown_leaves_the_answer_open():
    assert not verify("math", r"(x-1)\sqrt{x-1}", r"\sqrt{(x-1)^3}").valid


@pytest.mark.parametrize(
    ("answer", "reference", "right"),
    [
        (r"\frac{\pi}{4}", r"\arctan\frac12+\arctan\frac13", True),
        (r"\arcsin\frac{\sqrt2}{2}", r"\arctan\frac12+\arctan\frac13", True),
        (r"\pi", r"\arctan 1+\arctan 2+\arctan 3", True),
        (r"\frac{\pi}{4}", r"4\arctan\frac15-\arctan\frac1{239}", True),
        (r"\frac12\arctan\frac43", r"\arctan\frac12", True),
        ("0", r"\arctan 1+\arctan 2+\arctan 3", False),
        (r"\frac{\pi}{4}", r"4\arctan\frac15-\arctan\frac1{240}", False),
        (r"arcsinh(x)", r"\ln(x+\sqrt{x^2+1})", True),
        (r"-\ln(\sqrt{x^2+1}-x)", r"\ln(x+\sqrt{x^2+1})", True),
        (r"\ln(\sqrt{x^2+1}-x)", r"\ln(x+\sqrt{x^2+1})", False),
        (r"\frac12\ln(x^2)", r"\ln|x|", True),
        (r"\ln|x|", r"\ln x", False),
    ],
)
def test_arctangents_and_logarithms_are_added_up(answer: str, reference: str, right: bool):
    assert judge(answer, reference).success == right


def test_a_quarter_turn_more_is_not_the_same_angle():
    proofs = pytest.importorskip("palaestra.rewards.verifiers.mathematics.proofs")
    sympy = pytest.importorskip("sympy")
    angle = sympy.atan(sympy.Rational(1, 2)) + sympy.atan(sympy.Rational(1, 3))
    # The product of (1 + i/2) and (1 + i/3) has the argument of all of these, up to quarter turns.
    zero = [k for k in range(-8, 9) if proofs.vanishes(angle - k * sympy.pi / 4)]
    assert zero == [1]


@pytest.mark.parametrize(
    ("answer", "reference", "right"),
    [
        (r"3\text{ box}", "3 boxes", True),
        ("3 movie", "3 movies", True),
        ("3 berries", "3 berry", True),
        ("3 caches", "3 cache", True),
        ("3 planes", "3 plans", False),
        ("$5$ cm", r"5\text{ cm}", True),
        ("$5$ dollars", "$5", True),
        ("$5$ m", "5 cm", False),
        ("$5$ cm", "5", False),
        (r"]-\infty,-2]\cup[5,\infty[", r"(-\infty,-2]\cup[5,\infty)", True),
        ("]1,2]", "(1,2]", True),
        ("[1,2[", "[1,2)", True),
        ("[1,2[", "[1,2]", False),
        ("]1,2]", "[1,2]", False),
        ("sinx", r"\sin x", True),
        ("lnx", r"\ln x", True),
        ("2sinx cosx", r"\sin 2x", True),
        ("cosx", r"\sin x", False),
        (r"1-\frac12\sin^22x", r"\sin^4x+\cos^4x", True),
        (r"2(\sin^2 1+\cos^2 1)", "2", True),
        (r"\sin^22x", r"(\sin x)^{22}", False),
    ],
)
def test_ways_of_writing(answer: str, reference: str, right: bool):
    assert judge(answer, reference).success == right


def test_more_than_one_digit_behind_a_function_is_unclear():
    assert judge(r"\sin^10 x", r"\sin^{10} x").malformed
    assert judge(r"\sin^{10}x", r"(\sin x)^{10}").success


@pytest.mark.parametrize("name", ["tolerance", "absolute_tolerance", "decimals", "deadline", "log_base", "units"])
@pytest.mark.parametrize("value", ["x", [1]])
def test_an_option_of_the_wrong_type_is_the_callers_error(name: str, value: Any):
    with pytest.raises(InputError, match=name):
        verify("math", "5", "5", **{name: value})


def test_what_is_real_nowhere_is_compared_as_complex_numbers():
    assert judge("-(-1)^n", "(-1)^{n+1}").success
    assert not judge("(-1)^n", "(-1)^{n+1}").success
