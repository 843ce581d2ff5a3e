"""Reasoning Gym's data sets as environments: all of them can be made, and the loopholes of their scorers are closed."""

from __future__ import annotations

import os
import signal
from typing import Any

import gymnasium as gym
import palaestra.envs  # noqa: F401
import pytest
from palaestra.envs.datasets import reasoning_gym
from palaestra.errors import InputError, MissingExtra
from palaestra.rewards.verifiers.worker_process import WorkerProcess

from ...extras import needs

pytestmark = needs("reasoning_gym")

# Data sets whose entries hold no right answer, and those that need a configuration.
WITHOUT_ANSWERS = {"boxnet", "rush_hour"}
CONFIGS: dict[str, dict[str, Any]] = {
    "composite": {"datasets": [{"name": "leg_counting", "weight": 1.0, "config": {}}]},
    # The lowest value of its curriculum is refused by its own check.
    "knight_swap": {"min_nodes": 6, "max_nodes": 8},
}
# A task takes seconds to a minute to make.
SLOW = {"sokoban", "arc_agi", "group_anagrams", "codeio", "rearc", "intermediate_integration", "figlet_font"}
# One of two or three answers is right: yes or no, a small count.
GUESSABLE = {"circuit_logic", "letter_counting", "basic_arithmetic"}


def make(dataset: str = "leg_counting", **kwargs: Any) -> Any:
    return gym.make("palaestra/ReasoningGym-v0", disable_env_checker=True, dataset=dataset, **kwargs).unwrapped


def task_of(dataset: str, seed: int = 3, **kwargs: Any) -> tuple[Any, Any]:
    env = make(dataset, **kwargs)
    env.reset(seed=seed)
    return env, env.here()


def names() -> list[str]:
    return reasoning_gym.POOL.run({"do": "names"}, 120.0)


def test_every_quick_data_set_makes_a_task_whose_answer_is_right():
    earned = 0.0
    tried = [name for name in names() if name not in SLOW | WITHOUT_ANSWERS | {"composite"}]
    assert len(tried) > 90
    for name in tried:
        levels = {} if name in ("acre", "gsm_symbolic", "list_functions") else {"level": 0}
        env, task = task_of(name, config=CONFIGS.get(name), **levels)
        assert env.verify(task, env.oracle(task)).success, name
        guesses = ("", "0", "1", "yes", "A", "zz", task.prompt[-2000:])
        verdicts = [env.verify(task, guess) for guess in guesses]
        assert all(verdict.score in (0.0, 1.0) for verdict in verdicts)
        if name not in GUESSABLE:
            earned += sum(verdict.score for verdict in verdicts) / len(guesses)
    assert earned / len(tried) <= 0.02


@pytest.mark.parametrize("name", sorted(WITHOUT_ANSWERS))
def test_a_data_set_without_answers_is_refused(name: str):
    with pytest.raises(InputError, match=name):
        task_of(name)


def test_wrong_arguments_are_refused():
    with pytest.raises(InputError, match="leg_counting"):
        make("leg_countin")
    with pytest.raises(InputError, match="seed"):
        make(config={"seed": 3})
    with pytest.raises(InputError, match="min_animals"):
        task_of("leg_counting", config={"min_animals": -1})


def test_without_the_library_the_extra_is_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(reasoning_gym.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match="reasoning-gym"):
        make()


def test_neighbouring_seeds_share_no_task():
    env = make(level=10)
    prompts = [env.reset(seed=seed)[0] for seed in range(30)] + [env.reset()[0] for _ in range(30)]
    assert len(set(prompts)) == 60


def test_no_credit_for_texts_that_hold_the_answer():
    env, task = task_of("leg_counting", level=2)
    gold = task.reference
    assert int(gold) > 0
    for right in (gold, f"{gold}.0"):
        assert env.verify(task, right).success
    for wrong in (f"-{gold}", f"1{gold}", f"{gold}.01", f"the answer is {gold}", ""):
        assert env.verify(task, wrong).score == 0.0


def test_puzzle24_needs_its_own_numbers_and_exactly_24():
    env, task = task_of("puzzle24", level=0)
    assert env.verify(task, env.oracle(task)).success
    for wrong in ("1*2*3*4", "(5*5)-(3/5)", "24", "4!", "8*3"):
        assert env.verify(task, wrong).score == 0.0


def test_countdown_runs_nothing(tmp_path):
    env, task = task_of("countdown", level=0)
    target = tmp_path / "touched"
    for attack in (
        f"{env.oracle(task)} + 0*__import__('os').getpid()",
        f"open({str(target)!r}, 'w').close()",
        str(task.data["target"]),
        "9**9**9",
    ):
        assert env.verify(task, attack).score == 0.0
    assert not target.exists()


@pytest.mark.parametrize("name", ["binary_matrix", "n_queens", "string_insertion", "spiral_matrix"])
def test_answers_that_a_scorer_evaluates_cannot_call(name: str, tmp_path):
    env, task = task_of(name, level=0)
    target = tmp_path / "touched"
    for attack in (f"open({str(target)!r}, 'w').close()", "[print(1)]", "exit()", "[x.y]", "[" * 5000):
        verdict = env.verify(task, attack)
        assert verdict.score == 0.0
        assert verdict.valid
    assert not target.exists()


@pytest.mark.parametrize("name", ["simple_integration", "polynomial_multiplication"])
def test_formulas_must_be_worked_out(name: str):
    env, task = task_of(name, level=0)
    question = task.prompt.rsplit(":", 1)[-1].strip()
    for attack in (
        f"Integral({question}, x)",
        f"expand({question})",
        "9**9**9",
        "factorial(10**8)",
        "__import__('os')",
        "(" * 5000,
        "9^(9^(9))",
    ):
        verdict = env.verify(task, attack)
        assert verdict.score == 0.0
        assert verdict.valid


def test_a_scorer_out_of_time_does_not_count_against_the_agent(monkeypatch: pytest.MonkeyPatch):
    env, task = task_of("n_queens", level=0)
    call = WorkerProcess.call

    def call_stopped(self: WorkerProcess, request: bytes, seconds: float) -> Any:
        if seconds < 1:  # no start, which has minutes
            os.kill(self.process.pid, signal.SIGSTOP)
        return call(self, request, seconds)

    monkeypatch.setattr(WorkerProcess, "call", call_stopped)
    monkeypatch.setattr(reasoning_gym, "SCORING", 0.1)
    verdict = env.verify(task, "Q _\n_ Q")
    assert not verdict.valid
    assert verdict.score == 0.0


def test_a_scorer_that_accepts_everything_is_not_used():
    env, task = task_of("game_of_life_halting", level=0)
    assert env.verify(task, env.oracle(task)).success
    assert env.verify(task, "zz").score == 0.0
