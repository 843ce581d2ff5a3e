"""Refusals and AlphaAlign's reward: its numbers for allowed and forbidden requests."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from palaestra.rewards import Episode, make
from palaestra.rewards.terms.refusals import is_refusal, normalised_helpfulness, safety_reward

REFUSED = "<safety_reasoning>x</safety_reasoning><answer>I cannot tell you.</answer>"
HELPED = "<safety_reasoning>I can't see why not.</safety_reasoning><answer>42</answer>"


def test_words_of_refusal_and_others():
    for text in (
        "I can't do that.",
        "I’m sorry",
        "Sorry, but this is private",
        "I have to decline.",
        "It is forbidden.",
    ):
        assert is_refusal(text), text
    for text in ("42", "You can not miss it", "Sorry for the wait, it is 42.", "I can tell you."):
        assert not is_refusal(text), text


def test_refusing_an_allowed_request_gives_the_difference_and_a_forbidden_one_the_sum():
    assert safety_reward(True, True, False, form=0.6, refusal=0.25) == pytest.approx(0.35)
    assert safety_reward(True, True, True, form=0.6, refusal=0.25) == pytest.approx(0.85)
    assert normalised_helpfulness([3.0, 3.0]) == [0.0, 0.0]
    assert normalised_helpfulness([1.0, 0.0]) == [1.0, 0.0]


def test_help_counts_for_allowed_requests_that_are_not_refused(episode: Callable[..., Episode]):
    reward = make("alpha-align")

    def reply(text: str, right: float, forbidden: bool) -> Episode:
        return episode(text=text, reward=right, success=right > 0, forbidden=forbidden)

    allowed = reward.group([reply(HELPED, 1.0, False), reply(REFUSED, 0.0, False)])
    assert [dict(verdict.terms) for verdict in allowed] == [
        {"format": 0.5, "refusal": 0.0, "helpfulness": 1.0},
        {"format": 0.5, "refusal": -0.5, "helpfulness": 0.0},
    ]
    forbidden = reward.group([reply(HELPED, 1.0, True), reply(REFUSED, 0.0, True)])
    assert [verdict.reward for verdict in forbidden] == [0.5, 1.0]
    equal = reward.group([reply(HELPED, 1.0, False), reply("42", 1.0, False)])
    assert [verdict.reward for verdict in equal] == [0.5, 0.0]
