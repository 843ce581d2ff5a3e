"""Declarations of the rewards: classes and default instances agree, so that a listing needs no instance."""

from __future__ import annotations

import math
from typing import Any

import pytest
from palaestra.rewards import REWARDS, make

WITH_ARGUMENTS = {
    "alone", "clip", "gate", "geometric-mean", "goal-text", "implicit-process", "normalize", "program",
    "reward-model", "saturate", "scheduled",
    "shaped", "sum", "trust", "veto", "weighted",
}  # fmt: skip
NAMES = sorted(
    name
    for name, cls in REWARDS.items()
    if cls.__module__.startswith("palaestra.rewards.") and name not in WITH_ARGUMENTS
)


@pytest.mark.parametrize("name", NAMES)
def test_a_class_promises_what_its_default_instance_keeps(name: str):
    cls, made = REWARDS[name], make(name)
    assert (made.needs, made.complete, made.ranks_success) == (cls.needs, cls.complete, cls.ranks_success)


INFINITE = math.inf
BOUNDS: list[tuple[str, dict[str, Any], tuple[float, float]]] = [
    ("action-match", {}, (0, 1)),
    ("annealed-process", {}, (-1, 1)),
    ("answer-f1", {}, (0, 1)),
    ("arpo", {"bonus": 0.25}, (-1, 1.25)),
    ("artifact-penalty", {}, (0, 0.5)),
    ("artifact-penalty", {"scale": "log-odds"}, (-5, 5)),
    ("below-average-length", {}, (0, 1)),
    ("bounded-power", {}, (-0.4, 5)),
    ("comas", {}, (0, 1)),
    ("comas", {"role": "scorer"}, (-1, 0)),
    ("compression", {}, (-0.05, 0.05)),
    ("mem-alpha", {}, (-0.05, 2.15)),
    ("consistency", {}, (0, 2)),
    ("cosine-length", {}, (-10, 2)),
    ("exploration", {"alpha": 0.5}, (0, 1)),
    ("format", {"penalty": -1.0}, (-1, 1)),
    ("grpo-lambda", {}, (0, 1)),
    ("hybrid", {}, (-0.1, 1)),
    ("hybrid", {"adherence": lambda _: 1.0}, (-0.1, 1.2)),
    ("lsc", {}, (-INFINITE, 0)),
    ("multi-agent-evolve", {}, (0, 1)),
    ("outcome-noise", {}, (0, 1)),
    ("par", {}, (0, 1)),
    ("par", {"transform": "tanh"}, (-1, 1)),
    ("posterior", {}, (0, 3)),
    ("progress-penalties", {}, (-1, 1)),
    ("reasoning-pattern", {}, (0, 1)),
    ("reasoning-sql", {}, (0, 7.5)),
    ("sql-clauses", {}, (0, 1)),
    ("reasoning-sql", {"execution": 5.5, "judge": lambda _: 1.0}, (0, 9.5)),
    ("relative-length", {}, (-0.5, 0.5)),
    ("repetition", {}, (-0.5, 0)),
    ("rlcr", {}, (-1, 1)),
    ("rlcr", {"variant": "code"}, (0, 1.5)),
    ("rpr-calibration", {"alpha": 0.75}, (0, 1.25)),
    ("self-aligned", {"weight": 0.25}, (-0.25, 1.25)),
    ("shaped-rm", {}, (-1, 1)),
    ("shortest-correct", {"bonus": 0.25}, (0, 1.75)),
    ("sign-scaled", {"failure": -0.5, "scale": 0.25}, (-1.25, 1.25)),
    ("spurious", {}, (0, 1)),
    ("target-length", {}, (0, 1)),
    ("target-length", {"mode": "exact"}, (-INFINITE, 1)),
    ("token-budget", {}, (-0.5, 0)),
    ("tool-bonus", {}, (0, 1)),
    ("toolrl", {}, (-3, 4)),
    ("toolrl", {"length": "fixed"}, (-3, 5)),
    ("train-long-think-short", {}, (0, 1.75)),
    ("trajectory-quality", {}, (-2, 0)),
    ("triangular-length", {"peak": 2.0}, (0, 2)),
    ("trusted-thinking", {"weight": 0.25}, (0, 1.25)),
    ("unlikeliness", {}, (0, 1)),
    ("verifiable", {}, (0, 10)),
    ("verifiable", {"no_eos": -10}, (-10, 10)),
]


@pytest.mark.parametrize(
    ("name", "options", "bounds"), BOUNDS, ids=lambda value: value if isinstance(value, str) else ""
)
def test_the_bounds_are_those_of_the_formula(name: str, options: dict[str, Any], bounds: tuple[float, float]):
    assert make(name, **options).bounds == bounds


# The top of each scale: a score of 7 counts as that, so that no judge can break a bound.
CLIPPED: list[tuple[str, dict[str, Any], float]] = [
    ("multi-agent-evolve", {"judge_score": 7}, 1.0),
    ("rpr-calibration", {"reward_model_score": 7}, 1.0),
    ("consistency", {"consistency": 7}, 2.0),
    ("posterior", {"process_score": 7}, 3.0),
    ("progress-penalties", {"completion": [7], "soft_factors": [7]}, 1.0),
    ("annealed-process", {"atom_scores": [7, 7], "reference": "b"}, 1.0),
    ("bounded-power", {"objective": 7}, 5.0),
]


@pytest.mark.parametrize(("name", "extras", "top"), CLIPPED, ids=lambda value: value if isinstance(value, str) else "")
def test_scores_beyond_the_scale_count_as_its_end(episode: Any, name: str, extras: dict[str, Any], top: float):
    assert make(name)(episode(True, text="<think>a</think><answer>b</answer>", **extras)).reward == top


def test_a_judges_score_beyond_the_scale_counts_as_its_end(episode: Any):
    group = [episode(True, thinking_score=7), episode(False, thinking_score=-7)]
    assert [verdict.reward for verdict in make("trusted-thinking", weight=0.25).group(group)] == [1.25, 0.0]
    assert make("trusted-thinking", answer=lambda _: 7.0)(episode(thinking_score=1)).reward == 1.0
    assert make("hybrid", adherence=lambda _: 7.0)(episode()).reward == 1.2
    assert make("exploration", alpha=0.5, scorer=lambda _: 7.0)(episode()).reward == 1.0
    assert make("arpo", scorer=lambda _: 7.0)(episode(text="<think>a</think><answer>b</answer>")).reward == 1.0
