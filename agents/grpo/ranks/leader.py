"""Leader process: passes through models that the processes of a run share.

`SplitPasses` replaces `Passes`: each process measures a share of the batch with the policy, its reference or the
model to distil from. Gradients accumulate in each process until `Ranks.collect_gradients` adds them up. Weights that
changed since the last order are sent before the next one. Models without copies in the other processes are computed by
the leader alone.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import torch
from torch import Tensor

from ....errors import InputError
from ..batch.batch import Batch
from ..batch.passes import Outputs, Passes
from ..batch.tally import Tally
from ..config import TrainConfig
from ..objective.loss import LossTerms, WeightedBatch, accumulate_gradients
from ..optimizer_steps import OptimizerSteps
from .channel import RankChannel, unique_weights
from .work import RankWork, join_shares, split_episodes, strip


class Ranks:
    """The processes of a run, controlled by their leader."""

    splits = False
    """True if the models are sharded over the processes, False if each has copies."""

    @staticmethod
    def check(loss: LossTerms, recipe: str) -> None:
        """Raise InputError if a loss cannot be computed in shares; loads no model."""
        for part in loss.parts:
            if not loss.coupled and part.state_dict():
                raise InputError(
                    f"{part.component.name!r} of recipe {recipe!r} remembers what it saw of each part of a batch, "
                    'which several processes cannot share; declare needs("batch") of it, or train without --nproc.'
                )

    def __init__(self, channel: RankChannel):
        self.channel = channel
        self.work: Any = None
        self.models: list[Any] = []
        """The policy, the reference and the model to distil from; the index identifies a model in all processes."""
        self._weights: list[Tensor] = []
        self._sent: list[int] = []

    def begin(self, config: TrainConfig, models: Sequence[Any], passes: Passes) -> SplitPasses:
        """Send copies of the models to every process, replacing earlier ones; return the passes through them.

        Args:
            models: the policy, the reference and the model to distil from; the latter two may be None.
        """
        buffer = io.BytesIO()
        torch.save(list(models), buffer)
        self.channel.order(("begin", (config.to_json(), torch.get_num_threads(), buffer.getvalue())))
        self.models, self._weights = list(models), unique_weights(models)
        self.work = RankWork(self.channel, config, self.models)
        self._sent = [weight._version for weight in self._weights]
        return self._split(passes)

    def optimizer_steps(self, config: TrainConfig) -> OptimizerSteps:
        """Return the steps of the optimiser, which only the leader takes."""
        return OptimizerSteps(config, self.models[0], self.models[1])

    def number(self, model: Any) -> int | None:
        """Return the index by which the other processes know a model; None if they have no copy."""
        return next((i for i, known in enumerate(self.models) if known is model and model is not None), None)

    def call_all(self, name: str, *arguments: Any) -> Any:
        """Call a method of `RankWork` in every process, with current weights; return this process's result."""
        now = [weight._version for weight in self._weights]
        changed = [i for i, (old, new) in enumerate(zip(self._sent, now, strict=True)) if old != new]
        if changed:
            self._sent = now  # first, as this order looks for changed weights, too
            self.call_all("copy_weights", *changed)
        self.channel.order((name, arguments))
        return self.work.call(name, arguments)

    def accumulate(self, weighted: WeightedBatch, number: int, passes: Passes, reference: Any) -> Tally:
        """Accumulate the gradient of a loss; each process computes the terms of its share of the episodes.

        Args:
            number: index of the loss: 0 for the rollouts, then one per stream.
        """
        if weighted.loss.coupled:
            # The leader evaluates the loss; the processes share the log-probabilities and the backward passes.
            gathering = self._split(passes, gathers=True)
            return accumulate_gradients(self.models[0], weighted, gathering, reference=reference)
        shares = split_episodes(weighted.batch, weighted.episodes, self.channel.size)
        clock = weighted.loss.surrogate.clock
        # Each process has made this loss from the recipe.
        bare = replace(weighted, batch=strip(weighted.batch), loss=None)  # type: ignore[arg-type]
        given = (single_process_passes(passes), number, bare, (clock.step, clock.steps), shares)
        tally = Tally()
        for losses in self.call_all("accumulate", *given):
            tally.merge(losses)
        return tally

    def collect_gradients(self) -> None:
        """Add up the gradients of the policy over all processes, at the leader."""
        self.call_all("add_gradients")

    def measure(self, passes: Passes, model: int, batch: Batch, settings: dict[str, Any]) -> Outputs:
        """Measure every episode of a batch in shares; see `Passes.measure`."""
        shares = split_episodes(batch, range(batch.episodes), self.channel.size)
        given = (single_process_passes(passes), model, strip(batch), self._refer(settings), shares)
        return join_shares(batch, shares, self.call_all("measure", *given))

    def backward(self, passes: Passes, batch: Batch, settings: dict[str, Any], episodes: Sequence[int]) -> None:
        """Accumulate the gradient of the policy in shares; see `Passes.backward`."""
        shares = split_episodes(batch, episodes, self.channel.size)
        self.call_all("backward", single_process_passes(passes), strip(batch), self._refer(settings), shares)

    def stop(self) -> None:
        """Order the other processes to end."""
        self.channel.order(("stop", None))

    def _split(self, passes: Passes, gathers: bool = False) -> SplitPasses:
        own = {item.name: getattr(passes, item.name) for item in fields(Passes)}
        return SplitPasses(**own, ranks=self, gathers=gathers)

    def _refer(self, settings: dict[str, Any]) -> dict[str, Any]:
        """Return the settings with the reference model replaced by its number."""
        return {**settings, "reference": self.number(settings.get("reference"))}


@dataclass(frozen=True)
class SplitPasses(Passes):
    """`Passes` whose passes through models that all processes have are shared by the processes.

    Attributes:
        ranks: the processes.
        gathers: True if gradients of the policy are added up afterwards, so that they may be computed in shares.
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
        return self.ranks.backward(self, batch, {"logp": logp, **settings}, every)

    def _knows(self, settings: dict[str, Any]) -> bool:
        reference = settings.get("reference")
        return reference is None or self.ranks.number(reference) is not None


def single_process_passes(passes: Passes) -> Passes:
    """Return the passes as a `Passes` of a single process."""
    return Passes(**{item.name: getattr(passes, item.name) for item in fields(Passes)})
