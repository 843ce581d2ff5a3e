from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from palaestra.errors import InputError
from palaestra.rewards import Episode, make
from palaestra.rewards.algebra.sums import Sum, Weighted
from palaestra.rewards.terms.format import has_balanced_pairs, has_one_pair, tags_in_order

Maker = Callable[..., Episode]


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("<think>a</think><answer>b</answer>", True),
        ("\n<think>\na</think>\n <answer>b</answer>\n", True),
        ("<think></think><answer></answer>", True),
        ("", False),
        ("<think>a</think>", False),
        ("<answer>b</answer><think>a</think>", False),
        ("<think>a<answer>b</answer></think>", False),
        ("<think>a</think> so <answer>b</answer>", False),
        ("<think>a</think><answer>b</answer> done", False),
        ("<think>a</think><answer>b</answer><answer>c</answer>", False),
        ("<think>a<think></think><answer>b</answer>", False),
        ("</think>a<think><answer>b</answer>", False),
        ("<THINK>a</THINK><answer>b</answer>", False),
    ],
)
def test_the_form_is_each_tag_once_in_order_and_nothing_outside(text: str, right: bool):
    assert tags_in_order(text) is right


def test_a_prompt_may_have_opened_the_first_tag():
    assert tags_in_order("a</think><answer>b</answer>", opened=True)
    assert not tags_in_order("<think>a</think><answer>b</answer>", opened=True)


def test_a_pair_closes_after_it_opens():
    assert has_one_pair("x<think>y</think>z", "think")
    assert not has_one_pair("x</think>y<think>z", "think")


@pytest.mark.parametrize(
    ("text", "balanced"),
    [("", True), ("<a>1</a><a>2</a>", True), ("<a><a></a></a>", False), ("</a><a>", False), ("<a>", False)],
)
def test_balanced_tags_close_before_the_next_opens(text: str, balanced: bool):
    assert has_balanced_pairs(text, "a") is balanced


def test_megabytes_of_tags_are_read_in_one_pass():
    assert has_balanced_pairs("<a></a>" * 200_000, "a")
    assert not tags_in_order("<think>" * 200_000)


def test_the_term_is_the_reward_or_the_penalty(episode: Maker):
    reward = make("format", reward=0.5, penalty=-1.0)
    assert reward(episode(text="<think>a</think><answer>b</answer>")).reward == 0.5
    assert reward(episode(text="b")).reward == -1.0


def test_the_partial_reward_is_the_share_of_pairs_and_never_full_for_a_wrong_order(episode: Maker):
    reward = make("format", partial=True)
    assert reward(episode(text="<think>a</think>")).reward == 0.5
    assert reward(episode(text="<answer>b</answer><think>a</think>")).reward == 0.75
    assert reward(episode(text="<think>a</think><answer>b</answer>")).reward == 1.0


@pytest.mark.parametrize(
    "wrong", [{"tags": "think"}, {"tags": []}, {"tags": ["<a>"]}, {"tags": ["a", "a"]}, {"penalty": 2.0}]
)
def test_wrong_arguments_are_refused(wrong: dict[str, Any]):
    with pytest.raises(InputError):
        make("format", **wrong)


def test_the_tags_are_those_of_the_system_text_and_half_of_the_reward_is_the_format(episode: Maker):
    """pPE's reward: 0.5 for accuracy and 0.5 for exactly one <tag> block followed by one <answer> block."""
    whole = Sum(
        right=Weighted(child=make("verifiable", scale=1.0), weight=0.5),
        form=Weighted(child=make("asked-format"), weight=0.5),
    )
    asked = {"system_text": "Write a plan in <plan> </plan>. Then the answer in <answer> </answer>."}
    rewards = {
        response: [whole(episode(won, response, **asked)).reward for won in (True, False)]
        for response in (
            "<plan>a</plan><answer>b</answer>",
            "<think>a</think><answer>b</answer>",
            "<plan>a</plan><plan>b</plan><answer>c</answer>",
            "So: <plan>a</plan><answer>b</answer>",
            "<plan>a</plan><answer>b",
        )
    }
    first, *others = rewards.values()
    assert first == [1.0, 0.5]
    assert others == [[0.5, 0.0]] * 4
    form, r1 = make("asked-format"), "<think>a</think><answer>b</answer>"
    assert form(episode(text=r1, system_text="")).reward == 1.0  # a text without tags asks for R1's
