"""GRPO learner: small pure stages with one registry each, and recipes that name a component for each stage.

One training step, from the tasks to the weights, with the file of each part::

    tasks      proposed by the teacher                               collection/task_collector.py
      |          played: one episode                                 rollouts/episode_loop.py
      |                  many at once, their requests batched        rollouts/concurrent_episodes.py
      |                  by a strategy, from its starts              rollouts/episode_player.py
      |          measured, judged, filtered, mixed with replays      measures, objective/objective.py, components
      v
    groups     `Group`: the episodes of one task                     update.py: mini-batches of groups
      |          flattened
      v
    batch      `Batch`: their tokens, concatenated                   batch/batch.py
      |          returns - baselines, scaled
      v
    units      `Units` with advantages, `WeightedBatch`              objective/advantages.py
      |          the action tokens of a micro-batch, `Scored`
      v
    loss       summed over tokens                                    objective/loss.py
      |          backward, in smaller parts if memory runs out        batch/micro_batches.py
      v
    step       of the optimiser                                      optimizer_steps.py
      |
      v
    weights    for the engine that plays the next tasks              collection/policy_weights.py

Subpackages, in import order (each imports only earlier ones): ``recipes`` (algorithms as data, registries of the
stages), ``batch`` (trajectories, tensors, passes through a model), ``components`` (all stages except rollouts),
``objective`` (a recipe's resolved components; advantages, weights, loss), ``rollouts`` (strategies, and the playing of
episodes) and ``ranks`` (several processes), ``measures`` (measurements of an episode for rewards and teachers),
``teacher_requests`` (requests in a teacher's proposals) and ``run`` (folder, logs, models). `components`, `objective`
and `rollouts` do not import each other; registries connect them. The modules above import these: `collection`, `update`
and `warmup` are the parts of a step, `run_parts` checks a configuration and creates the objects of a run, `learner` is
the training loop. `config` and `optimizers` import none of them. Recipes and configuration import no torch.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from .config import StageOverrides, TrainConfig, WarmUp
from .recipes import RECIPES, Component, Credit, Recipe, Stream, c, register_recipe, schedule

if TYPE_CHECKING:
    from .learner import Learner
    from .objective.objective import Objective
    from .run.defaults import configure

_LAZY = {"Learner": "learner", "Objective": "objective.objective", "configure": "run.defaults"}

__all__ = [
    "RECIPES",
    "Component",
    "Credit",
    "Learner",
    "Objective",
    "Recipe",
    "StageOverrides",
    "Stream",
    "TrainConfig",
    "WarmUp",
    "c",
    "configure",
    "register_recipe",
    "schedule",
]


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(importlib.import_module(f".{_LAZY[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
