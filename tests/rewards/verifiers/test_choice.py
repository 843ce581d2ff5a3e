"""Multiple choice: which texts name one choice, and which name none or several."""

from __future__ import annotations

from typing import Any

import pytest
from palaestra.errors import InputError
from palaestra.rewards import verify

OPTIONS = {"A": "4 cm", "B": "5 cm", "C": "Both", "D": "Both"}


@pytest.mark.parametrize(
    "answer",
    [
        *(
            "B",
            "b",
            " B\n",
            "(B)",
            "b)",
            "B.",
            "B:",
            "[B]",
            "**B**",
            "$B$",
            r"\text{B}",
            r"\boxed{B}",
            r"\(B\)",
            "(B).",
        ),
        *(r"$\boxed{\text{B}}$", "Answer: B", "answer: (b)", "Final answer: B.", "Option B", "`B`", "**B.**"),
    ],
)
def test_a_letter_alone_is_a_choice(answer: str):
    assert verify("choice", answer, "B").success
    assert verify("choice", answer, "B", options=OPTIONS).success
    wrong = verify("choice", answer, "C")
    assert (wrong.score, wrong.malformed) == (0.0, False)


@pytest.mark.parametrize(
    "answer",
    [
        *("", " ", "A B", "A, B", "A and B", "B or C", "AB", "BB", "Bob", "The answer is B", "not B", "(B", "B?", "2"),
        *("\u0412", "\u24b7", "[[B]]]", "B" * 100_000, "(" * 100_000, "B) 5 cm", "I think B", "B\u200b", "é"),
    ],
)
def test_anything_else_is_malformed(answer: str):
    assert verify("choice", answer, "B").malformed


def test_the_options_text_counts_where_options_are_given():
    for answer in ("5 cm", "5  CM", "B) 5 cm", "(B) 5 cm", "B. 5 cm", "b: 5 cm", "**5 cm**", "Answer: 5 cm"):
        assert verify("choice", answer, "B", options=OPTIONS).success
    for answer in ("4 cm", "A) 4 cm"):
        verdict = verify("choice", answer, "B", options=OPTIONS)
        assert (verdict.score, verdict.malformed) == (0.0, False)


def test_a_letter_with_another_options_text_names_none():
    assert verify("choice", "B) 4 cm", "B", options=OPTIONS).malformed
    assert verify("choice", "B) 4 cm", "A", options=OPTIONS).malformed


def test_a_text_that_two_options_share_names_none():
    assert verify("choice", "Both", "C", options=OPTIONS).malformed
    assert verify("choice", "C) Both", "C", options=OPTIONS).success


def test_a_letter_is_that_choice_even_if_another_option_reads_so():
    assert verify("choice", "B", "B", options={"A": "B", "B": "A"}).success
    assert not verify("choice", "B", "A", options={"A": "B", "B": "A"}).success


def test_options_in_order_are_lettered_from_a():
    assert verify("choice", "5 cm", "B", options=["4 cm", "5 cm"]).success


@pytest.mark.parametrize(
    ("reference", "options"),
    [("BB", None), ("", None), (2, None), ("E", OPTIONS), ("A", {"A": 3}), ("A", "AB"), ("A", ["x"] * 27)],
)
def test_a_reference_that_cannot_be_used_is_refused(reference: Any, options: Any):
    with pytest.raises(InputError, match=r"choice|reference"):
        verify("choice", "B", reference, options=options)


@pytest.mark.parametrize("reference", ["(B)", "B.", "b)", r"\text{(B)}", "$B$"])
def test_a_reference_may_be_written_as_an_answer_may(reference: str):
    assert verify("choice", "B", reference, options=OPTIONS).success
    assert not verify("choice", "A", reference, options=OPTIONS).success


def test_where_several_are_right_an_answer_names_all_of_them():
    for reference in ("A, C", "(A) and (C)", "AC", "C; A"):
        for answer in ("A, C", "C and A", "AC", "(A), (C)", r"\boxed{A, C}", "Answer: A, C"):
            assert verify("choice", answer, reference).success, (answer, reference)
        for answer in ("A", "C", "A, B", "A, B, C", "ABC"):
            verdict = verify("choice", answer, reference)
            assert (verdict.score, verdict.malformed) == (0.0, False), (answer, reference)
        for answer in ("A or C", "CA", "A, A", "not A, C", "A, C" + ", A" * 40_000):
            assert verify("choice", answer, reference).malformed, answer[:20]
