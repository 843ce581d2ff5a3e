"""Warm-up: supervised steps on oracle solutions, until a model answers in the right form and is right now and then.

The data are episodes that an environment's oracle plays on the learner's own rollout path, so token ids, turns and
masks are those of training. Tasks are drawn uniformly from the parameter space and from the training split.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np
import torch

from ..grpo.batch import collate
from ..grpo.metrics import Tally
from ..grpo.objective import score
from ..grpo.packing import PACKERS
from ..grpo.rollout import Environments
from ..grpo.types import Group, Trajectory, Turn
from .model import LanguageModel


@dataclass(frozen=True)
class WarmUp:
    """Settings of the warm-up.

    Attributes:
        steps: optimiser steps; 0 skips the warm-up.
        batch: episodes a step.
        lr: peak learning rate of AdamW, reached after a tenth of the steps and then constant.
    """

    steps: int = 400
    batch: int = 64
    lr: float = 2e-3


def demonstrate(env: gymnasium.Env[Any, Any], language: LanguageModel, seed: int, params: dict[str, Any]) -> Trajectory:
    """One episode played by the environment's oracle, as tokens."""
    renderer = language.renderer
    observation, first = env.reset(seed=seed, options={"params": params})
    turns: list[Turn] = []
    done, info = False, first
    while not done:
        action = env.unwrapped.oracle()  # type: ignore[attr-defined]
        act_ids = renderer.action_ids(action)
        obs_ids = renderer.observation(observation, first=not turns)
        observation, reward, terminated, truncated, info = env.step(action)
        done = terminated or truncated
        turns.append(Turn(obs_ids, act_ids, (0.0,) * len(act_ids), "stop", float(reward)))
    tokens = sum(len(turn.act_ids) for turn in turns)
    return Trajectory(
        first["task_id"], first["params"], first["difficulty"], tuple(turns), True, 1.0, False, True, tokens
    )


def warm_up(
    language: LanguageModel, environments: Environments, settings: WarmUp, seed: int, packer: str = "plain"
) -> Iterator[dict[str, float]]:
    """Train in place, one step per item; yields ``{"step", "loss"}`` (mean negative log-likelihood of a token, nats)."""
    optimizer = torch.optim.AdamW(language.model.parameters(), lr=settings.lr, weight_decay=0.0, fused=True)
    env = environments.take()
    space = environments.param_space
    for step in range(settings.steps):
        rng = np.random.default_rng([seed, 1, step])
        seeds = rng.integers(0, 2**31, settings.batch).tolist()
        episodes = [demonstrate(env, language, s, space.sample(rng)) for s in seeds]
        for group in optimizer.param_groups:
            group["lr"] = settings.lr * min(1.0, (step + 1) / max(1, settings.steps // 10))
        tally = supervised_step(language.model, episodes, packer)
        torch.nn.utils.clip_grad_norm_(language.model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        yield {"step": step + 1, **tally.means()}
    environments.give_back(env)


def supervised_step(model: Any, episodes: Sequence[Trajectory], packer: str, budget: int = 16384) -> Tally:
    """Accumulate the gradient of the mean negative log-likelihood of the action tokens."""
    batch = collate([Group(-1, (episode,)) for episode in episodes])
    count = int(batch.action.sum())
    tally = Tally()
    for micro in PACKERS[packer](batch, range(batch.rows), budget):
        logp, _ = score(model, micro, 1.0)
        loss = -logp.sum() / count
        loss.backward()
        tally.add("loss", -logp.sum().item(), len(logp))
    return tally
