"""Removal of marks around an answer."""

from __future__ import annotations

import pytest
from palaestra.rewards.answers import (
    bare,
)
from palaestra.rewards.answers.marks import without_closing


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (" \n", ""),
        ("1 2 3", "1 2 3"),
        ("**Answer:** `3 1`.", "3 1"),
        ("**Answer**: 3", "3"),
        ("### Final answer: 3", "3"),
        ("Hence, the shortest path is A, C, D.", "A, C, D"),
        ("**Answer:** **4 2**", "4 2"),
        ("\\[\\mathrm{UD}\\].", "UD"),
        ("Move B to table; put A on B", "Move B to table; put A on B"),
        ("answers: 3", "answers: 3"),
        ("no answer: 3", "no answer: 3"),
        ("**2**3**", "**2**3**"),
        ('"a" "b"', '"a" "b"'),
        ("**", "**"),
        ("(3 + 4) * (2 + 1)", "(3 + 4) * (2 + 1)"),
        ("`" * 9 + "1" + "`" * 9, "`" * 9 + "1" + "`" * 9),
    ],
)
def test_only_what_is_around_all_of_an_answer_is_taken_off(text: str, left: str):
    assert bare(text) == left


def test_so_many_layers_and_no_more_are_taken_off():
    assert bare("Answer: " * 8 + "1") == "1"
    assert bare("Answer: " * 9 + "1") == "Answer: 1"


def test_a_closing_remark_within_quotation_marks_belongs_to_the_answer():
    quoted = 'fill [9] "Mine broke. Thank you! Thank you, that was it!"'
    assert without_closing(quoted) == quoted
    assert without_closing('answer "Kim". Thank you! I hope that "Kim" helps.') == 'answer "Kim".'
