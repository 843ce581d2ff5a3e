"""Graphs of decoding steps: a step is captured once for each of its shapes and replayed from then on.

A step of a small model is bound by launching its kernels; a replay launches all at once. A graph stores the addresses
of its inputs, so the graphs are dropped when the weights or the cache have moved. `CudaCapture` makes CUDA graphs and
has not been run on a GPU yet; everything else here runs anywhere, and the tests capture on a CPU.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from contextlib import AbstractContextManager

import torch

Step = Callable[[], None]
Capture = Callable[[Step], Step]
"""Function that runs a step, maybe more than once, and returns a function that repeats its effect on device memory."""


class StepGraphs:
    """Captured steps by their shape.

    Args:
        make_capture: called at the beginning, and after all graphs were dropped.
    """

    def __init__(self, make_capture: Callable[[], Capture]):
        self._make_capture = make_capture
        self._graphs: dict[Hashable, Step] = {}
        self._capture: Capture | None = None
        self._captured_at: tuple[int, ...] = ()

    def __len__(self) -> int:
        return len(self._graphs)

    def clear(self) -> None:
        """Drop all graphs, and with them their memory."""
        self._graphs.clear()
        self._capture = None

    def prepare(
        self, shape: Hashable, addresses: tuple[int, ...], step: Step, idle: Callable[[], AbstractContextManager[None]]
    ) -> Step:
        """Return a function with the effect of ``step``, captured once per shape.

        Args:
            shape: key of the step; steps of equal shape are identical.
            addresses: addresses of all inputs of steps besides their own tensors.
            step: works on tensors at fixed addresses, and never waits for the device.
            idle: a context in which a step may run without lasting effects.
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
    """Captures steps as CUDA graphs that share one pool of memory.

    Args:
        device: on which the steps run.
    """

    def __init__(self, device: torch.device) -> None:
        self._device, self._pool = device, torch.cuda.graph_pool_handle()

    def __call__(self, step: Step) -> Step:
        # A graph is of the present device, which need not be the one that the step's tensors are on.
        with torch.cuda.device(self._device):
            return self._capture(step)

    def _capture(self, step: Step) -> Step:
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            step()  # libraries take their working memory with the first call
        torch.cuda.current_stream().wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        # Environments may use the device from other threads.
        with torch.cuda.graph(graph, pool=self._pool, stream=stream, capture_error_mode="thread_local"):
            step()
        return graph.replay


class NoCapture:
    """Repeats steps by running them again, for models whose own code may wait for the device."""

    def __call__(self, step: Step) -> Step:
        return step
