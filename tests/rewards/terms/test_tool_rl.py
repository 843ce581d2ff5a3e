from __future__ import annotations

from collections.abc import Callable

import pytest
from palaestra.errors import InputError
from palaestra.rewards import Episode, make
from palaestra.rewards.terms.tool_rl import (
    DYNAMIC_CORRECTNESS,
    DYNAMIC_FORMAT,
    TWO_STAGE,
    correctness_of,
    thought_length,
)

Maker = Callable[..., Episode]


GOLD = [{"name": "f", "parameters": {"x": 1, "y": 2}}]


def calling(arguments: str, name: str = "f") -> str:
    return f'<think>so it is</think><tool_call>{{"name": "{name}", "parameters": {arguments}}}</tool_call>'


def test_one_wrong_value_of_two_leaves_three_of_four_points():
    # names 1, parameter names 1, one value 1: score 3 of at most 1 + (1 + 2) = 4, so 6 * 3/4 - 3
    assert correctness_of(calling('{"x": 1, "y": 3}'), GOLD) == 1.5


def test_a_wrong_name_has_the_lowest_score():
    assert correctness_of(calling('{"x": 1, "y": 2}', name="g"), GOLD) == -3.0


def test_all_right_is_four_in_two_terms(episode: Maker):
    verdict = make("toolrl")(episode(text=calling('{"x": 1, "y": 2}'), tool_calls=GOLD))
    assert verdict.terms == {"format": 1.0, "correctness": 3.0}


def test_a_call_that_cannot_be_read_is_minus_three_and_no_call_as_well(episode: Maker):
    reward = make("toolrl")
    assert reward(episode(text="<tool_call>{</tool_call>", tool_calls=GOLD)).reward == -3.0
    assert reward(episode(text="f(1, 2)", tool_calls=GOLD)).reward == -3.0


def test_without_a_call_due_only_the_format_counts(episode: Maker):
    said = episode(text="<think>no</think><response>hello</response>", tool_calls=[])
    assert make("toolrl")(said).terms == {"format": 1.0, "correctness": 0.0}


def test_coarse_pays_for_calls_that_are_all_right_only(episode: Maker):
    reward = make("toolrl", granularity="coarse")
    assert reward(episode(text=calling('{"x": 1, "y": 3}'), tool_calls=GOLD)).terms["correctness"] == -3.0
    assert reward(episode(text=calling('{"y": 2, "x": 1}'), tool_calls=GOLD)).terms["correctness"] == 3.0


def test_the_two_stages_switch_at_update_30_and_the_format_shrinks_over_150(episode: Maker):
    reward = make("toolrl", correctness=TWO_STAGE, format=DYNAMIC_FORMAT)
    right = episode(text=calling('{"x": 1, "y": 2}'), tool_calls=GOLD)
    assert reward(right).terms == {"format": 2.0, "correctness": 1.0}
    reward.advance(29, 200)
    assert reward(right).terms["correctness"] == 1.0
    reward.advance(30, 200)
    assert reward(right).terms == {"format": pytest.approx(1.8), "correctness": 3.0}


def test_correctness_grows_from_two_to_three_over_150_updates(episode: Maker):
    reward = make("toolrl", correctness=DYNAMIC_CORRECTNESS)
    right = episode(text=calling('{"x": 1, "y": 2}'), tool_calls=GOLD)
    for step, most in ((0, 2.0), (75, 2.5), (150, 3.0), (900, 3.0)):
        reward.advance(step, 1000)
        assert reward(right).terms["correctness"] == pytest.approx(most)


def test_only_words_of_thought_are_counted():
    assert thought_length("x <think>a b</think> y") == 2
    assert thought_length("a b") == thought_length("<think>a</think><think>b</think>") == 0


def test_length_pays_by_the_words_of_thought(episode: Maker):
    text = calling("{}").replace("so it is", "word " * 256)
    assert make("toolrl", length="fixed")(episode(text=text, tool_calls=GOLD)).terms["length"] == 0.5
    rising = make("toolrl", length="rising")
    assert rising(episode(text=text, tool_calls=GOLD)).terms["length"] == pytest.approx(256 / 384)
    rising.advance(10, 10)
    assert rising(episode(text=text, tool_calls=GOLD)).terms["length"] == pytest.approx(256 / 640)


def test_gold_calls_of_another_form_are_refused(episode: Maker):
    with pytest.raises(InputError, match="calls"):
        make("toolrl")(episode(tool_calls="f(x)"))


def test_an_invalid_episode_stays_invalid(episode: Maker):
    assert not make("toolrl")(episode(valid=False, tool_calls=GOLD)).valid
