"""Engine of a run, from which all phases of training sample the policy; made when it is first needed."""

from __future__ import annotations

import inspect
import weakref
from collections.abc import Mapping
from typing import Any

from .engine import ENGINES, Engine


class PolicyEngine:
    """Factory of a policy's engine.

    An engine with copied weights is made once, and switched to the model it is opened for (`Engine.follow`). An engine
    that reads the policy's weights in place is made anew each time, in the requested size.

    Args:
        name: name of the engine; must have passed `engine.check_engine`.
        options: options of the engine.
    """

    def __init__(self, name: str = "torch", options: Mapping[str, Any] | None = None):
        self.name, self._options = name, dict(options or {})
        self._kept: Engine | None = None
        self._opened: weakref.WeakSet[Engine] = weakref.WeakSet()

    def open(self, language: Any, slots: int, max_length: int, fp32_head: bool = False, spare: int = 0) -> Engine:
        """Return the engine for a model. The arguments are those of `Engine.serve`; call `load_weights` before use."""
        kind, options = ENGINES[self.name], self._options
        if "spare" in inspect.signature(kind.serve).parameters:
            options = {**options, "spare": spare}
        if not kind.copies:
            engine = kind.serve(language, slots, max_length, fp32_head, **options)
            self._opened.add(engine)
            return engine
        if self._kept is None:
            self._kept = kind.serve(language, slots, max_length, fp32_head, **options)
        self._kept.follow(language)
        return self._kept

    def measure_held(self, weights: int, free: int, ahead: bool) -> int:
        """Return the bytes of GPU memory that the engine holds during training; see `Engine.measure_held`."""
        return ENGINES[self.name].measure_held(weights, free, ahead, **self._options)

    def sleep(self) -> None:
        """Let all opened engines free memory until they are used again."""
        for engine in (self._kept, *self._opened):
            if engine is not None:
                engine.sleep()

    def shut_down(self) -> None:
        """Shut the engine down; the next `open` loads it again."""
        if self._kept is not None:
            self._kept.shut_down()
            self._kept = None
