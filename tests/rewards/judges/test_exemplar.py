"""Levels of a response beside a stored exemplar."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from palaestra.errors import InputError
from palaestra.rewards import Episode, Step, make
from palaestra.rewards.judges import Judge, Judgement


def reply(text: str, exemplar: Any) -> Episode:
    return Episode("t", {}, (Step("say", text, 0.0, {}, 1),), False, 0.0, True, False, None, {"reference": exemplar})


class PrefersFirst(Judge):
    """Scores by length, and the first response 0.3 higher."""

    name = "prefers-first"

    def score(self, principle: str, prompt: str, responses: Sequence[str], reference: str | None = None) -> Judgement:
        return Judgement(tuple(min(1.0, len(text) / 20 + 0.3 * (not n)) for n, text in enumerate(responses)))


class Fails(Judge):
    """Answers nothing."""

    name = "fails"

    def score(self, principle: str, prompt: str, responses: Sequence[str], reference: str | None = None) -> Judgement:
        return Judgement.failed("asleep")


def test_the_exemplar_itself_is_similar_and_swapping_the_two_swaps_the_levels():
    reward = make("exemplar", judge=PrefersFirst())
    texts = ("short", "a longer one")
    assert reward(reply(texts[0], texts[0])).reward == 0.5
    assert reward(reply(texts[1], texts[0])).reward == 1.0
    assert reward(reply(texts[0], texts[1])).reward == 0.0
    wide = make("exemplar", judge=PrefersFirst(), margin=0.4, levels=(-1.0, 0.0, 2.0))
    assert wide(reply(texts[1], texts[0])).reward == 0.0
    assert wide.bounds == (-1.0, 2.0)


def test_another_form_gets_the_lowest_level_unjudged_and_a_failed_judge_no_level():
    reward = make("exemplar", principle="long", tags=["think", "answer"])
    good = "<think>x</think><answer>a very good and long one</answer>"
    assert [v.reward for v in reward.group([reply(good, "short"), reply("a very good and long one", "short")])] == [
        1,
        0,
    ]
    assert not make("exemplar", judge=Fails())(reply("a", "b")).valid
    with pytest.raises(InputError, match="exemplar must be text"):
        reward.values([reply(good, 7)])
    with pytest.raises(InputError, match="three values"):
        make("exemplar", levels=(1.0, 0.0))
