"""The agent protocol and the registry of agents.

An agent receives one observation per slot and returns one action per slot. A slot is one environment, which plays one
episode after another; an agent with memory keeps it per slot and clears it in ``reset``. `lookup.as_agent` makes an
agent of any callable ``observation -> action``. A `SlotAgent` answers each slot independently. The caller
(`palaestra.evaluate`, the learner) owns the environments; agents that need them (the oracle, the random agent) receive
them through `Agent.bind`.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
import weakref
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

import gymnasium as gym

from ..registry import Registry
from .usage import ActionTrace

AGENTS: Registry[Callable[..., Agent]] = Registry("agent", group="palaestra.agents", table="agents")
register = AGENTS.register


class AgentError(RuntimeError):
    """Error for an agent that raised an exception or did not return one action per slot.

    Attributes:
        slot: index of the slot that failed, or None when the whole batch failed.
    """

    def __init__(self, message: str, slot: int | None = None):
        super().__init__(message)
        self.slot = slot


@dataclass(frozen=True)
class EndEpisode:
    """Value that `Agent.act` returns in place of an action to end the slot's episode, as truncated.

    Attributes:
        valid: False if the episode tells nothing about the agent, for example because its endpoint failed; the episode
            is then left out of scores.
        reason: why the agent cannot continue, in one sentence; shown as the episode's error.
    """

    valid: bool = True
    reason: str | None = None


class Agent:
    """Base of agents, which act in a batch of slots. Subclasses define `act`, and the other methods as needed.

    Attributes:
        name: the agent's name in reports.
        max_slots: largest number of slots that the agent can play at the same time (1 for a person); None: no limit.
        prompt_form: value of the environments' option ``prompt`` with which this agent is played; None: their default.
    """

    name: str = "agent"
    max_slots: int | None = None
    prompt_form: str | None = None

    def act(self, observations: Sequence[Any], infos: Sequence[Mapping[str, Any]]) -> Sequence[Any]:
        """Choose one action for each slot.

        Args:
            observations: one per slot; index i is slot i.
            infos: the ``info`` that came with each observation. ``info["idle"]`` is True if the slot has nothing left
                to play (its action is ignored). ``info["fresh"]`` is True if the observation replaces the whole
                conversation so far (see `history`); an agent that keeps a conversation must then start a new one.
                ``info["episode_seed"]``, if present, is a non-negative int fixed for the episode; a stochastic agent
                that draws from it acts the same in whichever slot the episode is played.

        Returns:
            One action per observation; an `EndEpisode` ends the slot's episode.
        """
        raise NotImplementedError(f"{type(self).__name__} must define act(observations, infos)")

    def reset(self, indices: Sequence[int]) -> None:
        """Clear the memory of slots ``indices``, which begin new episodes at the next `act`."""

    def trace(self, slot: int) -> ActionTrace | None:
        """Return the record of how a slot's newest action came about, or None. Called once after each action."""
        return None

    def bind(self, envs: Sequence[gym.Env]) -> None:
        """Receive the environments, one per slot. Called once, before the first episode; most agents ignore them."""


class SlotAgent(Agent):
    """Agent that answers each slot independently, so that a slow reply in one slot does not delay the others.

    Subclasses define `respond`; or, if replies are computed in a batch, `start` and `advance`. `act` calls these.

    Attributes:
        threads: number of threads in which `respond` may run concurrently, if `respond` is not a coroutine. 1: in the
            caller's thread, unless the caller asks for more. None: always in the caller's thread.
    """

    threads: int | None = 1
    _loop: EventLoop | None = None

    def respond(self, slot: int, observation: Any, info: Mapping[str, Any]) -> Any:
        """Return the action for one observation. May be an ``async def``."""
        raise NotImplementedError(f"{type(self).__name__} must define respond(slot, observation, info)")

    def start(self, slot: int, observation: Any, info: Mapping[str, Any]) -> Any:
        """Call `respond` and return its action; if `respond` is a coroutine, the `concurrent.futures.Future` of it."""
        return self.wait_for(self.respond(slot, observation, info))

    def advance(self) -> bool:
        """Compute replies that `start` began, in this thread, until at least one is complete. Return False if there
        are none to compute."""
        return False

    def closing(self) -> Callable[[], Awaitable[None]] | None:
        """Return a coroutine function that releases resources such as connections, or None. It runs on the event loop
        once the agent is garbage-collected, so it must not hold a reference to the agent."""
        return None

    def wait_for(self, reply: Any) -> Any:
        """Run an awaitable reply on this agent's event loop and return its future; return other replies unchanged."""
        if not inspect.isawaitable(reply):
            return reply
        if self._loop is None:
            self._loop = EventLoop(self.name, self.closing())
            weakref.finalize(self, self._loop.close)
        return self._loop.start(reply)

    def act(self, observations: Sequence[Any], infos: Sequence[Mapping[str, Any]]) -> list[Any]:
        actions: list[Any] = [None] * len(observations)
        failed: AgentError | None = None
        for slot, (observation, info) in enumerate(zip(observations, infos, strict=True)):
            if not info.get("idle") and failed is None:
                try:
                    actions[slot] = self.start(slot, observation, info)
                except Exception as error:
                    failed = as_agent_error(error, slot)
        while any(isinstance(action, Future) and not action.done() for action in actions) and self.advance():
            pass
        for slot, action in enumerate(actions):
            if isinstance(action, Future):
                try:
                    actions[slot] = action.result()
                except Exception as error:
                    failed = failed or as_agent_error(error, slot)
        if failed is not None:
            raise failed from failed.__cause__
        return actions


class EventLoop:
    """Event loop in a separate thread, because the caller's thread may already run one (as in a notebook)."""

    def __init__(self, name: str, closing: Callable[[], Awaitable[None]] | None = None):
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=_run, args=(self._loop, closing), name=f"loop of {name}", daemon=True)
        self._thread.start()

    def start(self, call: Any) -> Future[Any]:
        async def wait() -> Any:
            return await call

        return asyncio.run_coroutine_threadsafe(wait(), self._loop)

    def close(self) -> None:
        """Cancel pending tasks and stop the loop."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        if threading.current_thread() is not self._thread:
            self._thread.join(timeout=5.0)


def _run(loop: asyncio.AbstractEventLoop, closing: Callable[[], Awaitable[None]] | None) -> None:
    loop.run_forever()
    loop.run_until_complete(_end(asyncio.all_tasks(loop), closing))
    loop.close()


async def _end(tasks: Collection[asyncio.Task[Any]], closing: Callable[[], Awaitable[None]] | None) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    if closing is not None:
        await closing()


def as_agent_error(error: Exception, slot: int) -> AgentError:
    """Wrap an agent's exception in an `AgentError` for the slot; an `AgentError` without a slot gets this slot."""
    if isinstance(error, AgentError):
        error.slot = slot if error.slot is None else error.slot
        return error
    found = AgentError(f"{type(error).__name__}: {error}", slot)
    found.__cause__ = error
    return found


def make(name: str, **kwargs: Any) -> Agent:
    """Make a new agent by its registered name.

    Raises:
        InputError: no agent has that name, or it does not take these arguments.
    """
    return AGENTS.make(name, **kwargs)
