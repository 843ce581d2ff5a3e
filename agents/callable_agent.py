"""Agents made of a function: plain, ``async def`` or a generator, of the observation or of the whole conversation."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .agent import AgentError, EndEpisode, SlotAgent


class CallableAgent(SlotAgent):
    """Agent that calls a function once for each observation; calls of an ``async def`` run concurrently.

    Args:
        function: ``observation -> action``. A first parameter named ``messages`` receives a copy of the conversation
            instead of the observation: ``[{"role": "user", "content": observation}, {"role": "assistant", "content":
            action}, ...]``. A parameter named ``info`` receives the ``info`` as well. A generator function (plain or
            async) is called once per episode, yields actions, and receives the next observation from ``yield``.
        threads: number of concurrent calls of a plain function, each in a separate thread; the function must be
            thread-safe. 1 calls it in the caller's thread.

    Raises:
        AgentError: from `respond` (or the future that it returns): the function returned None or a generator object,
            or its generator ended before the episode did.
    """

    def __init__(self, function: Callable[..., Any], threads: int = 1):
        self.function, self.threads = function, threads
        self.name = getattr(function, "__qualname__", type(function).__name__)
        try:
            names = list(inspect.signature(function).parameters)
        except (TypeError, ValueError):  # some built-in functions have none
            names = []
        self._wants_messages = names[:1] == ["messages"]
        self._wants_info = "info" in names[1:]
        plain: Any = function
        while isinstance(plain, functools.partial):
            plain = plain.func
        plain = plain if inspect.isroutine(plain) else type(plain).__call__
        self._is_generator = inspect.isgeneratorfunction(plain)
        self._is_async_generator = inspect.isasyncgenfunction(plain)
        self._messages: dict[int, list[dict[str, Any]]] = {}
        self._generators: dict[int, Any] = {}

    def reset(self, indices: Sequence[int]) -> None:
        for slot in indices:
            self._messages.pop(slot, None)
            if self._is_generator and (generator := self._generators.get(slot)) is not None:
                generator.close()
            self._generators.pop(slot, None)

    def respond(self, slot: int, observation: Any, info: Mapping[str, Any]) -> Any:
        seen = observation
        if self._wants_messages:
            if info.get("fresh"):
                self._messages.pop(slot, None)
            messages = self._messages.setdefault(slot, [])
            messages.append({"role": "user", "content": observation})
            seen = [dict(message) for message in messages]
        if self._is_generator:
            return self._checked(slot, self._next(slot, seen, info))
        if self._is_async_generator:
            return self._await(slot, self._next_of_async(slot, seen, info))
        reply = self._call(seen, info)
        return self._await(slot, reply) if inspect.isawaitable(reply) else self._checked(slot, reply)

    def _call(self, seen: Any, info: Mapping[str, Any]) -> Any:
        return self.function(seen, info=dict(info)) if self._wants_info else self.function(seen)

    def _next(self, slot: int, seen: Any, info: Mapping[str, Any]) -> Any:
        try:
            if (generator := self._generators.get(slot)) is not None:
                return generator.send(seen)
            self._generators[slot] = self._call(seen, info)
            return next(self._generators[slot])
        except StopIteration:
            raise AgentError("its generator ended before the episode did", slot) from None

    async def _next_of_async(self, slot: int, seen: Any, info: Mapping[str, Any]) -> Any:
        try:
            if (generator := self._generators.get(slot)) is not None:
                return await generator.asend(seen)
            self._generators[slot] = self._call(seen, info)
            return await anext(self._generators[slot])
        except StopAsyncIteration:
            raise AgentError("its generator ended before the episode did", slot) from None

    async def _await(self, slot: int, reply: Any) -> Any:
        return self._checked(slot, await reply)

    def _checked(self, slot: int, action: Any) -> Any:
        if action is None or inspect.isgenerator(action) or inspect.isasyncgen(action):
            what = "None" if action is None else "a generator"
            raise AgentError(f"it returned {what} in place of an action", slot)
        if self._wants_messages and not isinstance(action, EndEpisode):
            self._messages[slot].append({"role": "assistant", "content": action})
        return action
