from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from palaestra.errors import InputError
from palaestra.rewards import Episode, make
from palaestra.rewards.terms.tools import (
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
    verdict = make("toolrl")(episode(text=calling('{"x": 1, "y": 2}'), expected_calls=GOLD))
    assert verdict.terms == {"format": 1.0, "correctness": 3.0}


def test_a_call_that_cannot_be_read_is_minus_three_and_no_call_as_well(episode: Maker):
    reward = make("toolrl")
    assert reward(episode(text="<tool_call>{</tool_call>", expected_calls=GOLD)).reward == -3.0
    assert reward(episode(text="f(1, 2)", expected_calls=GOLD)).reward == -3.0


def test_without_a_call_due_only_the_format_counts(episode: Maker):
    said = episode(text="<think>no</think><response>hello</response>", expected_calls=[])
    assert make("toolrl")(said).terms == {"format": 1.0, "correctness": 0.0}


def test_coarse_correctness_is_full_only_for_calls_that_are_all_right(episode: Maker):
    reward = make("toolrl", granularity="coarse")
    assert reward(episode(text=calling('{"x": 1, "y": 3}'), expected_calls=GOLD)).terms["correctness"] == -3.0
    assert reward(episode(text=calling('{"y": 2, "x": 1}'), expected_calls=GOLD)).terms["correctness"] == 3.0


def test_the_two_stages_switch_at_update_30_and_the_format_shrinks_over_150(episode: Maker):
    reward = make("toolrl", correctness=TWO_STAGE, format=DYNAMIC_FORMAT)
    right = episode(text=calling('{"x": 1, "y": 2}'), expected_calls=GOLD)
    assert reward(right).terms == {"format": 2.0, "correctness": 1.0}
    reward.advance(29, 200)
    assert reward(right).terms["correctness"] == 1.0
    reward.advance(30, 200)
    assert reward(right).terms == {"format": pytest.approx(1.8), "correctness": 3.0}


def test_correctness_grows_from_two_to_three_over_150_updates(episode: Maker):
    reward = make("toolrl", correctness=DYNAMIC_CORRECTNESS)
    right = episode(text=calling('{"x": 1, "y": 2}'), expected_calls=GOLD)
    for step, most in ((0, 2.0), (75, 2.5), (150, 3.0), (900, 3.0)):
        reward.advance(step, 1000)
        assert reward(right).terms["correctness"] == pytest.approx(most)


def test_only_words_of_thought_are_counted():
    assert thought_length("x <think>a b</think> y") == 2
    assert thought_length("a b") == thought_length("<think>a</think><think>b</think>") == 0


def test_the_length_term_grows_with_the_words_of_thought(episode: Maker):
    text = calling("{}").replace("so it is", "word " * 256)
    assert make("toolrl", length="fixed")(episode(text=text, expected_calls=GOLD)).terms["length"] == 0.5
    rising = make("toolrl", length="rising")
    assert rising(episode(text=text, expected_calls=GOLD)).terms["length"] == pytest.approx(256 / 384)
    rising.advance(10, 10)
    assert rising(episode(text=text, expected_calls=GOLD)).terms["length"] == pytest.approx(256 / 640)


def test_gold_calls_of_another_form_are_refused(episode: Maker):
    with pytest.raises(InputError, match="calls"):
        make("toolrl")(episode(expected_calls="f(x)"))


def test_an_invalid_episode_stays_invalid(episode: Maker):
    assert not make("toolrl")(episode(valid=False, expected_calls=GOLD)).valid


def test_the_weight_goes_from_one_over_a_half_to_nothing(episode: Maker):
    reward = make("tool-bonus")
    five = episode(text=["<tool_call>", "<tool_call><tool_call>", "<tool_call><tool_call> done"])
    values = []
    for step in (0, 100, 200, 999):
        reward.advance(step, 1000)
        values.append(reward(five).reward)
    assert values == pytest.approx([0.5, 0.25, 0.0, 0.0])


def test_ten_calls_earn_all_there_is(episode: Maker):
    reward = make("tool-bonus", weight=0.5)
    assert reward(episode(text="<tool_call>" * 10)).reward == reward(episode(text="<tool_call>" * 99)).reward == 0.5


def test_calls_can_be_counted_otherwise(episode: Maker):
    assert make("tool-bonus", count=lambda _: 3)(episode()).reward == pytest.approx(0.3)


def test_an_empty_marker_is_refused():
    with pytest.raises(InputError, match="marker"):
        make("tool-bonus", marker="")


GOOD = "<think>t</think><answer>b</answer>"


def test_a_wrong_format_overrides_everything(episode: Maker):
    assert make("arpo")(episode(text="<answer>b</answer>", reference="b")).reward == -1.0


def test_a_right_answer_has_its_f1_and_a_bonus_for_all_the_tools(episode: Maker):
    reward = make("arpo")
    assert reward(episode(text=GOOD, reference="b c")).reward == pytest.approx(2 / 3)
    both = ["<think>q</think><search>s</search>", "<think>q</think><python>p</python>", GOOD]
    assert reward(episode(text=both, reference="b")).reward == 1.1
    assert reward(episode(text=both[1:], reference="b")).reward == 1.0


def test_tools_earn_nothing_without_an_answer(episode: Maker):
    both = ["<think>q</think><search>s</search><python>p</python>", GOOD]
    assert make("arpo")(episode(text=both, reference="z")).reward == 0.0


def test_an_outcome_of_ones_own_replaces_f1_and_its_failure_is_invalid(episode: Maker):
    assert make("arpo", scorer=lambda _: 0.5)(episode(text=GOOD)).reward == 0.5
    assert not make("arpo", scorer=lambda _: None)(episode(text=GOOD)).valid


@pytest.mark.parametrize("wrong", [{"tools": []}, {"tools": "<search>"}, {"bonus": -1}, {"scorer": 3}])
def test_wrong_arguments_are_refused(wrong: dict[str, Any]):
    with pytest.raises(InputError):
        make("arpo", **wrong)


def test_a_clean_trajectory_costs_nothing(episode: Maker):
    clean = episode(text=["call", "<answer>4</answer>"], observations=["q", "4"])
    assert make("trajectory-quality")(clean).reward == 0.0


def test_failed_tool_calls_cost_their_share(episode: Maker):
    failed = episode(text=["call", "call", "<answer>4</answer>"], observations=["error?", "TypeError: x", "4"])
    assert make("trajectory-quality")(failed).reward == -0.5  # the question is no tool response


def test_without_tools_and_answer_it_costs_one_and_a_half(episode: Maker):
    assert make("trajectory-quality")(episode(text="four")).reward == -1.5


def test_more_answers_than_one_cost_their_excess_per_turn(episode: Maker):
    twice = episode(text=["call", "<answer>4</answer><answer>5</answer>"], observations=["q", "4"])
    assert make("trajectory-quality")(twice).reward == -0.5
    assert make("trajectory-quality")(episode(text="<answer>4</answer>" * 2)).reward == -1.5  # 0.5 for no tool
    assert make("trajectory-quality")(episode(text="<answer>4</answer>" * 9)).reward == -1.5
    assert make("trajectory-quality")(episode(text="<answer>4</answer><answer>")).reward == -1.5
