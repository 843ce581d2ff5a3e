"""Extraction of the answer from replies in every format, and its readings."""

from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from palaestra.errors import InputError
from palaestra.rewards import verify
from palaestra.rewards.answers import (
    FORMATS,
    Form,
    extract,
    readings,
)
from palaestra.rewards.answers.numbers import find_units
from palaestra.rewards.answers.readings import MOST_READINGS

untimed = settings(deadline=None)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("42", "42"),
        ("so it is\n 42 \n\n", "42"),
        ("first 41\r\n42", "42"),
        ("I think \\boxed{42} is it", "42"),
        ("\\boxed{\\frac{1}{2}}", "\\frac{1}{2}"),
        ("\\boxed{1} no, \\boxed{2}", "2"),
        ("<answer>1</answer> no, <answer> 2 </answer>.", "2"),
        ("\\boxed{1} then <answer>2</answer>", "2"),
        ("<answer>1</answer> then \\boxed{2} so", "2"),
        ("<answer><answer>2</answer>", "2"),
        ("<answer>2\n3</answer>", "2\n3"),
        ("\\boxed{1}}} \\boxed{2", "1"),
        ("\\boxed{2", "\\boxed{2"),
        ("<answer>2", "<answer>2"),
    ],
)
def test_any_takes_the_last_box_or_tag_and_else_the_last_line(text: str, answer: str):
    assert extract(text, "any") == answer


@pytest.mark.parametrize("text", ["", " ", "\n\n", "\\boxed{}", "<answer> </answer>"])
def test_nothing_is_found_in_nothing(text: str):
    assert extract(text, "any") is None


@untimed
@given(st.text(alphabet="\\boxed{}<answer>/ \n1", max_size=200), st.sampled_from(FORMATS))
def test_any_text_is_read_without_failing(text: str, answer_format: str):
    answer = extract(text, answer_format)
    assert answer is None or (answer and answer in text)


@pytest.mark.parametrize("text", ["\\boxed{" * 100_000, "}" * 500_000 + "\\boxed{", "<answer>" * 100_000 + "</answer>"])
def test_huge_texts_are_read_in_one_pass(text: str):
    for answer_format in FORMATS:
        extract(text, answer_format)


@pytest.mark.parametrize("text", ["```\n42\n```", "so\n\\[\n42\n\\]\n", "$$\n42\n$$", "42\n```\n\n~~~\n"])
def test_the_end_of_a_block_is_no_last_line(text: str):
    assert extract(text) == extract(text, "last_line") == "42"


@pytest.mark.parametrize("text", ["```", "```\n\n", "\\]\n$$"])
def test_blocks_without_content_have_no_answer(text: str):
    assert extract(text) is None


@pytest.mark.parametrize(
    ("form", "text", "first"),
    [
        ("values", "$x = \\boxed{1}$ and $y = \\boxed{2}$", "1, 2"),
        ("values", "\\boxed{1}, \\boxed{2} or \\boxed{3}.", "1, 2, 3"),
        ("values", "First \\boxed{1}. Later it is \\boxed{2}", "2"),
        ("line", "\\boxed{2}, \\boxed{2}", "2"),
        ("lines", "It is\n\n1 2\n3 4", "1 2\n3 4"),
        ("lines", "```\n1 2\n3 4\n```\nLet me know!", "1 2\n3 4"),
        ("lines", "Here it is:\n| 1 | 2 |\n|---|---|\n| 3 | 4 |", "Here it is:\n| 1 | 2 |\n|---|---|\n| 3 | 4 |"),
        ("lines", "1. A C\n2. B C", "A C\nB C"),
        ("line", "The answer is 4. I hope this helps! \U0001f600", "4"),
        ("line", "**4**\n\n---\nFeel free to ask more.", "4"),
        ("move", "I choose column 4.", "I choose column 4"),
        ("program", "Well:\n```python\nx = 1\n```", "Well:\n```python\nx = 1\n```"),
    ],
)
def test_the_plainest_reading_comes_first(form: Form, text: str, first: str):
    assert next(readings(text, form=form)) == first


@pytest.mark.parametrize(
    ("form", "text", "among"),
    [
        ("move", "I choose column 4, because it blocks.", "4"),
        ("move", "My next guess is CRANE!", "crane"),
        ("move", "Let's pull arm 2 next.", "2"),
        ("move", "Okay, I'll go with **left**.", "left"),
        ("lines", "Here it is:\n| 1 | 2 |\n|---|---|\n| 3 | 4 |", "1 2\n3 4"),
        ("values", "x = 1\ny = 24", "x = 1, y = 24"),
        ("line", "So the area is $9\\pi$.", "9\\pi"),
        ("line", "Therefore, f'(x) = 2x", "2x"),
        ("line", "Thus, Jasmine has 13 stickers at the end.", "13 stickers at the end"),
        ("line", "1. 9 * $2 = $18.\n2. [Final solution] Thus, Janet makes $18 a day. #### 18 ", "18"),
        ("line", "Answer: 5\n\nThat follows as 2 and 3 make it.", "5"),
        ("line", "### Final answer\n\n5\n\nThat follows as 2 and 3 make it.", "5"),
    ],
)
def test_what_words_say_is_among_the_readings(form: Form, text: str, among: str):
    assert among in list(readings(text, form=form))


@pytest.mark.parametrize("form", get_args(Form))
@pytest.mark.parametrize(
    "piece",
    ["\\boxed{1}, ", "<think></think>", "answer: ", "I go ", "1. A\n", "|1|\n", "**a** ", "```\na\n", "so, ", "is "],
)
def test_long_replies_are_read_in_linear_time(form: Form, piece: str):
    for text in (piece * 20_000, piece * 20_000 + "4"):
        assert len(list(readings(text, form=form))) <= MOST_READINGS


def test_verify_reads_replies_as_environments_do():
    assert not verify("math", "So the answer is 1/2.", "1/2").success
    assert verify("math", "So the answer is 1/2.", "1/2", extract="any").success
    assert verify("math", "<think>hmm</think>2", "2", extract="any").success
    assert not verify("math", "<think>2", "2", extract="any").success
    assert verify("math", "Thus $x=\\boxed{2}$ or $x=\\boxed{3}$", "2,3", extract="any").success
    assert not verify("math", "So it is 2.", "2", extract="boxed").success
    assert verify("text", "My answer is **Paris**. Let me know!", "Paris", extract="any").success
    with pytest.raises(InputError, match="'boxed'"):
        verify("math", "2", "2", extract="box")


@pytest.mark.parametrize(
    ("reply", "success"),
    [
        ("Thus, Jasmine has 13 stickers at the end.", True),
        ("So it will take her 13 stickers to fill the page.", True),
        ("In the end there remain 13.", True),
        ("Thus, Jasmine has roughly 13 stickers.", False),
        ("She may have 13 stickers at the end.", False),
        ("She has 13 stickers at the end or none.", False),
        ("She has at least 13 stickers.", False),
        ("She has 13 stickers at most.", False),
        ("She has 13 sheets at the end.", False),
        ("She has 13 stickers, and Tom has 12.", False),
        ("This follows from step 13.", False),
        ("It is not true that she has 13 stickers.", False),
    ],
)
def test_the_only_number_of_the_last_sentence_is_what_it_states(reply: str, success: bool):
    units = find_units("How many stickers does Jasmine have?")
    assert verify("integer", f"8 + 5 makes it.\n{reply}", 13, extract="any", units=units).success is success


@pytest.mark.parametrize("reply", ["The answer is not #### 42", "#### 41 or #### 42", "It might be #### 42"])
def test_what_is_denied_before_the_sign_is_no_answer(reply: str):
    assert not verify("integer", reply, 42, extract="any").success
