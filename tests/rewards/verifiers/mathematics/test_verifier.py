"""The sheet of the verifier "math", written by hand: answers that are right, wrong or malformed for each reference."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from palaestra.errors import InputError
from palaestra.rewards import Verdict, verify

# reference, right, wrong, malformed
SHEET: list[tuple[str, list[str], list[str], list[str]]] = [
    (
        "72",
        [
            "$72",
            "72.0",
            "72.",
            "####72",
            "#### 72.",
            "**72**",
            "$72$",
            "$$72$$",
            r"\(72\)",
            r"\[ 72 \]",
            r"\boxed{72}",
            r"$\boxed{72}$.",
            r"\text{72}",
            r"\$72",
            r"\$72.00",
            "x = 72",
            "72 = x",
        ],
        ["71 or 72", "x=71, x=72", "71, 72", "72 cents"],
        [r"\boxed{71} \boxed{72}"],
    ),
    ("y = 72", ["y = 72"], ["x = 72"], []),
    ("42", [], ["142", "-42"], []),
    ("1009", [], ["1000"], []),
    ("1/3", [r"0.\overline{3}", r"\frac13", r"\dfrac{2}{6}"], ["0.3333"], []),
    ("0.5", ["50%"], [], []),
    ("1/2", [r"50\%", "50 percent"], [], []),
    ("50", [], ["50%"], []),
    ("50%", ["1/2"], [], []),
    ("7/2", [r"3\frac{1}{2}", "3 1/2"], ["31/2"], []),
    ("31/2", ["15.5"], [], []),
    ("-7/2", [r"-3\frac{1}{2}"], [], []),
    (r"3\frac{1}{2}", ["3½"], [], []),
    ("1500", ["1.5e3", r"1.5 \times 10^3", r"1.5 \cdot 10^{3}"], [], []),
    ("0.0015", ["1.5E-3"], [], []),
    ("1234567", ["1,234,567"], [], []),
    ("1234", ["1{,}234"], [], []),
    ("12345", [r"12\,345", r"12,\!345"], ["12,34,5"], []),
    ("5 cm", [r"5\text{ cm}", "5cm", "0.05 m"], ["5 m", "5"], []),
    ("5 m", ["500 cm", r"500 \mathrm{cm}"], [], []),
    (
        "5",
        ["05", "+5", "{5}", "５"],
        [
            "5 cm",
            "5 apples",
            r"\{5\}",
            "[5]",
            "5i",
            "5e",
            "5x",
            "5%",
            "05.1",
            "5 = 6",
            "5 = 5",
            "x = 5 = 6",
            "x = x + 5",
            "x > 5",
        ],
        [
            "Tuesday",
            "__import__('os').getpid()",
            "lambda x: x",
            "x.diff(x)",
            "diff(x^2, x)",
            "9**9**9",
            "factorial(10**8)",
            "(10**8)!",
            "10^{10^{10}}",
            "5+0*9**9**9**9",
            "1/0",
            r"\frac{1}{x-x}",
            "0^0",
            "",
            "٥",
            "the answer is 5",
            "5 is the answer",
            "5; rm -rf /",
            "open('/tmp/x','w')",
            "5 # comment",
            "5,",
            ")5(",
            "[5",
            "--5",
            "5 5",
            r"5\n6",
        ],
    ),
    (r"5 \text{ cm}^2", ["5 square centimeters", "5 cm²"], [], []),
    ("5 cm^2", ["0.0005 m^2"], [], []),
    ("10 m/s", ["36 km/h", r"10 \text{ meters per second}"], [], []),
    ("60 mph", ["60 miles per hour"], [], []),
    ("10 minutes", [], ["10 hours"], []),
    ("120 minutes", ["2 hours"], [], []),
    ("3 h", [], ["3 s"], []),
    (r"90^\circ", ["90°", "90 degrees"], ["90"], []),
    (r"90^{\circ}", [r"\frac{\pi}{2} \text{ rad}"], [], []),
    ("1 L", ["1000 mL", "1000 cm^3"], [], []),
    ("5 apples", ["5 apples"], [], []),
    ("$5.00", ["5 dollars"], [], []),
    ("$0.72", ["72 cents"], [], []),
    ("$72", [], ["€72"], []),
    ("(1,2)", ["(1, 2)"], ["(2, 1)", "[1, 2]", "{1, 2}", "1, 2"], []),
    (r"\{1,2\}", ["{2, 1}", r"\{2,1,1\}"], [r"\{1,2,3\}"], []),
    ("(2,3]", ["(2, 3]"], ["[2, 3]", "[2, 3)"], []),
    (r"(-\infty, 3]", ["(-∞, 3]", "(-inf, 3]"], [r"(-\infty, 3)", r"(\infty, 3]"], []),
    (r"(1,2)\cup(3,4)", ["(3,4) U (1,2)"], [], []),
    (r"(1,2)\cup[3,\infty)", ["(1,2) ∪ [3,∞)"], [], []),
    (r"\mathbb{R}", [r"(-\infty,\infty)"], [], []),
    (r"\emptyset", ["{}"], [], []),
    (
        r"\begin{pmatrix}1&2\\3&4\end{pmatrix}",
        ["[[1,2],[3,4]]", r"\begin{bmatrix}1&2\\3&\frac{8}{2}\end{bmatrix}"],
        ["[[1,3],[2,4]]"],
        [],
    ),
    (r"\begin{pmatrix}1\\2\end{pmatrix}", [], [r"\begin{pmatrix}1&2\end{pmatrix}"], []),
    ("y=2x+1", ["2x+1=y", "y-2x=1", "2y=4x+2", "-y=-2x-1"], ["x=2y+1", "y=2x-1", "Y=2x+1", "2x+1"], []),
    (r"y=\sqrt{2}x", [r"\sqrt{2}y=2x"], [], []),
    (r"y=\sin(2x)", [r"2\sin x\cos x=y"], [r"y=\sin x\cos x"], []),
    ("x<3", ["3>x", "2x<6"], ["x>3", r"x\le 3"], []),
    (r"x \leq 3", ["x <= 3"], [], []),
    ("1<x<3", ["3>x>1", "x>1 and x<3"], [r"1<x\le3"], []),
    ("x<1 or x>3", ["x>3 or x<1"], ["x>1 or x<3"], []),
    ("-x > -3", ["x < 3"], [], []),
    (r"x \ne 3", ["x != 3"], [], []),
    ("(x+1)^2", ["x^2+2x+1", "1 + 2*x + x**2"], ["x^2+1"], []),
    ("x+1", [], ["y+1"], []),
    ("X", [], ["x"], []),
    ("ab", ["ba"], ["hb"], []),
    (r"\frac{x^2-1}{x-1}", ["x+1"], [], []),
    (r"\frac{1}{x}+\frac{1}{y}", [r"\frac{x+y}{xy}"], [], []),
    (r"\sqrt{8}", [r"2\sqrt{2}", "2√2"], [], []),
    (r"\frac{1}{\sqrt{2}}", [r"\frac{\sqrt{2}}{2}"], [], []),
    (r"\frac{1}{1+\sqrt{2}}", [r"\sqrt{2}-1"], [], []),
    (r"\sqrt{2}", [], ["1.41421356237"], []),
    (r"\sqrt{6}", [r"\sqrt{2}\sqrt{3}"], [], []),
    (r"\sqrt{-4}", ["2i"], [], []),
    ("(1+i)^2", ["2i"], [], []),
    (r"2\pi r", ["2 pi r"], [], []),
    (r"\pi r^2", ["pi*r^2"], [], []),
    (r"\sqrt[3]{8}", ["2"], [], []),
    (r"\sqrt[3]{-8}", ["-2"], [], []),
    (r"\sqrt[3]{x}", ["x^{1/3}"], [], []),
    ("x", [], [r"\sqrt{x^2}", "x x"], ["x2"]),
    ("|x|", [r"\sqrt{x^2}"], [], []),
    ("|-5|", ["5"], [], []),
    (r"\sin(30^\circ)", ["1/2"], [], []),
    (r"\sin\frac{\pi}{6}", ["1/2"], [], []),
    (r"\cos 60°", ["0.5"], [], []),
    (r"\sin^2 x + \cos^2 x", ["1"], [], []),
    (r"2\sin x\cos x", [r"\sin 2x"], [], []),
    (r"\tan x", [r"\frac{\sin x}{\cos x}"], [], []),
    (r"\sin^{-1}(1)", [r"\frac{\pi}{2}"], [], []),
    (r"\arctan 1", [r"\pi/4"], [], []),
    (r"\ln 8", [r"3\ln 2"], [], []),
    (r"\log_2 8", ["3"], [], []),
    ("log_2(8)", ["3"], [], []),
    ("log2(8)", ["3"], [], []),
    (r"\log_{10} 1000", ["3"], [], []),
    (r"\log 100", [], ["2"], []),
    (r"\log 8", [r"3 \log 2"], [], []),
    (r"e^{\ln 5}", ["5"], [], []),
    (r"e^{i\pi}", ["-1"], [], []),
    ("e^{x+1}", [r"e \cdot e^x"], [], []),
    ("exp(x)", ["e^x"], [], []),
    ("2^{x+1}", ["2*2^x"], [], []),
    ("5!", ["120"], [], []),
    ("n!", ["n (n-1)!"], [], []),
    (r"\binom{5}{2}", ["10"], [], []),
    (r"\lfloor 3.7 \rfloor", ["3"], [], []),
    (r"\lceil 3.2 \rceil", ["4"], [], []),
    (r"\pm 3", [r"\{3,-3\}", "-3 or 3", "3, -3"], ["3"], []),
    ("3", [], [r"\pm 3"], []),
    (r"x = \pm 3", ["x=3 or x=-3"], [], []),
    (r"2\pm\sqrt{3}", [r"\{2-\sqrt{3}, 2+\sqrt{3}\}"], [], []),
    (r"\text{Tuesday}", ["Tuesday"], [], []),
    ("Tuesday", [r"\text{tuesday}"], ["Wednesday"], []),
    ("no solution", ["No solution."], [], []),
    ("2x+1", [], [], ["expand(2x+1)"]),
    ("x^2/2", [], [], ["Integral(x, x)"]),
    ("10^{10^{10}}", ["10^{10^{10}}"], [], []),
    ("2^{100000}", ["2^{100000}"], [], []),
    ("2^{2024}", ["4^{1012}"], [], []),
    ("2, 3", ["2,3"], ["3, 2"], []),
    ("3 or 4", ["4 or 3"], [], []),
    ("x=1, y=2", ["y=2, x=1"], [], []),
    ("3:4", ["3 : 4", "6:8", "9:12", "0.75:1"], ["4:3", "3/4", "-3:4", "3:4:5"], []),
    (r"x:\infty", [], ["1:2"], []),
    ("1:2:3", ["2:4:6"], ["2:4:5", "1:2"], []),
    (
        "x=2 or x=-3",
        ["x = 2, x = -3", "x = 2, -3", "-3 or 2"],
        ["x=2", "2", "y=2 or y=-3", "2, 3"],
        [],
    ),
    ("x = 2 or x = -3", [r"x = -\frac{1}{2} \pm \frac{5}{2}"], ["x=2 or x=-3 or x=0", "x=2 or y=-3", "2 and -3"], []),
    ("[0,1)", [r"0 \le x < 1", r"x \in [0,1)"], ["0 < x < 1", r"0 \le x \le 1", "x < 1", "0 <= x < y"], []),
    (
        "x > 3",
        [r"(3, \infty)", "3 < x", r"x \in (3, \infty)"],
        [r"[3, \infty)", r"(-\infty, 3)", "(3, 5)", "x > 3y"],
        [],
    ),
    (r"x < 0 or x > 2", [r"(-\infty,0) \cup (2,\infty)", "x > 2 or x < 0"], [r"(-\infty,2)", "x < 0 or y > 2"], []),
    (r"36 \text{ km/h}", [r"36 \frac{\text{km}}{\text{h}}", "10 m/s"], [r"36 \frac{\text{km}}{\text{min}}", "36"], []),
    ("3.1416", [], [r"\pi"], []),
    ("x_1+x_2", ["x_2 + x_{1}"], [], []),
    ("x² + 1", ["x^2+1"], [], []),
    ("x⁻¹", ["1/x"], [], []),
    (r"-\frac{3}{4}", [r"\frac{-3}{4}", "−0.75"], [], []),
    (r"\frac{\sqrt{3}}{2}", ["sqrt(3)/2"], [], []),
    (r"\frac{3\pi}{4}", ["3π/4"], [], []),
    (r"\sqrt{3+2\sqrt{2}}", [r"1+\sqrt{2}"], [], []),
    (r"\sqrt[3]{2+\sqrt{5}}", [r"\frac{1+\sqrt{5}}{2}"], [], []),
    (r"\cos\frac{\pi}{5}", [r"\frac{1+\sqrt{5}}{4}"], [], []),
    (r"\cosh x", [r"\frac{e^x+e^{-x}}{2}"], [], []),
    (r"\ln(x^2+1)", [r"\ln(1+x^2)"], [], []),
    (r"\ln(x^2)", [], [r"2\ln x"], []),
    ("262537412640768744", ["262537412640768744.0"], [r"e^{\pi\sqrt{163}}"], []),
    (r"\frac{1}{2}x", ["x/2"], [], []),
    ("x/2", ["1/2 x"], [], ["1/2x"]),
    (r"5 \text{ or } 6", ["6 or 5"], [], []),
    ("(x+1)(x-1)", ["x^2-1"], [], []),
    ("2(x+1)", ["2x+2"], [], []),
    ("[x+1](x-1)", ["x^2-1"], [], []),
    ("f(x)=2x+1", ["f(x)=1+2x"], [], []),
    (r"x \in [1,2)", ["[1,2)"], [], []),
    ("2x + 3", [r"\boxed{2x+3}."], [], []),
    ("60", ["5*12"], [], []),
    ("a^{m+n}", ["a^m a^n"], [], []),
    ("(a,b)", ["(a, b)"], ["(b,a)"], []),
    ("A", ["A", r"\text{A}", "(A)"], ["B"], []),
    (r"\sqrt{x^2+2x+1}", ["|x+1|"], [], []),
    (r"\frac{\ln 9}{\ln 3}", ["2"], [], []),
    (r"1-2\sin^2 x", [r"\cos 2x"], [], []),
    (r"\sec^2 x", [r"1+\tan^2 x"], [], []),
    ("2^{-3}", ["1/8"], [], []),
    ("8^{2/3}", ["4"], [], []),
    ("4^{-1/2}", ["0.5"], [], []),
    (r"\tan(45^\circ)", ["1"], [], []),
    ("1000000", ["10^6"], [], []),
    (r"3 \times 10^{8} m/s", ["300000 km/s"], [], []),
    (r"12 \text{ in}", ["1 ft"], [], []),
    ("5 kg", ["5000 g"], [], []),
    ("5m", ["5m", "m*5"], [], []),
    ("24h", ["24 h"], [], []),
    (r"\frac{a}{b}", ["a/b"], [], []),
    (r"\frac{x}{2}+\frac{y}{3}", [r"\frac{3x+2y}{6}"], [], []),
    ("x^3-1", ["(x-1)(x^2+x+1)"], ["(x-1)(x^2+x-1)"], []),
    (r"\frac{1-\cos x}{\sin x}", [r"\tan\frac{x}{2}"], [], []),
    (r"\log_3 81", ["4"], [], []),
    (r"\log_{4} 8", ["1.5"], [], []),
    (r"\frac{\pi^2}{6}", [r"\pi^2/6"], [], []),
    ("3+4i", ["4i+3"], ["3-4i", "3+4j"], []),
    (r"\frac{1}{3+4i}", [r"\frac{3-4i}{25}"], [], []),
    ("|3+4i|", ["5"], [], []),
    (r"\sqrt{2}+\sqrt{3}", [r"\sqrt{5+2\sqrt{6}}"], [], []),
    (r"\arcsin x+\arccos x", [r"\frac{\pi}{2}"], [], []),
    (r"e^{2\ln x}", ["x^2"], [], []),
    (r"\ln(xy)", [r"\ln(yx)"], [], []),
    ("x^{-2}", [r"\frac1{x^2}"], [], []),
    (r"\frac{x^{3/2}}{x}", [r"\sqrt{x}"], [], []),
    ("-2^2", ["-4"], ["4"], []),
    ("(-2)^2", ["4"], [], []),
    ("2^{3^2}", ["512"], [], []),
    ("2^3^2", ["512"], [], []),
    (r"10\%", [], ["10"], []),
    (r"12.5\%", ["1/8"], [], []),
    (r"5 \times 3", ["15"], [], []),
    (r"\frac{5}{3}\text{ hours}", ["100 minutes"], [], []),
    (r"2\pi\text{ cm}", [r"2\pi cm"], [], []),
    (r"3\sqrt{2} \text{ cm}", ["3sqrt(2) cm"], ["3sqrt(2) m"], []),
    (r"30^\circ", [r"\pi/6 rad"], [], []),
    ("x = 5", ["5"], [], []),
    ("(x,y)=(1,2)", ["(x,y)=(1,2)"], [], []),
    ("3x+2y=6", [r"y=3-\frac{3}{2}x"], [], []),
    ("x^2+y^2=25", ["y^2=25-x^2"], ["x^2+y^2=5"], []),
    (r"x \ge 2", [r"2 \leq x"], [], []),
    (r"x+y \ge 2", ["2x+2y-4 >= 0"], [], []),
    ("100,200", ["100200"], [], []),
    (r"\{1,234\}", [r"\{234, 1\}"], [], []),
    ("1/2 + 1/3", ["5/6"], [], []),
    (r"\frac{1}{2}+\frac{\sqrt{3}}{2}i", [r"\frac{1+i\sqrt3}{2}"], [], []),
    (r"\frac{-1\pm\sqrt{5}}{2}", [r"\frac{-1+\sqrt5}{2}, \frac{-1-\sqrt5}{2}"], [], []),
    (r"2k\pi", [r"2\pi k"], [], []),
    (r"\{x_1, x_2\}", [r"\{x_2,x_1\}"], [], []),
    (r"5\frac{3}{4}\text{ in}", ["5.75 inches"], [], []),
    ("6:30", ["6:30"], ["13:00", "3:15", "6:31"], []),
    ("1011_2", ["1011_{2}"], ["1011", "1011_3", "11"], []),
    (r"3\frac{x}{2}", ["3x/2"], [], []),
    ("5 um", ["5 µm"], [], []),
]


def judge(answer: str, reference: Any, **options: Any) -> Verdict:
    verdict = verify("math", answer, reference, deadline=20.0, **options)
    assert verdict.valid, (answer, reference, verdict)
    return verdict


@pytest.mark.parametrize(("reference", "right", "wrong", "malformed"), SHEET, ids=[row[0] for row in SHEET])
def test_the_sheet(reference: str, right: list[str], wrong: list[str], malformed: list[str]):
    for answer in [reference, *right]:
        assert judge(answer, reference).success, answer
    for answer in wrong:
        verdict = judge(answer, reference)
        assert (verdict.score, verdict.success, verdict.malformed) == (0.0, False, False), answer
    for answer in malformed:
        verdict = judge(answer, reference)
        assert (verdict.score, verdict.success, verdict.malformed) == (0.0, False, True), answer


@pytest.mark.parametrize(("reference", "right", "wrong", "malformed"), SHEET, ids=[row[0] for row in SHEET])
def test_the_two_sides_of_the_sheet_may_be_exchanged(
    reference: str, right: list[str], wrong: list[str], malformed: list[str]
):
    for answer, equal in [*((answer, True) for answer in right), *((answer, False) for answer in wrong)]:
        try:
            assert judge(reference, answer).success == equal, answer
        except InputError:
            assert not equal


@pytest.mark.parametrize(
    ("answer", "reference", "options", "right"),
    [
        ("5", "5 cm", {"units": "optional"}, True),
        ("5 cm", "5", {"units": "optional"}, True),
        ("5 m", "5 cm", {"units": "optional"}, False),
        ("6", "5 cm", {"units": "optional"}, False),
        ("x = 5", "5", {"assignment": False}, False),
        ("3, 2", "2, 3", {"ordered": False}, True),
        ("3, 3", "2, 3", {"ordered": False}, False),
        ("2", r"\log 100", {"log_base": 10}, True),
        ("2", r"\log 100", {"log_base": "e"}, False),
        (r"\ln 7", r"\log 7", {"log_base": "e"}, True),
        (r"(1, \log 8)", "(1, 3)", {"log_base": 2}, True),
        ("0.33", "1/3", {"decimals": 2}, True),
        ("1/3", "0.33", {"decimals": 2}, True),
        ("0.3", "0.33", {"decimals": 2}, False),
        ("0.34", "0.33", {"decimals": 2}, False),
        (r"\pi", "3.14", {"decimals": 2}, True),
        (r"\pi", "3.15", {"decimals": 2}, False),
        ("0.125", "0.13", {"decimals": 2}, True),
        ("0.125", "0.12", {"decimals": 2}, True),
        ("(0.33, 0.67)", r"(\frac13, \frac23)", {"decimals": 2}, True),
        ("3.1416", r"\pi", {"tolerance": 1e-4}, True),
        ("3.1416", r"\pi", {"tolerance": 1e-9}, False),
        ("101", "100", {"tolerance": 0.01}, True),
        ("101.1", "100", {"tolerance": 0.01}, False),
        ("101", "100", {"absolute_tolerance": 1}, True),
        ("99", "100", {"absolute_tolerance": Fraction(1, 2)}, False),
        ("1.01x", "x", {"tolerance": 0.1}, False),
        (r"\sqrt{-2}", "1.414", {"tolerance": 0.1}, False),
    ],
)
def test_options(answer: str, reference: str, options: dict[str, Any], right: bool):
    assert judge(answer, reference, **options).success == right


@pytest.mark.parametrize(
    "options",
    [
        {"units": "forgiven"},
        {"tolerance": 0.0},
        {"tolerance": float("nan")},
        {"tolerance": float("inf")},
        {"absolute_tolerance": -1},
        {"decimals": -1},
        {"decimals": 2.5},
        {"decimals": True},
        {"log_base": 1},
        {"log_base": "10"},
        {"deadline": 0},
        {"deadline": float("nan")},
    ],
)
def test_an_option_out_of_range_is_the_callers_error(options: dict[str, Any]):
    with pytest.raises(InputError):
        verify("math", "x", "y", **options)


@pytest.mark.parametrize(
    "reference",
    [
        *(
            "",
            " ",
            "expand(x)",
            "1/0",
            r"\frac{x}{y-y}",
            r"\sum_{k=1}^n k",
            r"\int_0^1 x\,dx",
            "1/2x",
            "5 5",
            "0.5.1",
        ),
        *(0.5, None, True, ["5"], b"5"),
    ],
)
def test_a_reference_that_cannot_be_read_is_the_callers_error(reference: Any):
    with pytest.raises(InputError, match="reference"):
        verify("math", "5", reference)


def test_the_reference_says_whether_order_counts():
    assert judge("2, 3", "2 and 3").success
    assert judge("3, 2", "2 and 3").success
    assert judge("-3, 2", "x=2 or x=-3").success
    assert not judge("2 and 3", "2, 3").success
    assert not judge("2 and 3", "2 or 3").success


def test_what_may_be_a_point_is_no_inequality():
    assert not judge("2 < x < 5", "(2, 5)").success
    assert judge("(2, 5)", "2 < x < 5").success


def test_a_reference_may_be_an_exact_number():
    assert verify("math", "0.75", Fraction(3, 4)).success
    assert verify("math", r"\frac{14}{2}", 7).success
    assert not verify("math", "0.74", Fraction(3, 4)).success


@pytest.mark.parametrize(
    ("answer", "reference", "word"),
    [
        ("5 kg", "5 cm", "unit"),
        ("5", "5 cm", "unit"),
        ("(1,2)", r"\{1,2\}", "form"),
        ("3 or 4", "3", "form"),
        ("6", "5", "not correct"),
        ("1/2x", "x/2", "write 1/(2x)"),
        ("so the result is five", "5", "words"),
        ("(1, 2", "(1,2)", "bracket"),
        ("1/0", "1", "zero"),
    ],
)
def test_feedback_says_what_is_amiss(answer: str, reference: str, word: str):
    assert word in judge(answer, reference).feedback


def test_feedback_never_holds_the_reference():
    for answer in ("7", "x", "(1,2)", "7 kg", "{7}", "y=7", "y<7", "seven", "", "1/0", r"\sin 7", "7)"):
        for reference in ("8642", "8642 cm", r"\{8642\}", "z=8642", "z<8642", "(0,8642]", r"\sin 8642"):
            assert "8642" not in judge(answer, reference).feedback
