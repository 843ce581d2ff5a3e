from __future__ import annotations

from collections.abc import Callable

from palaestra.rewards import Episode, make

Maker = Callable[..., Episode]


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
