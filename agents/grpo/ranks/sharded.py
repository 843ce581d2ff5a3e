"""Runs whose models are sharded over the processes: leader and followers.

In addition to its shards the leader holds a whole copy of the policy's weights, in the type used for sampling. This
copy plays, is evaluated and saved; after each update the trained weights are gathered into it. Measuring and training
use the sharded models in all processes at once. Auxiliary models and averages of the policy's weights are whole and
exist only at the leader.
"""

from __future__ import annotations

import functools
import gc
import io
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

import torch

from ...language.adapters import BaseOnly
from ..batch.passes import Passes
from ..config import TrainConfig
from ..objective.notices import apply_overrides
from ..recipes import RECIPES
from .channel import convert_rank_errors
from .follower import Follower
from .leader import Ranks, SplitPasses
from .part_steps import PartSteps
from .sharding import check_model, outline, root_of
from .shards import Shards

P = ParamSpec("P")
T = TypeVar("T")


class ShardedRanks(Ranks):
    """The processes of a run over which models are sharded, controlled by their leader."""

    splits = True

    def begin(self, config: TrainConfig, models: Sequence[Any], passes: Passes) -> SplitPasses:
        """Shard the models over the processes, replacing earlier ones; return the passes through them.

        Afterwards this process holds only its shards of the reference and of the model to distil from. A model to
        distil from that also plays stays whole and is not sharded.

        Args:
            models: the policy, the reference and the model to distil from; the latter two may be None.

        Raises:
            InputError: a model cannot be sharded.
        """
        self.work = None  # frees the earlier shards before new ones are made
        gc.collect()  # torch's sharded modules are in reference cycles
        recipe = apply_overrides(RECIPES[config.recipe], config)
        teacher_plays = recipe.rollout.name != "independent" or any(
            stream.source.name == "teacher_model" for stream in recipe.streams
        )
        self.models = [*models[:2], None if teacher_plays else models[2]]
        for model in self.models:
            if model is not None:
                check_model(root_of(model))
        buffer = io.BytesIO()
        torch.save(outline(self.models), buffer)
        data = (config.to_json(), torch.get_num_threads(), buffer.getvalue())
        self.channel.order(("begin", data))
        with convert_rank_errors(among_others=True):
            self.work = Shards(self.channel, data, self.models)
        for model in self.models[1:]:
            if model is not None and not isinstance(model, BaseOnly):
                model.to("meta")
        return self._split(passes)

    def optimizer_steps(self, config: TrainConfig) -> ShardedSteps:
        """Return the steps of all processes' optimisers."""
        return ShardedSteps(self, self.models[0])

    def collect_gradients(self) -> None:
        """Do nothing: the backward pass leaves each process with its shard of the sum."""


def _together(method: Callable[Concatenate[PartSteps, P], T]) -> Callable[Concatenate[ShardedSteps, P], T]:
    """Wrap a method of `PartSteps` in a call in all processes, which returns this process's result."""

    @functools.wraps(method)
    def call(self: ShardedSteps, *arguments: P.args, **named: P.kwargs) -> T:
        assert not named
        return self._ranks.call_all("step", method.__name__, *arguments)

    return call


class ShardedSteps:
    """Steps of all processes' optimisers on a sharded policy; see `OptimizerSteps`.

    Args:
        whole: the leader's whole copy of the policy.
    """

    def __init__(self, ranks: ShardedRanks, whole: Any):
        self._ranks = ranks
        self._whole = [weight for weight in whole.parameters() if weight.requires_grad]
        self._moved = False

    @property
    def optimizer(self) -> torch.optim.Optimizer:
        """This process's optimiser, over its shards of the weights."""
        return self._ranks.work.steps.optimizer

    reset = _together(PartSteps.reset)
    set_rate = _together(PartSteps.set_rate)
    clip = _together(PartSteps.clip)
    clear = _together(PartSteps.clear)
    remember = _together(PartSteps.remember)
    undo = _together(PartSteps.undo)
    move_reference = _together(PartSteps.move_reference)

    def take(self) -> None:
        """Take a step; the leader's whole copy changes only at `finish`."""
        self._ranks.call_all("step", "take")
        self._moved = True

    @torch.no_grad()
    def finish(self) -> None:
        """Gather the trained weights into the leader's whole copy, if there was a step."""
        if not self._moved:
            return
        self._ranks.channel.order(("step", ("gather_policy",)))
        self._ranks.work.call("step", ("gather_policy", lambda number, weight: self._whole[number].copy_(weight)))
        self._moved = False

    def save(self, folder: Path) -> None:
        """Write the shards of all processes.

        Raises:
            OSError: a process could not write its shards.
        """
        if failed := _first_failure(self._ranks.call_all("attempt", "save", folder)):
            raise OSError(failed)

    def load(self, folder: Path) -> None:
        """Read the shards of all processes; any number of processes may have written the files.

        Raises:
            RuntimeError: a process could not read its shards.
        """
        if failed := _first_failure(self._ranks.call_all("attempt", "load", folder)):
            raise RuntimeError(failed)


def _first_failure(errors: Sequence[str | None]) -> str | None:
    return next((f"process {rank}: {error}" for rank, error in enumerate(errors) if error is not None), None)


class ShardedFollower(Follower):
    """Process that executes the leader's orders on its shards of the models."""

    work = Shards
