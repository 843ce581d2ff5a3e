"""Verdict tags: exactly one label in the last characters."""

from __future__ import annotations

from typing import Any

import pytest
from palaestra.errors import InputError
from palaestra.rewards import verify


def test_the_verdict_at_the_end_counts():
    assert verify("verdict", "A is better. <answer>[[A]]</answer>", "A").success
    wrong = verify("verdict", "<answer>[[B]]</answer>", "A")
    assert (wrong.score, wrong.malformed) == (0.0, False)


def test_both_verdicts_are_none():
    assert verify("verdict", "[[A]] [[B]]", "A").malformed
    assert verify("verdict", "[[A]] [[B]]", "B").malformed


def test_only_the_last_eighty_characters_count():
    tag = "[[A]]"
    assert verify("verdict", tag + " " * 75, "A").success
    assert verify("verdict", tag + " " * 76, "A").malformed
    # an earlier mention of the other one is no second verdict
    assert verify("verdict", "[[B]]" + " " * 90 + tag, "A").success


def test_swapping_both_responses_and_the_label_changes_nothing():
    swap = str.maketrans("AB", "BA")
    for text in ("[[A]]", "[[B]]", "[[A]] [[B]]", "none", "<answer>[[B]]</answer>"):
        assert verify("verdict", text, "A").score == verify("verdict", text.translate(swap), "B").score


def test_the_surrounding_tag_can_be_required():
    assert verify("verdict", "[[A]]", "A", tagged=True).malformed
    assert verify("verdict", "<answer>[[A]]</answer>", "A", tagged=True).success
    assert verify("verdict", "[[B]] <answer>[[A]]</answer>", "A", tagged=True).malformed


def test_a_constant_verdict_is_right_on_half_of_a_balanced_bench():
    labels = ("correct", "incorrect")
    scores = [verify("verdict", "[[correct]]", truth, labels=labels).score for truth in labels * 50]
    assert sum(scores) / len(scores) == 0.5


@pytest.mark.parametrize("text", ["", "A", "[A]", "[[ A ]]", "[[a]]", "[[C]]", "[[А]]", "x" * 10**6])
def test_what_is_no_verdict_is_malformed(text: str):
    assert verify("verdict", text, "A").malformed


@pytest.mark.parametrize(
    ("reference", "options"),
    [("C", {}), (None, {}), ("A", {"labels": "AB"}), ("A", {"labels": ("A",)}), ("A", {"window": 0})],
)
def test_arguments_that_cannot_be_used_are_refused(reference: Any, options: Any):
    with pytest.raises(InputError):
        verify("verdict", "[[A]]", reference, **options)
