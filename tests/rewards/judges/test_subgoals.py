"""Subgoals judged step by step, on episodes of a few words."""

from __future__ import annotations

import pytest
from palaestra import rewards
from palaestra.errors import InputError
from palaestra.rewards import Episode, Step
from palaestra.rewards.judges import SubgoalJudge
from palaestra.rewards.judges.subgoals import describe_step, label_steps, read_subgoals


def walk(*places: str, success: bool = False) -> Episode:
    """An episode whose observations are the places, left by "go"."""
    steps = tuple(Step(place, "go", 0.0, {}, 1) for place in places)
    return Episode("walk", {}, steps, success, 0.0, True, False, None)


def test_a_list_is_read_without_bullets_and_numbers():
    assert read_subgoals("1. take the key\n- open the door\n\n* open the door\nreach 3 goals", 9) == [
        "take the key",
        "open the door",
        "reach 3 goals",
    ]
    assert read_subgoals("a\nb\nc", 2) == ["a", "b"]
    assert read_subgoals(" \n", 2) == []


def test_a_step_is_told_with_what_followed():
    assert describe_step(walk("hall", "garden"), 0) == ("hall", "Action: go\nAfterwards: garden")
    assert describe_step(walk("hall", success=True), 0)[1].endswith("The task is solved.")
    assert describe_step(walk("hall"), 0)[1].endswith("without success.")


def test_each_step_is_judged_once_for_each_subgoal_not_achieved():
    asked: list[tuple[str, int]] = []

    def judge(transitions):
        asked.extend((name, t) for name, _, t in transitions)
        return [name in episode.steps[t].observation for name, episode, t in transitions]

    labels = label_steps([walk("a", "b", "ab"), walk("x")], [["a", "b"], ["a"]], judge)
    assert labels == [[["a"], ["b"], []], [[]]]
    assert asked == [("a", 0), ("b", 0), ("a", 0), ("b", 1)]


def test_after_a_judgement_that_failed_nothing_is_known():
    labels = label_steps([walk("a", "b", "c")], [["a"]], lambda asked: [None if t else False for _, _, t in asked])
    assert labels == [[[], None, None]]


def test_a_registered_judge_gives_the_bonuses_of_a_reward():
    # The words of the next observation stand in what the judge scores.
    judge = SubgoalJudge("rules", question="keywords: {subgoal}", threshold=1.0)
    reward = rewards.make("subgoals", subgoals=["garden", "cellar"], achieved=judge, bonus=0.5)
    assert list(reward.values(walk("hall", "garden", "garden", "hall"))) == [0.5, 0.0, 0.0, 0.0]


def test_a_question_without_a_place_for_the_subgoal_is_refused():
    with pytest.raises(InputError, match="subgoal"):
        SubgoalJudge("rules", question="short")
