from __future__ import annotations

from collections.abc import Callable

import pytest
from palaestra.errors import InputError
from palaestra.rewards import Episode, make
from palaestra.rewards.terms.shortest_correct import difficulty_factor

Maker = Callable[..., Episode]


FORM = "<observe>o</observe><think>t</think><answer>a</answer>"


def test_exactly_one_response_gets_the_bonus_the_first_on_ties(episode: Maker):
    group = [episode(False, tokens=101), episode(tokens=150), episode(tokens=120), episode(tokens=120)]
    verdicts = make("shortest-correct").group(group)
    assert [verdict.reward for verdict in verdicts] == [0.0, 1.0, 1.2, 1.0]


def test_a_shortest_answer_of_90_tokens_gets_none_and_neither_does_one_of_100(episode: Maker):
    for shortest, bonus in ((90, 0.0), (100, 0.0), (101, 0.2)):
        verdicts = make("shortest-correct").group([episode(tokens=shortest), episode(tokens=150)])
        assert [verdict.reward for verdict in verdicts] == [1.0 + bonus, 1.0]


def test_the_form_is_worth_a_half(episode: Maker):
    verdicts = make("shortest-correct").group([episode(text=FORM), episode(False, text=FORM)])
    assert [verdict.reward for verdict in verdicts] == [1.5, 0.5]


def test_the_difficulty_factor_is_one_at_a_half():
    assert difficulty_factor(0.5) == 1.0
    assert difficulty_factor(1 / 8) == 0.4375


def test_a_format_worth_more_than_being_right_is_refused():
    with pytest.raises(InputError, match="outranks"):
        make("shortest-correct", format=1.5)
