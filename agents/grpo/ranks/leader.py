"""The leader's side: passes through the models that are split over the processes of a run.

`SplitForward` takes the place of `Forward`: each process measures a share of the batch with the policy, its reference
or the model to distil from. Gradients accumulate in each process until `Ranks.collect_gradients` adds them up. Weights
that have changed since the last order are sent with the next one. Models without copies in the other processes are
computed by the leader alone.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import torch
from torch import Tensor

from ....errors import InputError
from ..batch.batch import Batch
from ..batch.forward import Forward, Outputs
from ..batch.tally import Tally
from ..config import TrainConfig
from ..objective.loss import LossTerms, WeightedBatch, accumulate_gradients
from ..optimizer_steps import OptimizerSteps
from .channel import RankChannel, unique_weights
from .shares import split_episodes, strip, without_loss
from .work import join_shares, measure_share


class Ranks:
    """The processes of a run, as their leader sees them."""

    splits = False
    """True if the models are split over them."""

    @staticmethod
    def check(loss: LossTerms, recipe: str) -> None:
        """Raise InputError if a loss cannot be computed in shares. Loads no model."""
        for part in loss.parts:
            if not loss.coupled and part.state_dict():
                raise InputError(
                    f"{part.component.name!r} of recipe {recipe!r} remembers what it saw of each part of a batch, "
                    'which several processes cannot share; declare needs("batch") of it, or train without --nproc.'
                )

    def __init__(self, channel: RankChannel):
        self.channel = channel
        self.models: list[Any] = []
        """The policy, the reference and the model to distil from, as `SplitForward` knows them."""
        self._weights: list[Tensor] = []
        self._sent: list[int] = []

    def begin(self, config: TrainConfig, models: Sequence[Any], forward: Forward) -> SplitForward:
        """Send copies of the policy, the reference and the model to distil from (each may be None) to every process,
        replacing earlier ones. Return the passes through them."""
        buffer = io.BytesIO()
        torch.save(list(models), buffer)
        self.channel.order(("begin", (config.to_json(), torch.get_num_threads(), buffer.getvalue())))
        self.models, self._weights = list(models), unique_weights(models)
        self._sent = [weight._version for weight in self._weights]
        return self._split(forward)

    def optimizer_steps(self, config: TrainConfig) -> OptimizerSteps:
        """Return the steps of the optimiser, which the leader takes alone."""
        return OptimizerSteps(config, self.models[0], self.models[1])

    def number(self, model: Any) -> int | None:
        """Return the number of a model in the other processes, if they have a copy."""
        return next((i for i, known in enumerate(self.models) if known is model and model is not None), None)

    def accumulate(self, weighted: WeightedBatch, number: int, forward: Forward, reference: Any) -> Tally:
        """Accumulate the gradient of a loss; each process computes the part of its episodes.

        Args:
            number: index of the loss, 0 for the rollouts, then one for each stream.
        """
        if weighted.loss.coupled:
            # The leader evaluates the loss; the processes share the log-probabilities and the backward passes.
            gathering = self._split(forward, gathers=True)
            return accumulate_gradients(self.models[0], weighted, gathering, reference=reference)
        shares = split_episodes(weighted.batch, weighted.episodes, self.channel.size)
        tally = Tally()
        for losses in self._accumulate_in_shares(weighted, number, plain(forward), reference, shares):
            tally.merge(losses)
        return tally

    def _accumulate_in_shares(
        self, weighted: WeightedBatch, number: int, forward: Forward, reference: Any, shares: list[list[int]]
    ) -> list[Tally]:
        self._send("accumulate", (forward, number, *without_loss(weighted), shares))
        mine = accumulate_gradients(self.models[0], weighted, forward, reference=reference, episodes=shares[0])
        return self.channel.gather(mine)

    def collect_gradients(self) -> None:
        """Add up the gradients of the policy."""
        self._send("gradients", None)
        self.channel.add_gradients([w for w in self.models[0].parameters() if w.requires_grad])

    def measure(self, forward: Forward, model: int, batch: Batch, settings: dict[str, Any]) -> Outputs:
        """Measure every episode of a batch in shares; see `Forward.measure`."""
        shares = split_episodes(batch, range(batch.episodes), self.channel.size)
        alone = plain(forward)
        self._send("measure", (alone, (model, strip(batch), self._refer(settings)), shares))
        mine = measure_share(alone, self.models[model], batch, shares[0], settings)
        return join_shares(batch, shares, self.channel.gather(mine))

    def backward(
        self, forward: Forward, model: int, batch: Batch, settings: dict[str, Any], episodes: Sequence[int]
    ) -> None:
        """Accumulate a gradient in shares; see `Forward.backward`."""
        shares = split_episodes(batch, episodes, self.channel.size)
        alone = plain(forward)
        self._send("backward", (alone, (model, strip(batch), self._refer(settings)), shares))
        alone.backward(self.models[model], batch, **settings, episodes=shares[0])

    def stop(self) -> None:
        """Let the other processes end."""
        self.channel.order(("stop", None))

    def _split(self, forward: Forward, gathers: bool = False) -> SplitForward:
        own = {item.name: getattr(forward, item.name) for item in fields(Forward)}
        return SplitForward(**own, ranks=self, gathers=gathers)

    def _refer(self, settings: dict[str, Any]) -> dict[str, Any]:
        """Return the settings with the number of the reference in place of the model."""
        return {**settings, "reference": self.number(settings.get("reference"))}

    def _send(self, name: str, data: Any) -> None:
        """Send an order, after the weights that changed since the last one."""
        now = [weight._version for weight in self._weights]
        changed = [i for i, (old, new) in enumerate(zip(self._sent, now, strict=True)) if old != new]
        if changed:
            self.channel.order(("weights_changed", changed))
            self.channel.copy_weights([self._weights[i] for i in changed])
            self._sent = now
        self.channel.order((name, data))


@dataclass(frozen=True)
class SplitForward(Forward):
    """`Forward` whose passes through known models are split over the processes.

    Attributes:
        ranks: the processes.
        gathers: gradients of the policy are added up afterwards, so that they may be computed in shares.
    """

    ranks: Ranks = field(kw_only=True)
    gathers: bool = False

    def measure(self, model: Any, batch: Batch, *, episodes: Sequence[int] | None = None, **settings: Any) -> Outputs:
        number = self.ranks.number(model)
        if number is None or episodes is not None or not batch.episodes or not self._knows(settings):
            return super().measure(model, batch, episodes=episodes, **settings)
        return self.ranks.measure(self, number, batch, settings)

    def backward(
        self, model: Any, batch: Batch, logp: Tensor, *, episodes: Sequence[int] | None = None, **settings: Any
    ) -> None:
        if not self.gathers or self.ranks.number(model) != 0 or not self._knows(settings):
            return super().backward(model, batch, logp, episodes=episodes, **settings)
        every = range(batch.episodes) if episodes is None else episodes
        return self.ranks.backward(self, 0, batch, {"logp": logp, **settings}, every)

    def _knows(self, settings: dict[str, Any]) -> bool:
        reference = settings.get("reference")
        return reference is None or self.ranks.number(reference) is not None


def plain(forward: Forward) -> Forward:
    """Return the passes as one process makes them."""
    return Forward(**{item.name: getattr(forward, item.name) for item in fields(Forward)})
