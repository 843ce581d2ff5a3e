"""Properties of every registered reward: bounds, ranks, invalid episodes, state, papers."""

from __future__ import annotations

import itertools
import json
import math
import string
import subprocess
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from palaestra.errors import MissingExtra
from palaestra.rewards import REWARDS, Episode, Reward, Step
from palaestra.rewards.algebra import Composite, Shaped
from palaestra.rewards.models.token_episode import TokenEpisode
from palaestra.rewards.terms.length_limits import Overlong
from palaestra.rewards.terms.outcome import EnvironmentReward

# Registered here and not by a test of something else in the same process.
NAMES = sorted(name for name, cls in REWARDS.items() if cls.__module__.startswith("palaestra.rewards"))

OWN = {"alone", "clip", "gate", "outcome", "scheduled", "shaped", "sum", "token-budget", "weighted"}
"""Rewards that come from no paper."""


def options(name: str) -> dict[str, Any]:
    """Return the arguments without which the constructor fails."""
    child = Overlong(max_tokens=40)
    return {
        "clip": {"child": EnvironmentReward(), "low": 0.0, "high": 1.0},
        "gate": {"child": child},
        "goal-text": {"goal": "the cat 7", "baseline": "the dog"},
        "geometric-mean": {"a": Reward_("judge_score", 0.0), "b": Reward_("confidence", 0.0)},
        "lare": {"hidden": 0},
        "normalize": {"correct": EnvironmentReward(), "brevity": child},
        "program": {"file": Path(__file__).parents[1] / "reward_program.py"},
        "saturate": {"child": child},
        "scheduled": {"child": child, "schedule": {"kind": "linear", "start": 1.0, "end": 0.0}},
        "shaped": {"brevity": child, "judged": Reward_("judge_score", 0.0), "width": 0.99},
        "sum": {"correct": EnvironmentReward(), "brevity": child},
        "trust": {"child": child},
        "veto": {"child": child, "critic": Reward_("judge_score", 0.0)},
        "weighted": {"child": child, "weight": -2.0},
        "alone": {"child": child},
    }.get(name, {})


class Reward_(Reward):
    """Reads a score in [0, 1] from the extras."""

    def __init__(self, key: str, low: float):
        self.key, self.low = key, low

    @property
    def bounds(self) -> tuple[float, float]:
        return self.low, 1.0

    def value(self, episode: Episode) -> float:
        return float(episode.extras[self.key])


def made(name: str) -> Reward:
    """The reward, with a model of its own where it is one."""
    if name in ("reward-model", "implicit-process"):
        return with_model(name)
    return REWARDS[name](**options(name))


def with_model(name: str) -> Reward:
    if name == "reward-model":
        from palaestra.rewards.models import RewardModel

        return REWARDS[name](model=RewardModel(seed=0))  # type: ignore[call-arg]
    return REWARDS[name](prm=Lengths())  # type: ignore[call-arg]


class Lengths:
    """A process reward model that likes long turns."""

    def turn_rewards(self, episodes: Sequence[Any]) -> list[list[float]]:
        return [[0.1 * (end - start) for start, end in episode.turns] for episode in episodes]


def text(rng: np.random.Generator) -> str:
    """An answer that may have tags, a confidence, a tool call, words of reasoning, repetition, or nothing."""
    words = ["wait", "therefore", "however", "the", "cat", "7", "13", "so", "\n\n", *string.ascii_lowercase[:6]]
    body = " ".join(rng.choice(words, rng.integers(0, 30)))
    answer = str(rng.integers(0, 3))
    parts = [
        f"<think>{body}</think>",
        body,
        f"<answer>{answer}</answer>",
        f"\\boxed{{{answer}}}",
        f"<confidence>{rng.uniform(-0.2, 1.2):.2f}</confidence>",
        '<tool_call>{"name": "f", "parameters": {"x": 1}}</tool_call>',
    ]
    return "\n".join(part for part in parts if rng.random() < 0.5)


def some_episode(rng: np.random.Generator, valid: bool = True) -> Episode:
    steps = []
    for _ in range(rng.integers(1, 5)):
        tokens = int(rng.integers(1, 40))
        reward = float(rng.integers(0, 2))
        logps = tuple((-rng.exponential(1.0, tokens)).tolist())
        steps.append(Step("What is 3 + 4?", text(rng), reward, {"answer": reward}, tokens, logps))
    success = bool(rng.random() < 0.5)
    progress = 1.0 if success else float(rng.uniform(0, 1))
    extras = some_extras(rng, steps)
    truncated = bool(rng.random() < 0.2) and not success
    return Episode("t", {"digits": 1}, tuple(steps), success, progress, valid, truncated, 160, extras)


def some_extras(rng: np.random.Generator, steps: Sequence[Step]) -> dict[str, Any]:
    """Everything that any reward needs, drawn without regard to success."""
    count = len(steps)
    tokens = sum(step.tokens for step in steps)
    unit = rng.uniform(0, 1, count).tolist()
    memory = float(rng.integers(0, 2000))
    ends = np.cumsum([1, *(step.tokens for step in steps)]).tolist()
    turns = tuple(itertools.pairwise(ends))
    scores = ("judge_score", "process_score", "thinking_score", "confidence", "reward", "rm_score", "model_score")
    return {
        **{name: float(rng.uniform(0, 1)) for name in scores},
        "reward_model_score": float(rng.normal(0, 3)),
        "dense_reward": float(rng.normal(0, 100)),
        "sql_reference": {"schema": "CREATE TABLE t (a INT); INSERT INTO t VALUES (1);", "gold": "SELECT a FROM t"},
        "token_episode": TokenEpisode((0,) * ends[-1], turns, 0.0),
        "reference_scores": rng.normal(0, 3, 4).tolist(),
        "reference": "the cat 7",
        "forbidden": bool(rng.integers(0, 2)),
        "rubric": [{"text": "short", "points": 5}, {"text": "polite", "points": -2}],
        "achieved": [[int(rng.integers(0, 3))] for _ in steps],
        "agent": str(rng.integers(0, 2)),
        "atom_scores": unit,
        "base_logps": (-rng.exponential(1, 3)).tolist(),
        "beam_rank": int(rng.integers(0, 8)),
        "thought_logps": (-rng.exponential(1, 3)).tolist(),
        "coalition_values": rng.uniform(0, 1, 2**count).tolist(),
        "completion": np.sort(rng.uniform(0, 1, count)).tolist(),
        "consistency": int(rng.integers(-1, 2)),
        "echo_logps": (-rng.exponential(1, 3)).tolist(),
        "gradient_features": rng.normal(0, 1, 3).tolist(),
        "logps_without_prompt": (-rng.exponential(2, tokens)).tolist(),
        "mark": int(rng.integers(1, 4)),
        "milestones": [int(rng.integers(0, 6)), 5],
        "memory_length": memory,
        "source_length": memory + 1000.0,
        "memory_calls": [[bool(rng.random() < 0.5)] for _ in steps],
        "memory_stores": [[bool(rng.random() < 0.5)] * int(rng.integers(0, 3)) for _ in steps],
        "objective": float(rng.uniform(0, 3)),
        "pair": "p",
        "positive_logps": (-rng.exponential(1, 3)).tolist(),
        "negative_logps": (-rng.exponential(1, 3)).tolist(),
        "potentials": rng.normal(0, 1, count + 1).tolist(),
        "positions": rng.integers(0, 9, (count + 1, 2)).tolist(),
        "waypoints": rng.integers(0, 9, (3, 2)).tolist(),
        "prefix_values": rng.uniform(0, 1, count + 1).tolist(),
        "solver_scores": unit,
        "step_labels": (rng.uniform(0, 1, count) < 0.5).tolist(),
        "step_scores": rng.uniform(0, 1, count).tolist(),
        "target_tokens": 40.0,
        "teacher_answer": "1",
        "token_confidence": rng.exponential(1, (count, 3)).tolist(),
        "tests": rng.choice(["", "", "wrong", "error", "limit", "syntax"], rng.integers(1, 5)).tolist(),
        "system_text": "Reply in <plan> </plan> and <answer> </answer>.",
        "output_streams": {"expected": {"stdout": "7", "stderr": ""}, "given": {"stdout": "7"}},
        "expected_calls": [{"name": "f", "parameters": {"x": 1}}],
        "solution_steps": ["3 + 4 = 7", "7"],
    }


@cache
def some_batch(seed: int, invalid: float = 0.0) -> list[list[Episode]]:
    """Two groups of episodes; made once, as that takes longer than to judge them."""
    rng = np.random.default_rng(seed)
    sizes = [int(size) for size in rng.integers(1, 6, 2)]
    return [[some_episode(rng, bool(rng.random() >= invalid)) for _ in range(size)] for size in sizes]


def batches(name: str, count: int, invalid: float = 0.0) -> Iterator[tuple[Reward, list[list[Episode]]]]:
    """A new reward and a batch for it, ``count`` times; a tenth as often where each episode is a program to run."""
    for seed in range(count // 10 if name == "program" else count):
        yield made(name), some_batch(seed, invalid)


def ranked(reward: Reward, batch: Sequence[Sequence[Episode]]) -> None:
    for episodes, verdicts in zip(batch, reward.batch(batch), strict=True):
        worth = [(e.success, v.reward) for e, v in zip(episodes, verdicts, strict=True) if v.valid]
        lost = [value for success, value in worth if not success]
        won = [value for success, value in worth if success]
        assert not lost or not won or max(lost) <= min(won) + 1e-9, batch


@pytest.mark.parametrize("name", [name for name in NAMES if REWARDS[name].ranks_success])
def test_no_failed_episode_outranks_a_success(name: str):
    for reward, batch in batches(name, 60):
        ranked(reward, batch)


@pytest.mark.parametrize("name", NAMES)
def test_values_stay_between_the_bounds(name: str):
    for reward, batch in batches(name, 20):
        low, high = reward.bounds
        assert low <= high
        for verdict in (v for group in reward.batch(batch) for v in group if v.valid):
            assert low - 1e-9 <= verdict.reward <= high + 1e-9
            assert 0 <= verdict.score <= 1


@pytest.mark.parametrize("name", NAMES)
def test_bounded_rewards_can_shape_a_success_without_outranking_it(name: str):
    for reward, batch in batches(name, 20):
        low, high = reward.bounds
        if math.isfinite(low) and math.isfinite(high) and low < high:
            ranked(Shaped(width=0.99, part=reward), batch)


@pytest.mark.parametrize("name", NAMES)
def test_an_episode_lost_by_the_machinery_is_never_judged(name: str):
    for reward, batch in batches(name, 20, invalid=0.4):
        for group, verdicts in zip(batch, reward.batch(batch), strict=True):
            assert len(verdicts) == len(group)
            for episode, verdict in zip(group, verdicts, strict=True):
                assert episode.valid or (not verdict.valid and verdict.reward == 0)


@pytest.mark.parametrize("name", NAMES)
def test_a_saved_state_is_plain_data_and_continues_where_it_was(name: str):
    whole, stopped = made(name), made(name)
    for reward in (whole, stopped):
        reward.advance(3, 10)
        reward.batch(some_batch(1))
    resumed = made(name)
    resumed.load_state_dict(json.loads(json.dumps(stopped.state_dict())))
    resumed.advance(4, 10)
    whole.advance(4, 10)
    expected = [[v.reward for v in group] for group in whole.batch(some_batch(2))]
    assert [[v.reward for v in group] for group in resumed.batch(some_batch(2))] == expected


@pytest.mark.parametrize("name", NAMES)
def test_every_reward_prints_its_name_and_where_it_comes_from(name: str):
    assert name in made(name).tree().splitlines()[0]
    assert bool(REWARDS[name].paper) == (name not in OWN)


@pytest.mark.parametrize("name", [name for name in NAMES if not issubclass(REWARDS[name], Composite)])
def test_what_it_needs_is_named(name: str):
    # With nothing but what is named in `needs`, and the references that any caller has, it must do.
    reward = made(name)
    rng = np.random.default_rng(5)
    full = [some_episode(rng) for _ in range(4)]
    bare = []
    for episode in full:
        extras = {key: value for key, value in episode.extras.items() if key in reward.needs}
        steps = [Step(s.observation, s.action, s.reward, s.terms, s.tokens) for s in episode.steps]
        kept = episode.steps if "logps" in reward.needs else tuple(steps)
        bare.append(
            Episode(
                episode.task_id,
                episode.params,
                kept,
                episode.success,
                episode.progress,
                True,
                episode.truncated,
                160,
                extras,
            )
        )
    assert len(reward.group(bare)) == 4


def test_importing_rewards_loads_nothing_heavy():
    code = "import sys, palaestra.rewards; print(*sorted({n.split('.')[0] for n in sys.modules}))"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    heavy = {"torch", "sympy", "math_verify", "jsonschema", "openai", "sqlglot", "scipy"}
    assert heavy.isdisjoint(done.stdout.split())


def test_a_missing_extra_is_an_import_error_with_the_command():
    assert "pip install 'palaestra[math]'" in str(MissingExtra("math", "math"))


@pytest.mark.parametrize("name", NAMES)
def test_a_batch_is_judged_once_with_one_state_and_one_total(name):
    """The same numbers in terms, turns and state, however often the verdicts are read; rewards with randomness or
    memory among them."""
    rng = np.random.default_rng(5)
    groups = [[some_episode(rng) for _ in range(3)] for _ in range(2)]
    ours, again = made(name), made(name)
    verdicts, same = ours.batch(groups), again.batch(groups)
    assert ours.state_dict() == again.state_dict()
    for verdict, other in zip(itertools.chain(*verdicts), itertools.chain(*same), strict=True):
        assert verdict == other
        for term, values in verdict.steps.items():
            assert math.fsum(values) == pytest.approx(verdict.terms[term], abs=1e-6)
