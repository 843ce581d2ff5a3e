"""What the processes of a run exchange: orders, weights and gradients, by collectives of torch.distributed.

Process 0 leads: it alone plays, decides, steps the optimiser and writes. The others hold copies of the models and carry
out its orders, so that each takes part in the same collectives whatever its share of the work is. Orders travel through
a group of their own that waits for days, as the leader may play for long; all else has the run's time limit.
"""

from __future__ import annotations

import datetime
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

_PATIENT = datetime.timedelta(days=100)


class LostRank(RuntimeError):
    """Another process of the run ended or did not answer within the time limit; the run can be resumed."""


@contextmanager
def lost_ranks() -> Iterator[None]:
    """Turn the errors of collectives into `LostRank`."""
    try:
        yield
    except RuntimeError as error:  # torch's own errors of collectives are kinds of it
        reason = str(error).lower()
        hung = "timed out" in reason or "timeout" in reason
        raise LostRank("did not answer in time" if hung else "ended in the middle of the run") from error


class Channel:
    """This process's end of the exchange.

    Args:
        minutes: how long a collective waits for the other processes.
        cuda: weights and gradients lie on GPUs, one a process, and travel by NCCL.
    """

    def __init__(self, minutes: float, cuda: bool = False):
        limit = datetime.timedelta(minutes=minutes)
        local = int(os.environ.get("LOCAL_RANK", "0"))
        self.device = torch.device("cpu")
        if cuda:
            self.device = torch.device("cuda", local)
            torch.cuda.set_device(self.device)
        with lost_ranks():
            dist.init_process_group("cpu:gloo,cuda:nccl" if cuda else "gloo", timeout=limit)
            self.rank, self.size = dist.get_rank(), dist.get_world_size()
            # Each process has its own limit: a sender waits until the receiver is there.
            self._orders = dist.new_group(backend="gloo", timeout=_PATIENT if self.rank else limit)
            self._objects = dist.new_group(backend="gloo", timeout=limit)

    def leave(self) -> None:
        """End the exchange; the others must have been told to end it as well."""
        dist.destroy_process_group()

    def order(self, order: tuple[str, Any] | None = None) -> tuple[str, Any]:
        """Send an order with its data from the leader to all, or receive one."""
        name: list[Any] = [None if order is None else order[0]]
        data: list[Any] = [None if order is None else order[1]]
        with lost_ranks():
            dist.broadcast_object_list(name, src=0, group=self._orders)
            dist.broadcast_object_list(data, src=0, group=self._objects)
        return name[0], data[0]

    def gather(self, mine: Any) -> list[Any]:
        """Collect an object of each process at the leader, in order of their ranks; [] elsewhere."""
        found: list[Any] = [None] * self.size
        with lost_ranks():
            dist.gather_object(mine, found if self.rank == 0 else None, dst=0, group=self._objects)
        return found if self.rank == 0 else []

    @torch.no_grad()
    def copy_weights(self, weights: Sequence[Tensor]) -> None:
        """Give the leader's values of ``weights`` to all, in one collective for each type."""
        for dtype in sorted({weight.dtype for weight in weights}, key=str):
            same = [weight for weight in weights if weight.dtype == dtype]
            flat = torch.cat([weight.detach().reshape(-1) for weight in same])
            with lost_ranks():
                dist.broadcast(flat, src=0)
            if self.rank:
                for weight, part in zip(same, flat.split([weight.numel() for weight in same]), strict=True):
                    weight.copy_(part.view_as(weight))

    @torch.no_grad()
    def add_gradients(self, weights: Sequence[Tensor]) -> None:
        """Set the gradients at the leader to their sum over the processes, in one collective, and clear the others'.

        A weight that no process has a gradient of keeps none. Sums are in single precision or better.
        """
        wide = torch.float64 if any(weight.dtype == torch.float64 for weight in weights) else torch.float32
        parts = [
            torch.zeros(w.numel(), dtype=wide, device=w.device) if w.grad is None else w.grad.reshape(-1).to(wide)
            for w in weights
        ]
        has = torch.tensor([float(w.grad is not None) for w in weights], dtype=wide, device=parts[0].device)
        flat = torch.cat([has, *parts])
        with lost_ranks():
            dist.reduce(flat, dst=0)
        if self.rank:
            for weight in weights:
                weight.grad = None
            return
        has, *parts = flat.split([len(weights), *(w.numel() for w in weights)])
        for weight, some, part in zip(weights, has.tolist(), parts, strict=True):
            weight.grad = part.view_as(weight).to(weight.dtype) if some else None


def unique_weights(models: Sequence[Any]) -> list[Tensor]:
    """The parameters of models, each once, in an order that is the same in every process."""
    found: dict[int, Tensor] = {}
    for model in models:
        if model is not None:
            for weight in model.parameters():
                found.setdefault(id(weight), weight)
    return list(found.values())
