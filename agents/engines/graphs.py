"""Graphs of decoding steps: a step is captured once for each shape and replayed from then on.

The time of a small model's step is dominated by kernel launches; a replay launches all kernels at once. A graph stores
the addresses of its inputs, so the graphs are dropped when the weights or the cache have moved. `CudaCapture` makes
CUDA graphs and has not been run on a GPU yet; everything else runs on any device, and the tests capture on a CPU.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from contextlib import AbstractContextManager

import torch

Step = Callable[[], None]
Capture = Callable[[Step], Step]
"""Function that runs a step (possibly more than once) and returns a function that repeats the step's effect on memory.
"""


class StepGraphs:
    """Captured steps by their shape.

    Args:
        make_capture: makes the function that captures steps; called before the first capture, and again after all
            graphs were dropped.
    """

    def __init__(self, make_capture: Callable[[], Capture]):
        self._make_capture = make_capture
        self._graphs: dict[Hashable, Step] = {}
        self._capture: Capture | None = None
        self._captured_at: tuple[int, ...] = ()

    def __len__(self) -> int:
        return len(self._graphs)

    def clear(self) -> None:
        """Drop all graphs and free their memory."""
        self._graphs.clear()
        self._capture = None

    def prepare(
        self, shape: Hashable, addresses: tuple[int, ...], step: Step, idle: Callable[[], AbstractContextManager[None]]
    ) -> Step:
        """Return a function with the effect of ``step``, captured once per shape.

        Args:
            shape: key of the step; steps of equal shape must be identical.
            addresses: addresses of all inputs of steps; if they have changed, all graphs are dropped.
            step: the step; it must work on tensors at fixed addresses and never wait for the device.
            idle: makes a context in which a step runs without lasting effects, for capturing.
        """
        if addresses != self._captured_at:
            self.clear()
            self._captured_at = addresses
        graph = self._graphs.get(shape)
        if graph is None:
            if self._capture is None:
                self._capture = self._make_capture()
            with idle():
                graph = self._graphs[shape] = self._capture(step)
        return graph


class CudaCapture:
    """Capture of steps as CUDA graphs that share one memory pool.

    Args:
        device: device on which the steps run.
    """

    def __init__(self, device: torch.device) -> None:
        self._device, self._pool = device, torch.cuda.graph_pool_handle()

    def __call__(self, step: Step) -> Step:
        # A graph belongs to the current device, which need not be the one that the step's tensors are on.
        with torch.cuda.device(self._device):
            return self._capture(step)

    def _capture(self, step: Step) -> Step:
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            step()  # libraries allocate their working memory in the first call
        torch.cuda.current_stream().wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        # Environments may use the device from other threads.
        with torch.cuda.graph(graph, pool=self._pool, stream=stream, capture_error_mode="thread_local"):
            step()
        return graph.replay


class NoCapture:
    """Substitute for a capture that runs the step itself each time, for models whose code may wait for the device."""

    def __call__(self, step: Step) -> Step:
        return step
