"""Answer formats: strict ones, and answers written in them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from palaestra.errors import InputError
from palaestra.rewards.answers import (
    FORMATS,
    check_format,
    extract,
    present,
)

untimed = settings(deadline=None)


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
    # A line of strokes alone is a rule.
    st.text(alphabet="0123456789+-/* x", min_size=1).filter(lambda text: any(map(str.isalnum, text))),
    st.sampled_from(FORMATS),
    st.text(max_size=30),
)
def test_what_is_presented_is_read_back(answer: str, answer_format: str, before: str):
    assert extract(present(answer, answer_format), answer_format) == answer.strip()
    if answer_format in ("boxed", "tag"):
        assert extract(before + present(answer, answer_format), answer_format) == answer.strip()


def test_unknown_format_names_the_nearest():
    with pytest.raises(InputError, match="'boxed'"):
        check_format("box")
