"""The other processes' side: carry out the leader's orders until it says stop."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any

import torch

from ...language.precision import set_product_precision
from ..batch.forward import Forward
from ..batch.memory_limit import MemoryLimit
from ..config import TrainConfig
from ..objective.binding import Clock
from ..objective.loss import LossTerms, accumulate_gradients
from ..objective.notices import apply_overrides
from ..optimizers import widen_gradients
from ..recipes import RECIPES
from .channel import RankChannel, unique_weights
from .work import measure_share


class Follower:
    """Copies of the models, and the losses of the recipe."""

    def __init__(self, channel: RankChannel):
        self.channel = channel

    def serve(self) -> None:
        """Carry out orders until "stop".

        Raises:
            LostRank: another process ended.
        """
        while True:
            name, data = self.channel.order()
            if name == "stop":
                return
            getattr(self, f"_{name}")(data)

    def _begin(self, data: Any) -> None:
        config, threads, saved = data
        torch.set_num_threads(threads)
        # From a process of the same run; whole models are pickled so that nothing has to be on this machine's disk.
        where = None if self.channel.device.type == "cpu" else self.channel.device
        self._models = torch.load(io.BytesIO(saved), map_location=where, weights_only=False)
        self._weights = unique_weights(self._models)
        widen_gradients(self._models[0].parameters())
        read = TrainConfig.from_json(config)
        set_product_precision(read.device, read.dtype, read.tf32)
        recipe = apply_overrides(RECIPES[read.recipe], read)
        self._clock, self._memory = Clock(), MemoryLimit()
        self._losses = [LossTerms(row, self._clock) for row in (recipe, *recipe.streams)]

    def _weights_changed(self, data: Any) -> None:
        self.channel.copy_weights([self._weights[i] for i in data])

    def _accumulate(self, data: Any) -> None:
        forward, number, weighted, (self._clock.step, self._clock.steps), shares = data
        model, reference = self._models[:2]
        weighted, share = replace(weighted, loss=self._losses[number]), shares[self.channel.rank]
        tally = accumulate_gradients(model, weighted, self._here(forward), reference=reference, episodes=share)
        self.channel.gather(tally)

    def _gradients(self, data: Any) -> None:
        self.channel.add_gradients([w for w in self._models[0].parameters() if w.requires_grad])

    def _measure(self, data: Any) -> None:
        forward, (model, batch, settings), shares = data
        share, forward = shares[self.channel.rank], self._here(forward)
        self.channel.gather(measure_share(forward, self._models[model], batch, share, self._resolve(settings)))

    def _backward(self, data: Any) -> None:
        forward, (model, batch, settings), shares = data
        share = shares[self.channel.rank]
        self._here(forward).backward(self._models[model], batch, **self._resolve(settings), episodes=share)

    def _here(self, forward: Forward) -> Forward:
        """Return the leader's settings with this process's memory limits."""
        return replace(forward, memory=self._memory)

    def _resolve(self, settings: dict[str, Any]) -> dict[str, Any]:
        """Return the settings with the reference itself in place of its number."""
        number = settings["reference"]
        return {**settings, "reference": None if number is None else self._models[number]}
