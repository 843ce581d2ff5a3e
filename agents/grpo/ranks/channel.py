"""Communication between the processes of a run: orders, weights and gradients, by collectives of torch.distributed.

Process 0 is the leader: only it plays, decides, steps the optimiser and writes files. The others hold copies of the
models and execute its orders, so that all take part in the same collectives, whatever their share of the work. Orders
use a separate process group with a timeout of days, as the leader may play for long; everything else has the run's time
limit.
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
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.distributed_c10d import PrefixStore
from torch.distributed.rendezvous import rendezvous

from ..optimizers import gradient_dtype

_START = datetime.timedelta(minutes=15)
"""Timeout for all processes to join: they load libraries first, perhaps on several machines."""
_PATIENT = datetime.timedelta(days=100)

_BUCKET = 1 << 26
"""Most elements sent in one collective, except for larger single weights."""


class LostRank(RuntimeError):
    """Another process of the run ended or did not answer within the time limit; the run can be resumed."""


_COLLECTIVE = ("gloo", "nccl", "connection", "process group", "timed out", "timeout")
"""Words of which the message of a collective's error contains at least one."""


@contextmanager
def convert_rank_errors(among_others: bool = False) -> Iterator[None]:
    """Convert errors of collectives to `LostRank` within the context.

    Args:
        among_others: True if the context can raise other RuntimeErrors; these pass through unchanged.
    """
    try:
        yield
    except RuntimeError as error:  # torch's own errors of collectives are kinds of it
        reason = str(error).lower()
        if among_others and not (isinstance(error, dist.DistError) or any(word in reason for word in _COLLECTIVE)):
            raise
        hung = "timed out" in reason or "timeout" in reason
        raise LostRank("did not answer in time" if hung else "ended in the middle of the run") from error


class RankChannel:
    """This process's endpoint of the communication.

    Args:
        minutes: time limit of a collective.
        cuda: weights and gradients are on GPUs, one per process, and are sent by NCCL.
    """

    def __init__(self, minutes: float, cuda: bool = False):
        limit = datetime.timedelta(minutes=minutes)
        local = int(os.environ.get("LOCAL_RANK", "0"))
        self.device = torch.device("cpu")
        if cuda:
            self.device = torch.device("cuda", local)
            torch.cuda.set_device(self.device)
        with convert_rank_errors():
            start = max(limit, _START)
            store, self.rank, self.size = next(rendezvous("env://", timeout=start))
            if os.environ.get("LOCAL_WORLD_SIZE") == str(self.size):
                # The store survives a restart and still has addresses of lost processes, so each restart has a prefix.
                store = PrefixStore(f"start {os.environ.get('TORCHELASTIC_RESTART_COUNT')}", store)
            backend = "cpu:gloo,cuda:nccl" if cuda else "gloo"
            dist.init_process_group(backend, timeout=start, store=store, rank=self.rank, world_size=self.size)
            # Followers wait for orders without the limit; the leader, as sender, waits for followers within the limit.
            self._orders = _group("gloo", _PATIENT if self.rank else limit)
            self._objects = _group("gloo", limit)
            self._tensors = _group("nccl" if cuda else "gloo", limit)

    @property
    def objects(self) -> dist.ProcessGroup:
        """Process group for objects, on CPUs, with the run's time limit."""
        return self._objects

    def mesh(self) -> DeviceMesh:
        """Return a one-dimensional mesh of all processes, over which weights are sharded."""
        return DeviceMesh.from_group(self._tensors, self.device.type)

    def most(self, count: int) -> int:
        """Return the maximum of a number over all processes."""
        found = torch.tensor(count)
        with convert_rank_errors():
            dist.all_reduce(found, dist.ReduceOp.MAX, group=self._objects)
        return int(found)

    def leave(self) -> None:
        """Leave the process group; the other processes must leave it too."""
        dist.destroy_process_group()

    def order(self, order: tuple[str, Any] | None = None) -> tuple[str, Any]:
        """Broadcast an order (name, data) from the leader, or receive it in the other processes; return the order."""
        name: list[Any] = [None if order is None else order[0]]
        data: list[Any] = [None if order is None else order[1]]
        with convert_rank_errors():
            dist.broadcast_object_list(name, src=0, group=self._orders)
            dist.broadcast_object_list(data, src=0, group=self._objects)
        return name[0], data[0]

    def gather(self, mine: Any) -> list[Any]:
        """Collect an object of each process at the leader, in the order of ranks; return [] in other processes."""
        found: list[Any] = [None] * self.size
        with convert_rank_errors():
            dist.gather_object(mine, found if self.rank == 0 else None, dst=0, group=self._objects)
        return found if self.rank == 0 else []

    @torch.no_grad()
    def copy_weights(self, weights: Sequence[Tensor]) -> None:
        """Broadcast the leader's values of ``weights`` to all processes."""
        for some in _buckets(weights):
            flat = torch.cat([weight.detach().reshape(-1) for weight in some])
            with convert_rank_errors():
                dist.broadcast(flat, src=0, group=self._tensors)
            if self.rank:
                for weight, part in zip(some, flat.split([weight.numel() for weight in some]), strict=True):
                    weight.copy_(part.view_as(weight))

    @torch.no_grad()
    def add_gradients(self, weights: Sequence[Tensor]) -> None:
        """Set the leader's gradients to their sum over the processes, and clear the gradients of the others.

        A weight without a gradient in every process stays without. Sums are in single precision or better.
        """
        has = torch.tensor([float(w.grad is not None) for w in weights], device=self.device)
        with convert_rank_errors():
            dist.reduce(has, dst=0, group=self._tensors)
        for weight, some in zip(weights, has.tolist(), strict=True):
            if weight.grad is None and some and not self.rank:
                weight.grad = torch.zeros_like(weight, dtype=gradient_dtype(weight))
        for some in _buckets(weights):
            wide = torch.promote_types(some[0].dtype, torch.float32)
            parts = [
                torch.zeros(w.numel(), dtype=wide, device=w.device) if w.grad is None else w.grad.reshape(-1).to(wide)
                for w in some
            ]
            flat = torch.cat(parts)
            with convert_rank_errors():
                dist.reduce(flat, dst=0, group=self._tensors)
            for weight, part in zip(some, flat.split([w.numel() for w in some]), strict=True):
                if self.rank:
                    weight.grad = None
                elif weight.grad is not None:
                    weight.grad = part.view_as(weight).to(gradient_dtype(weight))


def _group(backend: str, limit: datetime.timedelta) -> dist.ProcessGroup:
    """Make a process group of all processes."""
    group = dist.new_group(backend=backend, timeout=limit)
    assert isinstance(group, dist.ProcessGroup)
    return group


def _buckets(weights: Sequence[Tensor]) -> Iterator[list[Tensor]]:
    """Divide weights, in order, into lists of one type with at most _BUCKET elements (or one larger weight)."""
    bucket: list[Tensor] = []
    for weight in weights:
        full = sum(w.numel() for w in bucket) + weight.numel() > _BUCKET
        if bucket and (full or weight.dtype != bucket[0].dtype):
            yield bucket
            bucket = []
        bucket.append(weight)
    if bucket:
        yield bucket


def unique_weights(models: Sequence[Any]) -> list[Tensor]:
    """Return the parameters of all models without duplicates, in an order that is the same in every process."""
    found: dict[int, Tensor] = {}
    for model in models:
        if model is not None:
            for weight in model.parameters():
                found.setdefault(id(weight), weight)
    return list(found.values())
