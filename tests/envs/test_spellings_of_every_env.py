"""Answers as language models write them: what is around them is taken off, what is in them stays."""

from __future__ import annotations

import re
from typing import Any

import gymnasium as gym
import palaestra
import pytest
from palaestra.envs.testing.playing import suits

# Not where an answer may hold marks, as programs do, or is no text.
strips_marks = suits(
    lambda env: isinstance(env.action_space, palaestra.envs.Unicode) and env.unwrapped.strips_marks, missing=False
)
FAMILIES = [
    name.removeprefix("palaestra/")
    for name in palaestra.envs.ids()
    if name.startswith("palaestra/") and strips_marks(name)
]
SPELLINGS = [
    *("{}.", "**{}**", "${}$", "\\({}\\)", "`{}`", '"{}"', "\\text{{{}}}", "Answer: {}", "**Answer:** {}"),
    *("**Answer: {}**", "So the final answer is **{}**.", "<answer>\n{}.\n</answer>", "\\boxed{{\\text{{{}}}}}"),
]


def test_marks_are_kept_where_they_may_belong_to_an_answer_and_nowhere_else():
    ids = [name for name in palaestra.envs.ids() if name.startswith("palaestra/")]
    kept = {name for name in ids if not strips_marks(name)}
    programs = {name for name in ids if re.search(r"\.envs\.(code|sql)\.", str(gym.spec(name).entry_point))}
    homes = re.compile(r"\.envs\.(grids|walkers)\.")
    numbers = {name for name in ids if homes.search(str(gym.spec(name).entry_point)) and "Text-" not in name}
    others = {"AllowedRequests", "FunctionCalls", "InstructionFollowing", "MemoryStores", "ReasoningGym", "ToolUse"}
    assert kept == programs | numbers | {f"palaestra/{name}-v0" for name in others}


@pytest.mark.parametrize("family", FAMILIES)
def test_right_answers_are_right_with_marks_and_words_around_them(family: str):
    env: Any = gym.make(f"palaestra/{family}", difficulty=0.2, disable_env_checker=True)
    for spelling in SPELLINGS:
        env.reset(seed=3)
        done, info = False, {}
        while not done:
            _, _, terminated, truncated, info = env.step(spelling.format(env.unwrapped.oracle()))
            assert info["action_error"] is None, spelling
            done = terminated or truncated
        assert info["is_success"], spelling


@pytest.mark.parametrize("family", FAMILIES)
def test_an_answer_of_the_greatest_length_is_judged_at_once(family: str):
    env: Any = gym.make(f"palaestra/{family}", difficulty=1.0, disable_env_checker=True)
    assert isinstance(env.unwrapped, palaestra.envs.TaskEnv)
    for part in ("9", "(", "^", ",", "*", "`", ".", "answer: ", "\\frac{", "1 1,", "U", "=", "[[", "A "):
        env.reset(seed=1)
        info = env.step((part * 4096)[:4096])[4]
        assert not info["is_success"], part
