"""Instructions on the form of a text: every kind is asked for, what is asked can be kept, and a breach is found."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import palaestra  # noqa: F401  # registers the environment
import pytest
from palaestra.envs.instructions.instruction_kinds import INSTRUCTIONS
from palaestra.errors import InputError
from palaestra.rewards import verify
from palaestra.rewards.verifiers.constraints import KINDS


def make(**kwargs: Any) -> Any:
    return gym.make("palaestra/InstructionFollowing-v0", disable_env_checker=True, **kwargs).unwrapped


def test_every_kind_of_constraint_is_asked_for_and_kept_alone():
    assert {name.partition("/")[0] for name in INSTRUCTIONS} == set(KINDS)
    for name in INSTRUCTIONS:
        env = make(kinds=name)
        for seed in range(3):
            env.reset(seed=seed, options={"params": {"instructions": 1}})
            task = env.here()
            assert task.reference[2]["kind"] == name.partition("/")[0]
            assert env.step(env.oracle())[4]["is_success"], (name, seed)


def test_composed_instructions_are_kept_by_the_solver_and_each_is_a_sentence_of_the_prompt():
    env = make()
    for seed in range(40):
        prompt, _ = env.reset(seed=seed, options={"params": {"instructions": 8}})
        sentences = env.here().data
        assert len(sentences) == 8
        assert all(sentence in prompt for sentence in sentences)
        assert "{" not in "".join(sentences)
        assert env.step(env.oracle())[4]["is_success"]


def test_one_breach_costs_the_reward_and_a_share_of_the_progress():
    for partial, reward in ((False, 0.0), (True, 0.75)):
        env = make(kinds="bullets,no-commas", partial=partial)
        env.reset(seed=1, options={"params": {"instructions": 2}})
        _, earned, _, _, info = env.step(f"{env.oracle()},")
        assert (earned, info["progress"], info["is_success"]) == (reward, 0.75, False)


def test_kinds_can_be_kept_for_a_test():
    held_out = ["acrostic", "palindromes", "json"]
    env = make(without=held_out)
    seen = set()
    for seed in range(60):
        env.reset(seed=seed, options={"params": {"instructions": 6}})
        seen |= {constraint["kind"] for constraint in env.here().reference}
    assert not seen & set(held_out)
    assert len(seen) > 40


def test_kinds_that_exclude_each_other_are_refused_together():
    with pytest.raises(InputError, match="give more kinds"):
        make(kinds="upper,lower").reset(seed=0, options={"params": {"instructions": 2}})
    with pytest.raises(InputError, match="acrostik"):
        make(kinds="acrostik")


def test_the_prompt_and_the_empty_text_keep_no_task():
    env = make()
    for seed in range(60):
        prompt, _ = env.reset(seed=seed)
        for text in ("", prompt, "x"):
            assert not verify("constraints", text, env.here().reference).success
