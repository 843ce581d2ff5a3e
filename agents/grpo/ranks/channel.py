"""Exchange between the processes of a run: orders, weights and gradients, by collectives of torch.distributed.

Process 0 leads: it alone plays, decides, steps the optimiser and writes. The others hold copies of the models and carry
out its orders, so that each takes part in the same collectives whatever its share of the work is. Orders use a separate
process group with a timeout of days, as the leader may play for long; all else has the run's time limit.
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
"""Numbers that travel in one collective."""


class LostRank(RuntimeError):
    """Another process of the run ended or did not answer within the time limit; the run can be resumed."""


_COLLECTIVE = ("gloo", "nccl", "connection", "process group", "timed out", "timeout")
"""Words that mark an error of a collective: its message contains at least one."""


@contextmanager
def lost_ranks(among_others: bool = False) -> Iterator[None]:
    """Turn the errors of collectives into `LostRank`.

    Args:
        among_others: errors of other kinds are possible; they pass through unchanged.
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
            start = max(limit, _START)
            store, self.rank, self.size = next(rendezvous("env://", timeout=start))
            if os.environ.get("LOCAL_WORLD_SIZE") == str(self.size):
                # The store outlives a restart, with addresses of lost processes; machines count restarts by themselves.
                store = PrefixStore(f"start {os.environ.get('TORCHELASTIC_RESTART_COUNT')}", store)
            backend = "cpu:gloo,cuda:nccl" if cuda else "gloo"
            dist.init_process_group(backend, timeout=start, store=store, rank=self.rank, world_size=self.size)
            # Groups have limits of their own, which may differ by process: a sender waits until the receiver is there.
            self._orders = _group("gloo", _PATIENT if self.rank else limit)
            self._objects = _group("gloo", limit)
            self._tensors = _group("nccl" if cuda else "gloo", limit)

    @property
    def objects(self) -> dist.ProcessGroup:
        """The group for objects, on CPUs, with the run's time limit."""
        return self._objects

    def mesh(self) -> DeviceMesh:
        """All processes in a row, for weights that are split over them."""
        return DeviceMesh.from_group(self._tensors, self.device.type)

    def most(self, count: int) -> int:
        """Return the maximum of a number over all processes."""
        found = torch.tensor(count)
        with lost_ranks():
            dist.all_reduce(found, dist.ReduceOp.MAX, group=self._objects)
        return int(found)

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
        """Give the leader's values of ``weights`` to all."""
        for some in _buckets(weights):
            flat = torch.cat([weight.detach().reshape(-1) for weight in some])
            with lost_ranks():
                dist.broadcast(flat, src=0, group=self._tensors)
            if self.rank:
                for weight, part in zip(some, flat.split([weight.numel() for weight in some]), strict=True):
                    weight.copy_(part.view_as(weight))

    @torch.no_grad()
    def add_gradients(self, weights: Sequence[Tensor]) -> None:
        """Set the gradients at the leader to their sum over the processes and clear the others'.

        A weight that no process has a gradient of keeps none. Sums are in single precision or better.
        """
        has = torch.tensor([float(w.grad is not None) for w in weights], device=self.device)
        with lost_ranks():
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
            with lost_ranks():
                dist.reduce(flat, dst=0, group=self._tensors)
            for weight, part in zip(some, flat.split([w.numel() for w in some]), strict=True):
                if self.rank:
                    weight.grad = None
                elif weight.grad is not None:
                    weight.grad = part.view_as(weight).to(gradient_dtype(weight))


def _group(backend: str, limit: datetime.timedelta) -> dist.ProcessGroup:
    """A group of all processes."""
    group = dist.new_group(backend=backend, timeout=limit)
    assert isinstance(group, dist.ProcessGroup)
    return group


def _buckets(weights: Sequence[Tensor]) -> Iterator[list[Tensor]]:
    """Cut weights, in order, into runs of one type that need little memory beside them and few collectives."""
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
    """Return the parameters of models, each once, in an order that is the same in every process."""
    found: dict[int, Tensor] = {}
    for model in models:
        if model is not None:
            for weight in model.parameters():
                found.setdefault(id(weight), weight)
    return list(found.values())
