"""The scripted student, and which act of the tutor each of its messages calls for."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import gymnasium as gym
import pytest
from palaestra.envs.games.tutor_dialogue import TutorDialogue, TutorState


def lesson(**changes: Any) -> TutorState:
    """3 times 4, then minus 2; at the second step the student is stuck and then adds."""
    plain = TutorState(3, (("times", 4), ("minus", 2)), (12, 10), (None, 14), ("", "stuck"), turns=4)
    return replace(plain, **changes)


@pytest.fixture
def env() -> TutorDialogue:
    return gym.make("palaestra/TutorDialogue-v0", disable_env_checker=True).unwrapped  # type: ignore[return-value]


def test_the_whole_lesson(env):
    state, said = lesson(reply="Well."), []
    acts = ("praise 1", "question 2", "hint 2 minus", "praise 2")
    for act in acts:
        said.append(env.observe(state))
        assert env.oracle(state) == act
        result = env.act(state, act)
        state = result.state
    assert said == [
        "Well. Step 1 gives 12.",
        "Good. I do not know how to do step 2.",
        "I see. Step 2 gives 14.",
        "Oh, let me try again. Step 2 gives 10.",
    ]
    assert result.success
    assert env.observe(state) == "Thank you, now I have it: 10."


@pytest.mark.parametrize("act", ["hint 1 times", "question 1", "praise 2", "praise 1 please"])
def test_another_act_brings_nobody_on(env, act):
    result = env.act(lesson(), act)
    assert (result.done, result.progress, result.state.place) == (False, 0.0, 0)
    assert env.observe(replace(result.state, reply="")).endswith("Step 1 gives 12.")


def test_praise_of_a_wrong_result_brings_nobody_on(env):
    wrong = lesson(place=1, wrong=True)
    assert env.act(wrong, "praise 2").state.wrong
    assert not env.act(wrong, "hint 2 plus").done
    assert not env.act(wrong, "Hint: step 2, minus.").state.wrong


@pytest.mark.parametrize("act", ["answer 12", "answer 5"])
def test_telling_a_result_ends_the_lesson(env, act):
    result = env.act(lesson(), act)
    assert (result.done, result.success) == (True, False)
    assert "told" in result.feedback


def test_a_student_who_asks_for_the_result_gets_a_hint(env):
    assert env.oracle(lesson(place=1, doubting=True, doubts=("", "asks"))) == "hint 2 minus"
    assert env.observe(lesson(place=1, doubting=True, doubts=("", "asks"), reply="Good.")).endswith("step 2!")


def test_worse_actions_tell_the_result_of_the_step_in_hand_and_lose(env):
    for seed in range(5):
        _, info = env.reset(seed=seed, options={"difficulty": 1.0})
        assert info["extras"]["worse_actions"] == info["extras"]["achieved"] == []
        results = [line.split(" = ")[-1] for line in info["extras"]["solution_steps"]][:-1]
        before, over = [], False
        while not over:
            before.append((env.get_state(), results[env.here().place]))
            *_, over, _, info = env.step(env.oracle())
        assert info["extras"]["worse_actions"] == [f"answer {result}" for _, result in before]
        assert [name for names in info["extras"]["achieved"] for name in names] == [
            f"step {number}" for number in range(1, len(results) + 1)
        ]
        for (state, _), worse in zip(before, info["extras"]["worse_actions"], strict=True):
            env.set_state(state)
            _, reward, terminated, _, after = env.step(worse)
            assert (reward, terminated, after["is_success"]) == (0.0, True, False)


def test_a_misconception_never_gives_the_right_result(env):
    for seed in range(50):
        env.reset(seed=seed, options={"params": {"misconceptions": 4, "steps": 4}})
        state = env.here()
        assert all(fault != result for fault, result in zip(state.faults, state.results, strict=True))
        assert min(state.results) >= 0


def test_criteria_name_steps_and_no_result(env):
    assert env.measure_states([lesson()], "criteria") == [
        "It tells no result.",
        "It asks a question on step 2.",
        "It hints at the operation of step 2 after a wrong result.",
    ]
    assert env.measure_states([lesson()], "solution_steps") == ["3 * 4 = 12", "12 - 2 = 10", "10"]
    assert not re.search(r"1[024]", " ".join(env.measure_states([lesson()], "criteria")))
