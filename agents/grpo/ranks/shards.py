"""One process's part of models that are split over the processes of a run, and what all of them do together.

Every method is called in all processes at a time, by the order of the leader (`sharded`), with the same arguments.
"""

from __future__ import annotations

import ctypes
import io
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.distributed.tensor import DTensor

from ...language.adapters import BaseOnly
from ...language.precision import set_product_precision
from ..batch.forward import Forward
from ..config import TrainConfig
from ..objective.binding import Clock
from ..objective.loss import LossTerms, WeightedBatch, accumulate_gradients
from ..objective.notices import apply_overrides
from ..recipes import RECIPES
from .channel import RankChannel, lost_ranks
from .optimizer_steps import OPTIMIZER, REFERENCE, keep_state, new_optimizer, restore_state
from .shard_files import (
    MASTER,
    MOMENTS,
    SHARDS,
    STEP,
    check_stored,
    empty_moments,
    moment_tensors,
    names_in,
    read_shards,
    reference_tensors,
    trained_weights,
    write_shards,
)
from .sharding import ShardedForward, root_of, shard
from .work import measure_share

_MMAP_THRESHOLD = -3
"""M_MMAP_THRESHOLD of glibc's malloc.h."""
_HALF = (torch.bfloat16, torch.float16)


class Shards:
    """The parts of the policy, its reference and the model to distil from that this process has, with the optimiser.

    Args:
        data: the configuration, the threads of the leader, and the models without their weights (`sharding.outline`),
            pickled.
        sources: at the leader, the models with their weights.
    """

    def __init__(self, channel: RankChannel, data: tuple[Any, int, bytes], sources: Sequence[Any] = ()):
        config, threads, outlines = data
        torch.set_num_threads(threads)
        if channel.device.type == "cpu":
            _return_freed_memory()
        self.channel = channel
        where = None if channel.device.type == "cpu" else channel.device
        # From a process of the same run.
        self.models = torch.load(io.BytesIO(outlines), map_location=where, weights_only=False)
        self.config = TrainConfig.from_json(config)
        set_product_precision(self.config.device, self.config.dtype, self.config.tf32)
        recipe = apply_overrides(RECIPES[self.config.recipe], self.config)
        self._clock = Clock()
        self._losses = [LossTerms(row, self._clock) for row in (recipe, *recipe.streams)]
        mesh = channel.mesh()
        self._rounded = {weight.dtype for weight in self.models[0].parameters() if weight.requires_grad} & set(_HALF)
        for number, model in enumerate(self.models):
            if model is not None and not isinstance(model, BaseOnly):
                if number:
                    model.requires_grad_(False)
                shard(model, sources[number] if sources else None, mesh, channel)
        self._before: Any = None
        self.reset()

    def call(self, name: str, arguments: Sequence[Any]) -> Any:
        """Carry out an order.

        Raises:
            LostRank: another process ended, or does not answer.
        """
        with lost_ranks(among_others=True):
            try:
                return getattr(self, name)(*arguments)
            finally:
                # Weights outside of the layers stay gathered after a forward pass, and would be old ones in the next.
                for model in self.models:
                    if model is not None:
                        root_of(model).reshard()

    # Passes ----------------------------------------------------------------------------------------------------------

    def accumulate(
        self,
        forward: Forward,
        number: int,
        fields: dict[str, Any],
        episodes: list[int],
        live: bool,
        clock: tuple[int, int],
        shares: Sequence[list[int]],
    ) -> list[Any]:
        """Accumulate the gradient of a loss; the tallies of all processes, at the leader."""
        self._clock.step, self._clock.steps = clock
        weighted = WeightedBatch(**fields, episodes=episodes, loss=self._losses[number], live_anchor=live)
        passes, share = ShardedForward.of(forward, self.channel), shares[self.channel.rank]
        tally = accumulate_gradients(self.models[0], weighted, passes, reference=self.models[1], episodes=share)
        return self.channel.gather(tally)

    def measure(
        self, forward: Forward, model: int, batch: Any, settings: dict[str, Any], shares: Sequence[list[int]]
    ) -> list[Any]:
        """Measure a batch; what each process has measured, at the leader."""
        passes, share = ShardedForward.of(forward, self.channel), shares[self.channel.rank]
        return self.channel.gather(measure_share(passes, self.models[model], batch, share, self._resolve(settings)))

    def backward(self, forward: Forward, batch: Any, settings: dict[str, Any], shares: Sequence[list[int]]) -> None:
        """Accumulate the gradient of a sum of outputs of the policy."""
        passes, share = ShardedForward.of(forward, self.channel), shares[self.channel.rank]
        passes.backward(self.models[0], batch, **self._resolve(settings), episodes=share)

    def _resolve(self, settings: dict[str, Any]) -> dict[str, Any]:
        number = settings.get("reference")
        return {**settings, "reference": None if number is None else self.models[number]}

    # The optimiser ---------------------------------------------------------------------------------------------------

    def reset(self) -> None:
        """Make a new optimiser."""
        self.optimizer = new_optimizer(self.config, self.models[0])

    def set_rate(self, rate: float) -> None:
        for group in self.optimizer.param_groups:
            group["lr"] = rate

    def clip(self) -> Tensor:
        """Scale the gradients down to the largest norm; the norm that they had."""
        norm = torch.nn.utils.clip_grad_norm_(self.models[0].parameters(), self.config.max_grad_norm)
        return norm.full_tensor() if isinstance(norm, DTensor) else norm

    def take(self) -> None:
        self.optimizer.step()

    def clear(self) -> None:
        self.optimizer.zero_grad()
        self._before = None

    def remember(self) -> None:
        self._before = keep_state(self.optimizer)

    def undo(self) -> None:
        restore_state(self.optimizer, self._before)

    @torch.no_grad()
    def gather_policy(self, into: Callable[[int, Tensor], None] = lambda number, weight: None) -> None:
        """Gather the trained weights, one at a time; ``into(number, weight)`` takes each, and None of it is kept."""
        for number, (_, weight) in enumerate(trained_weights(self.models[0])):
            assert isinstance(weight, DTensor)
            into(number, weight.full_tensor())

    @torch.no_grad()
    def move_reference(self, share: float) -> None:
        policy = self.models[0].parameters()
        for mine, theirs in zip(self.models[1].parameters(), policy, strict=True):
            own, other = mine.to_local(), theirs.to_local().to(mine.dtype)
            own.lerp_(other, share) if share < 1 else own.copy_(other)

    # Checkpoints -----------------------------------------------------------------------------------------------------

    @property
    def _own_reference(self) -> Any:
        return None if isinstance(self.models[1], BaseOnly) else self.models[1]

    def save(self, folder: Path) -> list[str | None]:
        """Write shards of a checkpoint; what went wrong in each process, at the leader."""
        weights = trained_weights(self.models[0])
        masters = {f"{MASTER}/{name}": weight.detach() for name, weight in weights} if self._rounded else {}
        tensors = moment_tensors(self.optimizer, weights) | masters | reference_tensors(self._own_reference)
        return self._attempt(lambda: write_shards(folder / SHARDS, tensors, self.channel.objects))

    def load(self, folder: Path) -> list[str | None]:
        """Read the state of a checkpoint, of several processes or of one; what went wrong, at the leader."""
        return self._attempt(lambda: self._read(folder) if (folder / SHARDS).is_dir() else self._read_whole(folder))

    def _attempt(self, action: Callable[[], None]) -> list[str | None]:
        error = None
        try:
            action()
        except (OSError, ValueError, KeyError, RuntimeError, EOFError, ImportError) as failure:
            error = f"{type(failure).__name__}: {failure}"
        return self.channel.gather(error)

    def _read(self, folder: Path) -> None:
        stored, weights = names_in(folder / SHARDS), trained_weights(self.models[0])
        self.optimizer.state.clear()
        for name, weight in weights:
            if f"{STEP}/{name}" in stored:
                self.optimizer.state[weight] = empty_moments(weight)
        tensors = moment_tensors(self.optimizer, weights) | reference_tensors(self._own_reference)
        tensors |= {f"{MASTER}/{name}": weight.detach() for name, weight in weights} if self._rounded else {}
        check_stored(tensors, stored)
        read_shards(folder / SHARDS, tensors, self.channel.objects)

    @torch.no_grad()
    def _read_whole(self, folder: Path) -> None:
        """Take this process's parts out of the files of one process, which stay on the disk otherwise."""
        state = torch.load(folder / OPTIMIZER, map_location="cpu", mmap=True, weights_only=True)
        weights, masters = trained_weights(self.models[0]), state.get("masters")
        if bool(masters) != bool(self._rounded):
            raise ValueError("its optimiser is of weights of another --dtype")
        self.optimizer.state.clear()
        moments = (state["inner"] if masters else state)["state"]
        for number, (_, weight) in enumerate(weights):
            if masters:
                self._take_part(weight, masters[number])
            if number in moments:
                own = self.optimizer.state[weight] = empty_moments(weight)
                own[STEP].copy_(moments[number][STEP])
                for key in MOMENTS:
                    self._take_part(own[key], moments[number][key])
        if (reference := self._own_reference) is not None:
            saved = torch.load(folder / REFERENCE, map_location="cpu", mmap=True, weights_only=True)
            for name, weight in reference.named_parameters():
                self._take_part(weight, saved[name])

    def _take_part(self, mine: Any, whole: Tensor) -> None:
        """Copy what is this process's of a whole tensor: split along its first dimension, as torch splits weights."""
        if mine.shape != whole.shape:
            raise ValueError(f"it has a weight of shape {tuple(whole.shape)} where {tuple(mine.shape)} is needed")
        parts = whole.chunk(self.channel.size)
        if self.channel.rank < len(parts):
            mine.to_local().copy_(parts[self.channel.rank])

    # Memory ----------------------------------------------------------------------------------------------------------

    def count_bytes(self) -> dict[str, int]:
        """Bytes of this process's parts: of weights, gradients and the optimiser's state."""
        weights = [w for model in self.models if model is not None for w in root_of(model).parameters()]
        weights = list({id(weight): weight for weight in weights}.values())
        gradients = [weight.grad for weight in weights if weight.grad is not None]
        moments = [value for state in self.optimizer.state.values() for value in state.values()]
        kinds = {"weights": weights, "gradients": gradients, "optimizer": moments}
        return {kind: sum(map(_bytes_of, tensors)) for kind, tensors in kinds.items()}


def _return_freed_memory() -> None:
    """Let the C library give freed tensors of a MiB or more back to the system at once.

    glibc raises that size by itself, to 32 MiB at most, and would keep the gathered weights of many layers otherwise.
    """
    with suppress(AttributeError, OSError):  # other libraries
        ctypes.CDLL(None).mallopt(_MMAP_THRESHOLD, 1 << 20)


def _bytes_of(tensor: Tensor) -> int:
    local = tensor.to_local() if isinstance(tensor, DTensor) else tensor
    return local.numel() * local.element_size()
