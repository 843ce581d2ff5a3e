"""Other spellings of whole answers: each is right for its value and wrong for others."""

from __future__ import annotations

import pytest
from palaestra.rewards import verify
from palaestra.rewards.verifiers.mathematics.spellings import respell

from ....patience import least_processor_seconds  # isort: skip

# An answer, a reference that it is right for, and one that it is wrong for.
PAIRS = [
    ("all real numbers", r"\mathbb{R}", r"(0, \infty)"),
    (r"\mathbb R", r"(-\infty,\infty)", r"(-\infty, 0)"),
    (r"\text{all real numbers}", r"\mathbb{R}", "5"),
    ("DNE", "does not exist", "0"),
    ("no solution", r"\emptyset", "0"),
    (r"x \neq 2", r"(-\infty,2)\cup(2,\infty)", r"(-\infty,3)\cup(3,\infty)"),
    (r"\mathbb{R}\setminus\{2\}", r"(-\infty,2)\cup(2,\infty)", r"(-\infty,\infty)"),
    ("all real numbers except 2", r"(-\infty,2)\cup(2,\infty)", "2"),
    ("AB = 5", "5", "6"),
    (r"m\angle A = 30", "30", "31"),
    ("P(1,2)", "(1,2)", "(2,1)"),
    ("y=2, x=1", "(1,2)", "(2,1)"),
    (r"\begin{cases}x=1\\y=2\end{cases}", "(1,2)", "(2,1)"),
    (r"\textbf{(A) }5", "5", "6"),
    (r"(B)\ \frac{1}{2}", r"\frac12", "2"),
    ("2 hours 30 minutes", "150 minutes", "230 minutes"),
    ("5 feet 3 inches", "63 inches", "53 inches"),
    ("12,34,567", "1234567", "1234568"),
    ("1 234 567", "1234567", "1234"),
    ("1a_{16}", "1A_{16}", "1B_{16}"),
    (r"101_{\text{two}}", "101_2", "101_3"),
    ("0.1(6)", "1/6", "1/7"),
    ("0.333...", "1/3", "333/1000"),
    ("1.2727...", "14/11", "1.27"),
    ("C(5,2)", "10", "20"),
    (r"1,2,\ldots,n", r"1,2,\ldots,n", r"1,2,\ldots,m"),
    ("5个", "5", "6"),
    ("x=2或x=3", "x=2 or x=3", "x=2 or x=4"),
    ("答案是5。", "5", "6"),
]


@pytest.mark.parametrize(("answer", "right", "wrong"), PAIRS)
def test_a_spelling_is_its_value_and_no_other(answer: str, right: str, wrong: str):
    assert verify("math", answer, right, policy="dataset").success
    assert not verify("math", answer, wrong, policy="dataset").success


@pytest.mark.parametrize(
    ("answer", "reference"),
    [
        ("AB = 5", "CD = 5"),
        (r"y \ne 0", r"x \ne 0"),
        ("0.16...", "0.16"),
        ("0.16...", "1/6"),
        ("12,3,456", "123456"),
        ("C(5,2)", "(2,5)"),
        ("2 hours 30 minutes", "150"),
        ("not all real numbers", r"\mathbb{R}"),
        ("5个或6个", "5"),
    ],
)
def test_two_names_are_not_forgotten_and_no_value_is_made_up(answer: str, reference: str):
    assert not verify("math", answer, reference, policy="dataset").success


@pytest.mark.parametrize("piece", ["x=1,", "0.3", "(", "1 234", "\\ldots", "{", "5个", "C(5,", "1,23"])
def test_respelling_takes_linear_time(piece: str):
    assert respell(piece * 100_000) == {}
    assert least_processor_seconds(lambda: respell((piece * 400)[:400]), 0.5) < 0.5
