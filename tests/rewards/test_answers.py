from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from palaestra.errors import InputError
from palaestra.rewards.answers import FORMATS, bare, checked_format, extract, present

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


@pytest.mark.parametrize(
    ("answer_format", "text", "answer"),
    [
        ("boxed", "\\boxed{3}\n4", "3"),
        ("boxed", "3", None),
        ("boxed", "<answer>3</answer>", None),
        ("tag", "<answer>3</answer>\n4", "3"),
        ("tag", "3", None),
        ("tag", "\\boxed{3}", None),
        ("tag", "</answer><answer>", None),
        ("last_line", "\\boxed{3}", "\\boxed{3}"),
        ("last_line", "3\n4", "4"),
        ("whole", " 3\n4 ", "3\n4"),
        ("whole", "  ", None),
    ],
)
def test_a_strict_format_takes_only_its_own(answer_format: str, text: str, answer: str | None):
    assert extract(text, answer_format) == answer


@untimed
@given(
    st.text(alphabet="0123456789+-/* x", min_size=1).filter(str.strip), st.sampled_from(FORMATS), st.text(max_size=30)
)
def test_what_is_presented_is_read_back(answer: str, answer_format: str, before: str):
    assert extract(present(answer, answer_format), answer_format) == answer.strip()
    if answer_format in ("boxed", "tag"):
        assert extract(before + present(answer, answer_format), answer_format) == answer.strip()


@untimed
@given(st.text(alphabet="\\boxed{}<answer>/ \n1", max_size=200), st.sampled_from(FORMATS))
def test_any_text_is_read_without_failing(text: str, answer_format: str):
    answer = extract(text, answer_format)
    assert answer is None or (answer and answer in text)


@pytest.mark.parametrize("text", ["\\boxed{" * 100_000, "}" * 500_000 + "\\boxed{", "<answer>" * 100_000 + "</answer>"])
def test_huge_texts_are_read_in_one_pass(text: str):
    for answer_format in FORMATS:
        extract(text, answer_format)


def test_unknown_format_names_the_nearest():
    with pytest.raises(InputError, match="'boxed'"):
        checked_format("box")


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


@pytest.mark.parametrize("text", ["```\n42\n```", "so\n\\[\n42\n\\]\n", "$$\n42\n$$", "42\n```\n\n~~~\n"])
def test_the_end_of_a_block_is_no_last_line(text: str):
    assert extract(text) == extract(text, "last_line") == "42"


@pytest.mark.parametrize("text", ["```", "```\n\n", "\\]\n$$"])
def test_blocks_without_content_have_no_answer(text: str):
    assert extract(text) is None
