"""The engine of a run: the one that every phase samples the policy from, made when it is first needed."""

from __future__ import annotations

import inspect
import weakref
from collections.abc import Mapping
from typing import Any

from .engine import ENGINES, Engine


class PolicyEngine:
    """Opens the engine of a policy, by name.

    An engine with copied weights is loaded once and follows the policy that it is opened for. An engine that reads the
    policy's weights in place is made anew each time, in the requested size.

    Args:
        name: name of the engine; checked before, by `engine.check_engine`.
        options: options of the engine.
    """

    def __init__(self, name: str = "torch", options: Mapping[str, Any] | None = None):
        self.name, self._options = name, dict(options or {})
        self._kept: Engine | None = None
        self._opened: weakref.WeakSet[Engine] = weakref.WeakSet()

    def open(self, language: Any, slots: int, max_length: int, fp32_head: bool = False, spare: int = 0) -> Engine:
        """Return the engine, for a model; see `Engine.serve`. Call its `load_weights` before use."""
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
        """Bytes of a GPU that the engine holds while the policy is trained on it; see `Engine.measure_held`."""
        return ENGINES[self.name].measure_held(weights, free, ahead, **self._options)

    def sleep(self) -> None:
        """Let engines give memory back until they are used again."""
        for engine in (self._kept, *self._opened):
            if engine is not None:
                engine.sleep()

    def shut_down(self) -> None:
        """End the engine; it is loaded anew if it is opened again."""
        if self._kept is not None:
            self._kept.shut_down()
            self._kept = None
