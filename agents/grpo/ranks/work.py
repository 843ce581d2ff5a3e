"""Work of each process, leader included, for an order: measuring or differentiating its share of a batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from ..batch.batch import Batch
from ..batch.passes import Outputs, Passes
from ..batch.tally import Tally
from ..config import TrainConfig
from ..objective.binding import Clock
from ..objective.loss import LossTerms, WeightedBatch, accumulate_gradients
from ..objective.notices import apply_overrides
from ..recipes import RECIPES
from .channel import RankChannel, unique_weights

_OUTPUTS = ("logp", "entropy", "kl_ref", "hidden", "logp_top")


class RankWork:
    """Models of a process and the losses of the recipe. Every method must be called in all processes at once.

    Args:
        models: the policy, the reference and the model to distil from; the latter two may be None.
    """

    def __init__(self, channel: RankChannel, config: TrainConfig, models: Sequence[Any]):
        self.channel, self.config, self.models = channel, config, models
        self._clock = Clock()
        recipe = apply_overrides(RECIPES[config.recipe], config)
        self._losses = [LossTerms(row, self._clock) for row in (recipe, *recipe.streams)]

    def call(self, name: str, arguments: Sequence[Any]) -> Any:
        """Call the method ``name``, as ordered by the leader.

        Raises:
            LostRank: another process ended or did not answer in time.
        """
        return getattr(self, name)(*arguments)

    def local_passes(self, passes: Passes) -> Passes:
        """Return the passes through this process's models, with the leader's settings."""
        return passes

    def copy_weights(self, *numbers: int) -> None:
        """Broadcast the leader's values of some weights, given by index in `unique_weights`."""
        weights = unique_weights(self.models)
        self.channel.copy_weights([weights[number] for number in numbers])

    def accumulate(
        self,
        passes: Passes,
        number: int,
        weighted: WeightedBatch,
        clock: tuple[int, int],
        shares: Sequence[list[int]],
    ) -> list[Tally]:
        """Accumulate the gradient of loss ``number``; at the leader, return the tallies of all processes."""
        self._clock.step, self._clock.steps = clock
        weighted = replace(weighted, loss=self._losses[number])
        model, reference = self.models[:2]
        share, passes = shares[self.channel.rank], self.local_passes(passes)
        return self.channel.gather(accumulate_gradients(model, weighted, passes, reference=reference, episodes=share))

    def measure(
        self, passes: Passes, model: int, batch: Batch, settings: dict[str, Any], shares: Sequence[list[int]]
    ) -> list[dict[str, Tensor]]:
        """Measure this process's share of a batch.

        Returns:
            at the leader, for each process the outputs at the action tokens of its share, by name, in order; [] in
                other processes.
        """
        share = shares[self.channel.rank]
        passes = self.local_passes(passes)
        out = Passes.measure(passes, self.models[model], batch, episodes=share, **self._resolve(settings))
        place = _places(batch, share)
        found = {name: getattr(out, name) for name in _OUTPUTS}
        return self.channel.gather({n: value[place] for n, value in found.items() if value is not None and len(place)})

    def backward(self, passes: Passes, batch: Batch, settings: dict[str, Any], shares: Sequence[list[int]]) -> None:
        """Accumulate the gradient of this process's share; see `Passes.backward`."""
        share = shares[self.channel.rank]
        self.local_passes(passes).backward(self.models[0], batch, **self._resolve(settings), episodes=share)

    def add_gradients(self) -> None:
        """Add up the gradients of the policy, at the leader."""
        self.channel.add_gradients([weight for weight in self.models[0].parameters() if weight.requires_grad])

    def _resolve(self, settings: dict[str, Any]) -> dict[str, Any]:
        """Return the settings with the number of the reference replaced by the model."""
        number = settings.get("reference")
        return {**settings, "reference": None if number is None else self.models[number]}


def split_episodes(batch: Batch, episodes: Sequence[int], count: int) -> list[list[int]]:
    """Divide episodes, in order, into ``count`` shares with nearly equal numbers of tokens; a share may be empty.

    Neighbouring episodes stay together, so that most prompts are still encoded once.
    """
    length = torch.bincount(batch.episode_of, minlength=batch.episodes)
    tokens = length[torch.tensor(list(episodes), dtype=torch.int64)].double()
    middle = tokens.cumsum(0) - tokens / 2
    owner = (middle * count / tokens.sum().clamp(min=1)).long().clamp(max=count - 1).tolist()
    shares: list[list[int]] = [[] for _ in range(count)]
    for episode, rank in zip(episodes, owner, strict=True):
        shares[rank].append(episode)
    return shares


def join_shares(batch: Batch, shares: Sequence[Sequence[int]], parts: Sequence[Mapping[str, Tensor]]) -> Outputs:
    """Merge the measurements of all shares into outputs of the whole batch; 0 at tokens without measurements."""
    joined: dict[str, Tensor] = {}
    for episodes, part in zip(shares, parts, strict=True):
        place = _places(batch, episodes)
        for name, value in part.items():
            if name not in joined:
                joined[name] = value.new_zeros(len(batch.ids), *value.shape[1:])
            joined[name][place] = value
    empty = batch.logp_mu.new_zeros(len(batch.ids))
    others = {name: joined.get(name) for name in _OUTPUTS[2:]}
    return Outputs(joined.get("logp", empty), joined.get("entropy", empty), **others)


def _places(batch: Batch, episodes: Sequence[int]) -> Tensor:
    """Return the indices of the action tokens of some episodes."""
    chosen = batch.truncated.new_zeros(batch.episodes)
    chosen[list(episodes)] = True
    return (batch.action & batch.per_token(chosen)).nonzero()[:, 0]


def strip(batch: Batch) -> Batch:
    """Return the batch without data that forward passes and losses do not read, such as trajectories and groups."""
    bare = replace(batch, trajectories=(), group_list=(), head=None, hidden=None)
    bare.__dict__["kl_scale"] = batch.kl_scale  # a cached property, computed from the trajectories
    return bare
