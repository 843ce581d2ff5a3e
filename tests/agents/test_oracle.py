"""Worked solutions as a model would write them: the steps, then the answer, and the environment reads the answer."""

from __future__ import annotations

import gymnasium as gym
import palaestra.envs
import pytest
from palaestra.agents.oracle import oracle_action, worked_action, worked_steps, write_solution
from palaestra.envs import Question, Task
from palaestra.envs.testing.playing import suits
from palaestra.errors import InputError

is_cheap = suits(
    lambda env: isinstance(env.unwrapped, Question) and not getattr(env.unwrapped, "needs_sandbox", False),
    missing=False,
)
QUESTIONS = [name for name in palaestra.envs.ids() if name.startswith("palaestra/") and is_cheap(name)]


CASES = [(form, name) for form in ("any", "boxed", "whole") for name in QUESTIONS]
CASES.remove(("boxed", "palaestra/FunctionCalls-v0"))  # calls stand between tags of their own


@pytest.mark.parametrize(("answer_format", "env_id"), CASES)
def test_every_worked_solution_is_read_and_right(env_id, answer_format):
    env = gym.make(env_id, disable_env_checker=True, answer_format=answer_format)
    for seed in range(2):
        _, info = env.reset(seed=seed, options={"difficulty": 0.25})
        *working, _ = steps = worked_steps(info)
        text = worked_action(env, info)
        assert text.endswith(oracle_action(env))
        assert all(step in text for step in working)
        assert bool(working) == (len(steps) > 1) == (text != oracle_action(env))
        assert env.step(text)[4]["is_success"]


def test_programs_stand_behind_a_thought():
    env = gym.make("palaestra/ProgramRepair-v0", disable_env_checker=True)
    _, info = env.reset(seed=1)
    thought, _, program = worked_action(env, info).partition("</think>\n")
    assert thought == "\n".join(["<think>", *worked_steps(info)[:-1], ""])
    assert program == oracle_action(env)


def test_games_are_played_move_by_move():
    env = gym.make("palaestra/GuessNumber-v0", disable_env_checker=True)
    _, info = env.reset(seed=1)
    assert worked_steps(info) == ()
    assert worked_action(env, info) == oracle_action(env)
    assert write_solution(env, "I halve.") == f"I halve.\n{oracle_action(env)}"


def test_questions_of_a_mixture_are_worked_out_too():
    env = gym.make("palaestra/Mixture-v0", disable_env_checker=True, envs=["palaestra/WordProblem-v0"])
    _, info = env.reset(seed=1)
    text = worked_action(env, info)
    assert text == "\n".join(worked_steps(info))
    assert text != oracle_action(env)
    assert env.step(text)[4]["is_success"]


class Lost(Question):
    """Nobody knows."""

    def generate(self, rng, params):
        return Task("?", "!")

    def oracle(self, task):
        raise NotImplementedError


def test_without_a_solver_there_is_one_sentence():
    env = Lost()
    env._task = env.generate(None, {})
    with pytest.raises(InputError, match=r"Lost has no oracle\(\)"):
        worked_action(env, {})
    # Steps that the environment tells do without a solver.
    silent = gym.Env()
    assert worked_action(silent, {"extras": {"solution_steps": ["1 + 1 = 2", " ", "2"]}}) == "1 + 1 = 2\n2"
