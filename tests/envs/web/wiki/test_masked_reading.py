"""MaskedReading and MaskedSpan: the share of masks filled in right, each judged apart, and found by search."""

from __future__ import annotations

import re
from typing import Any

import gymnasium as gym
import pytest
from palaestra.envs.web.wiki.masked_reading import split_values


def made(name: str = "MaskedReading", seed: int = 1, **kwargs: Any) -> tuple[Any, str]:
    env = gym.make(f"palaestra/{name}-v0", disable_env_checker=True, **{"difficulty": 0.5, **kwargs}).unwrapped
    return env, env.reset(seed=seed)[0]


def test_the_reward_is_the_share_of_masks_that_are_right():
    for right in range(5):
        env, _ = made(masks=4)
        values = env.oracle(env.here()).split("; ")
        written = [value if place < right else "Nobody" for place, value in enumerate(values)]
        _, reward, terminated, _, info = env.step("; ".join(written))
        assert terminated
        assert (reward, info["is_success"], info["progress"]) == (right / 4, right == 4, right / 4)
        assert info["extras"]["atom_scores"] == [1.0] * right + [0.0] * (4 - right)


@pytest.mark.parametrize("depth", [1, 3])
def test_masks_stand_for_what_others_are_about_and_never_show_their_value(depth: int):
    for seed in range(30):
        env, prompt = made(seed=seed, masks=5, depth=depth)
        paragraph = prompt.split("\n\n")[1].split("\n")[0]
        assert re.findall(r"is \[(\d)\]", paragraph) == list("12345")
        about = re.findall(r"\[(\d)\] (?:in|is|became|was|received|has)|of \[(\d)\]", paragraph)
        assert bool(about) <= (depth > 1)
        corpus, facts = env.here().data.corpus, env.here().data.facts
        names = {name for _, name in env.here().data.named}
        for fact in facts:
            assert (corpus.title(fact.at) in names) or depth > 1
        for value in env.oracle(env.here()).split("; "):
            assert not re.search(rf"\b{re.escape(value)} is\b", paragraph)


@pytest.mark.parametrize(
    "answer",
    [
        "a; b c; 1,200",
        "1. a\n2. b c\n3. 1,200",
        "[1] a [2] b c [3] 1,200",
        "[1]: a; [2]: b c; [3]: 1,200",
        "They are a; b c; **1,200**",
    ],
)
def test_values_are_split_however_they_are_listed(answer: str):
    assert split_values(answer) == ["a", "b c", "1,200"]


def test_an_answer_with_another_number_of_values_is_told_so():
    env, _ = made(masks=3)
    info = env.step("a; b")[4]
    assert info["action_error"] == "The answer has 2 values instead of 3; separate them by semicolons."


def test_the_masks_are_found_by_search_and_judged_apart():
    for seed in range(10):
        env, prompt = made("MaskedSpan", seed=seed, masks=3, spare=0)
        assert "Sentences" not in prompt
        shown, done, info = prompt, False, {}
        while not done:
            action = env.oracle()
            if action.startswith("answer["):
                values = action[7:-1].split("; ")
                assert all(value in shown for value in values)
                action = f"<answer>{values[0]}; Nobody; {values[2]}</answer>"
            observation, reward, done, _, info = env.step(action)
            shown += observation
        assert reward == pytest.approx(2 / 3)
        assert info["extras"]["atom_scores"] == [1.0, 0.0, 1.0]
        assert not info["is_success"]


def test_without_search_no_answer_carries_over_to_another_world():
    """A player who has seen the right answers of 200 training tasks fills in none of the test tasks' names."""
    train, _ = made(split="train")
    learned = []
    for seed in range(200):
        train.reset(seed=seed, options={"params": {"masks": 1, "size": 1}})
        learned.append(train.oracle(train.here()))
    test, _ = made(split="test")
    right = 0
    for seed in range(40):
        test.reset(seed=seed, options={"params": {"masks": 1, "size": 1}})
        right += test.verify(test.here(), learned[seed]).success
    assert right <= 2
