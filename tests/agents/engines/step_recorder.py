"""Capture of decoding steps on a CPU, by the rules of CUDA graphs: the operations of a step are recorded with the very
tensors that they worked on, and a replay repeats them without any of the Python between. A step that waits for the
device, or makes a tensor of Python's numbers, is refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

READS = ("tolist", "numpy", "item", "cpu", "__bool__", "__int__", "__float__", "__index__")
"""Methods of a tensor that wait for its device."""
WAITS = ("_local_scalar_dense", "nonzero", "masked_select", "unique", "_unique2", "equal", "is_nonzero", "lift_fresh")
"""Operations that wait for it, for the length of their result or otherwise; the last makes tensors of numbers."""


@contextmanager
def count_reads() -> Iterator[list[str]]:
    """The host's reads inside, by name of the method."""
    reads: list[str] = []

    def counted(name: str, method: Any) -> Any:
        def read(self: Any, *args: Any) -> Any:
            reads.append(name)
            return method(self, *args)

        return read

    with pytest.MonkeyPatch.context() as patch:
        for name in READS:
            patch.setattr(torch.Tensor, name, counted(name, getattr(torch.Tensor, name)))
        yield reads


class _Recording(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()
        self.calls: list[tuple[Any, tuple[Any, ...], dict[str, Any], Any]] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func.overloadpacket.__name__
        if name in WAITS:
            raise AssertionError(f"a step may not wait for the device, as {name} does")
        if name in ("index", "index_put_") and any(x.dtype == torch.bool for x in args[1] if x is not None):
            raise AssertionError("a step may not index by a mask")
        out = func(*args, **(kwargs or {}))
        self.calls.append((func, args, kwargs or {}, out))
        return out


class StepRecorder:
    """Captures steps; `captured` and `replays` count over all recorders."""

    captured = replays = 0

    def __call__(self, step: Callable[[], None]) -> Callable[[], None]:
        with _Recording() as recording, count_reads() as reads:
            step()
        assert not reads, f"a step may not read on the host: {reads}"
        StepRecorder.captured += 1

        def replay() -> None:
            StepRecorder.replays += 1
            for func, args, kwargs, out in recording.calls:
                again = func(*args, **kwargs)
                for old, new in zip(tree_leaves(out), tree_leaves(again), strict=True):
                    if isinstance(old, torch.Tensor) and old.data_ptr() != new.data_ptr():
                        old.copy_(new)

        return replay
