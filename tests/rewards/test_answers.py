from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from palaestra.errors import InputError
from palaestra.rewards.answers import FORMATS, checked_format, extract, present

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
