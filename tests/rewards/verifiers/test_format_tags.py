"""Tags: order, number, closing, what stands outside, and the three ways to score a fault."""

from __future__ import annotations

from typing import Any

import pytest
from palaestra.errors import InputError
from palaestra.rewards import verify
from palaestra.rewards.verifiers.format_tags import METHODS, pair_score

TAGS = ["think", "answer"]
GOOD = "<think>a</think>\n<answer>b</answer>"


@pytest.mark.parametrize("method", METHODS)
def test_a_text_without_fault_scores_one(method: str):
    verdict = verify("format", f" {GOOD}\n", TAGS, method=method)
    assert (verdict.score, verdict.success) == (1.0, True)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "<think> is missing."),
        ("<think>a</think>", "<answer> is missing."),
        ("<think>a<answer>b</answer>", "</think> is missing."),
        (GOOD + "<answer>c</answer>", "<answer> occurs 2 times instead of once."),
        ("</think>a<think><answer>b</answer>", "</think> comes before <think>."),
        ("<answer>b</answer><think>a</think>", "<answer> comes before the tags that belong before it."),
        ("<think>a<answer>b</answer></think>", "<answer> comes before the tags that belong before it."),
        ("<think>a<answer>b</think></answer>", "<answer> comes before the tags that belong before it."),
        ("x" + GOOD, "There is text outside the tags, before <think>."),
        ("<think>a</think>x<answer>b</answer>", "There is text outside the tags, before <answer>."),
        (GOOD + "x", "There is text outside the tags, after </answer>."),
        ("<Think>a</Think><answer>b</answer>", "<think> is missing."),
        ("<think >a</think><answer>b</answer>", "<think> is missing."),
    ],
)
def test_the_first_fault_is_named(text: str, fault: str):
    verdict = verify("format", text, TAGS)
    assert (verdict.score, verdict.success, verdict.malformed, verdict.feedback) == (0.0, False, True, fault)


def test_text_outside_and_blanks_inside_are_options():
    assert verify("format", "x" + GOOD, TAGS, outside=True).success
    blank = "<think> </think><answer>b</answer>"
    assert verify("format", blank, TAGS).success
    assert not verify("format", blank, TAGS, blank=False).success


@pytest.mark.parametrize(
    ("text", "score"),
    [
        ("<think>a</think>", 1 / 2),
        ("<answer>b</answer>", 1 / 2),
        ("<answer>b</answer><think>a</think>", 1 / 2),
        ("nothing", 0.0),
        (GOOD + GOOD, 0.0),
        # both tags are right, the text outside is not: 2 of 3
        (GOOD + "x", 2 / 3),
    ],
)
def test_the_fraction_of_tags_that_are_right(text: str, score: float):
    verdict = verify("format", text, TAGS, method="fraction")
    assert verdict.score == pytest.approx(score)
    assert not verdict.success


@pytest.mark.parametrize(
    ("text", "score"),
    [
        ("<q>a</q>", 1.0),
        ("<q>a</q><q>b</q>", 0.5),
        ("<q>a", 0.0),
        ("a</q>", 0.0),
        ("<q>a</q><q>", 0.0),
        ("nothing", 0.0),
        ("", 0.0),
    ],
)
def test_tag_pairs_by_number_as_in_multi_agent_evolve(text: str, score: float):
    assert pair_score(text, ["q"]) == score
    assert verify("format", text, ["q"], method="pairs").score == score


def test_pairs_do_not_look_at_the_order_and_are_no_success_then():
    verdict = verify("format", "<answer>b</answer><think>a</think>", TAGS, method="pairs")
    assert (verdict.score, verdict.success) == (1.0, False)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("text", ["<think>" * 100_000, "<" * 1_000_000, "<think></think>" * 100_000, "\ud800\0"])
def test_long_and_strange_texts_get_a_verdict(text: str, method: str):
    verdict = verify("format", text, TAGS, method=method)
    assert not verdict.success
    assert len(verdict.feedback) < 200


@pytest.mark.parametrize("reference", [[], "think", ["a", "a"], ["<a>"], [1], ["a b"], None])
def test_a_reference_that_is_no_list_of_tags_is_refused(reference: Any):
    with pytest.raises(InputError, match=r"reference"):
        verify("format", "x", reference)


def test_an_unknown_method_is_refused():
    with pytest.raises(InputError, match="'pairs'"):
        verify("format", "x", ["a"], method="pair")
