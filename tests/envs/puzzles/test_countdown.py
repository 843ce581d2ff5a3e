from __future__ import annotations

import re

import pytest
from palaestra.envs.puzzles.countdown import Countdown
from palaestra.rewards.verifiers.countdown import evaluate_expression


def test_countdown_targets_are_reached_by_all_numbers_and_given_by_none():
    env = Countdown()
    for seed in range(200):
        _, info = env.reset(seed=seed)
        reference = env.here().reference
        numbers, target = reference["numbers"], reference["target"]
        assert sorted(map(int, re.findall(r"\d+", env.oracle()))) == sorted(numbers)
        assert evaluate_expression(env.oracle(), numbers) == target
        assert target not in numbers
        assert len(numbers) == info["params"]["count"]
        assert max(numbers) <= info["params"]["largest"]
        assert 1 <= target <= 10 * info["params"]["largest"]


def test_countdown_oracle_uses_every_operator_and_parentheses():
    env = Countdown(difficulty=1.0)
    texts = []
    for seed in range(50):
        env.reset(seed=seed)
        texts.append(env.oracle())
    assert set("+-*/()") <= set("".join(texts))


def test_another_way_to_the_target_counts_as_well():
    env = Countdown(split="all")
    for seed in range(200):
        env.reset(seed=seed, options={"params": {"count": 2, "largest": 10}})
        a, b = env.here().reference["numbers"]
        if env.here().reference["target"] == a + b:
            assert env.step(f"({b})+{a}")[4]["is_success"]
            return
    pytest.fail("no sum in two hundred tasks")


def test_the_steps_of_a_solution_are_true_joins_of_the_numbers_up_to_the_target():
    env = Countdown()
    for seed in range(100):
        env.reset(seed=seed)
        *steps, _ = env.solution_steps(env.here())
        left = [*env.here().reference["numbers"]]
        for step in steps:
            a, sign, b, result = re.fullmatch(r"(\d+) ([-+*/]) (\d+) = (\d+)", step).groups()  # type: ignore[union-attr]
            left.remove(int(a))
            left.remove(int(b))
            left.append(int(result))
            assert evaluate_expression(f"{a} {sign} {b}", [int(a), int(b)]) == int(result)
        assert left == [env.here().reference["target"]]
