"""Warm-up: supervised steps on oracle solutions, until a model answers in the right form and sometimes succeeds.

The data are episodes of the environment's oracle, recorded like rollouts: the same token ids, masks and packing as in
training. Tasks are drawn uniformly from the parameter space and the training split.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import gymnasium
import numpy as np
import torch

from ..language.model import LanguageModel
from .batch.batch import collate
from .batch.forward import Forward
from .batch.tally import Tally
from .batch.trajectory import Group, Origin, Trajectory, Turn
from .config import WarmUp
from .optimizers import make_optimizer
from .rollouts.environments import Environments
from .rollouts.independent import Independent
from .rollouts.player import Player
from .rollouts.starts import RolloutTask, TokenLimits

WARM_UP_STREAM = 1
"""Key of the warm-up's random stream; `collection` has the others."""
PROBE_EVERY, PROBE_EPISODES = 25, 256
RAMP_STEPS = 60
_FORWARD = Forward(packer="plain")


def demonstrate(
    env: gymnasium.Env[Any, Any], language: LanguageModel, seed: int, params: dict[str, Any], context: int
) -> Trajectory:
    """Record an episode of the environment's oracle as tokens, up to the last turn that fits ``context``."""
    renderer = language.renderer
    observation, first = env.reset(seed=seed, options={"params": params})
    turns: list[Turn] = []
    done, used = False, 0
    while not done:
        action = env.unwrapped.oracle()  # type: ignore[attr-defined]
        act_ids = renderer.action_ids(action)
        obs_ids = renderer.observation(observation, first=not turns)
        used += len(obs_ids) + len(act_ids)
        if turns and used > context:
            break
        observation, reward, terminated, truncated, _ = env.step(action)
        done = terminated or truncated
        origins = (int(Origin.TEACHER),) * len(act_ids)
        turns.append(
            Turn(obs_ids, act_ids, (0.0,) * len(act_ids), "stop", float(reward), observation, action, origins=origins)
        )
    tokens = sum(len(turn.act_ids) for turn in turns)
    return Trajectory(
        first["task_id"],
        first["params"],
        first["difficulty"],
        tuple(turns),
        success=True,
        progress=1.0,
        truncated=False,
        valid=True,
        max_tokens=tokens,
        version=-1,
    )


def warm_up(
    language: LanguageModel, environments: Environments, settings: WarmUp, steps: int, seed: int, limits: TokenLimits
) -> Iterator[dict[str, float]]:
    """Train the model in place, one step per item, until the target success or the bound on steps is reached.

    Yields:
        ``{"step", "loss"}`` (mean negative log-likelihood of a token, nats), and "success" if it was measured.
    """
    optimizer = make_optimizer(language.model.parameters(), lr=settings.lr)
    env = environments.take()
    space = environments.param_space
    engine = language.engine(PROBE_EPISODES, limits.context)
    for step in range(1, steps + 1):
        rng = np.random.default_rng([seed, WARM_UP_STREAM, step])
        seeds = rng.integers(0, 2**31, settings.batch).tolist()
        episodes = [demonstrate(env, language, s, space.sample(rng), limits.context) for s in seeds]
        for group in optimizer.param_groups:
            group["lr"] = settings.lr * min(1.0, step / RAMP_STEPS)
        row = {"step": step, **supervised_step(language.model, episodes).means()}
        torch.nn.utils.clip_grad_norm_(language.model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        if step % PROBE_EVERY == 0:
            tasks = [RolloutTask(space.sample(rng), int(rng.integers(2**31)), 1) for _ in range(PROBE_EPISODES)]
            engine.seed(int(rng.integers(2**31)))
            player = Player(environments, engine, language.renderer, limits, 1.0, rng)
            groups = Independent().play(tasks, player)
            row["success"] = float(np.mean([group.trajectories[0].success for group in groups]))
        yield row
        if row.get("success", 0.0) >= settings.target:
            break
    environments.give_back(env)


def supervised_step(model: Any, episodes: Sequence[Trajectory], forward: Forward = _FORWARD) -> Tally:
    """Accumulate the gradient of the mean negative log-likelihood of the action tokens."""
    batch = collate([Group(-1, (episode,)) for episode in episodes])
    count = int(batch.action.sum())
    tally = Tally()
    for micro in forward.micro_batches(batch, range(batch.episodes)):
        logp = forward.score(model, micro).logp
        loss = -logp.sum() / count
        loss.backward()
        tally.add("loss", -logp.sum().item(), len(logp))
    return tally
