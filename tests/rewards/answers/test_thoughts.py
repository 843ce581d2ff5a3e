"""Removal of thoughts before the answer."""

from __future__ import annotations

import pytest
from palaestra.errors import InputError
from palaestra.rewards.answers import (
    check_thoughts,
    extract,
)


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("<think>Is it 3?</think>4", "4"),
        ("<think>Is it \\boxed{3}?</think>\n\nThe answer is 4.", "The answer is 4."),
        ("hm</think> 4", "4"),
        ("<think>a</think>3<think>b</think>4", "4"),
        ("<thinking>3</thinking>\n4", "4"),
        ("<think>It is 4", None),
        ("4\n<think>or", None),
        ("<think>a</think>4<think>", None),
        ("a < b and [4]", "a < b and [4]"),
    ],
)
def test_only_what_follows_the_last_thought_is_read(text: str, left: str | None):
    assert extract(text) == left


def test_tags_of_thoughts_can_be_named():
    assert extract("[THINK]3[/THINK]4", thoughts=["[THINK]"]) == "4"
    assert extract("[THINK]3", thoughts=["[THINK]"]) is None
    assert extract("<reasoning>3</reasoning>4", thoughts=["reasoning"]) == "4"
    for wrong in ("think", ["<think>"], [""], [3]):
        with pytest.raises(InputError, match="tag names"):
            check_thoughts(wrong)  # type: ignore[arg-type]
