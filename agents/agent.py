"""The agent protocol and the registry of agents.

An agent receives one observation per slot and returns one action per slot. A slot is one stream of episodes, so an
agent with memory keeps it per slot and forgets it in ``reset``. Any callable ``observation -> action`` is an agent too,
through `lookup.as_agent`. A `SlotAgent` acts in each slot by itself. The player (`palaestra.evaluate`, the learner)
owns the environments; an agent that must see them (the oracle, the random one) receives them through `Agent.bind`.
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
    """An agent raised, or returned something that is no batch of actions.

    Attributes:
        slot: position in the batch where it failed, or None when the whole batch failed.
    """

    def __init__(self, message: str, slot: int | None = None):
        super().__init__(message)
        self.slot = slot


@dataclass(frozen=True)
class EndEpisode:
    """Returned in place of an action by an agent that cannot go on; the episode ends there as truncated.

    Attributes:
        valid: False if nothing could be played, so that the episode says nothing about the agent.
        reason: why it cannot, in one sentence; shown as the episode's error.
    """

    valid: bool = True
    reason: str | None = None


class Agent:
    """Acts in a batch of slots. Subclasses define `act`, and the other methods as needed.

    Attributes:
        name: the agent's name in reports.
        max_slots: the most slots it can play at once, or None without a limit (a person plays one).
        prompt_form: form of the prompts for this agent, a value of the environments' option ``prompt``; None keeps the
            default.
    """

    name: str = "agent"
    max_slots: int | None = None
    prompt_form: str | None = None

    def act(self, observations: Sequence[Any], infos: Sequence[Mapping[str, Any]]) -> Sequence[Any]:
        """Choose one action for each slot.

        Args:
            observations: one per slot, position i is slot i.
            infos: the ``info`` that came with each observation. ``info["idle"]`` is True if the slot has nothing left
                to play (its action is ignored). ``info["fresh"]`` is True if the observation replaces the whole
                conversation before it (see `history`); an agent that keeps a conversation restarts it.
                ``info["episode_seed"]``, if present, is a non-negative int that belongs to the episode, so that a
                stochastic agent can act alike in whatever slot the episode is played.

        Returns:
            as many actions as there are observations; an `EndEpisode` ends the slot's episode.
        """
        raise NotImplementedError(f"{type(self).__name__} must define act(observations, infos)")

    def reset(self, indices: Sequence[int]) -> None:
        """Forget the memory of slots ``indices``, which begin new episodes at the next `act`."""

    def trace(self, slot: int) -> ActionTrace | None:
        """Return the trace of a slot's newest action, or None without a trace; called once after each action."""
        return None

    def bind(self, envs: Sequence[gym.Env]) -> None:
        """Receive the environment of each slot, once, before any play. Most agents ignore it."""


class SlotAgent(Agent):
    """An agent that acts in each slot by itself, so that a slow reply in one holds up no other.

    Subclasses define `respond`, or `start` where replies are worked on together, with `advance`; `act` is made of
    these.

    Attributes:
        threads: in how many threads `respond` may run at once, if it is a plain function; 1: in the caller's own,
            unless the caller wants more; None: in the caller's own in any case.
    """

    threads: int | None = 1
    _loop: EventLoop | None = None

    def respond(self, slot: int, observation: Any, info: Mapping[str, Any]) -> Any:
        """Return the action for one observation, or a coroutine that does (an ``async def`` will do)."""
        raise NotImplementedError(f"{type(self).__name__} must define respond(slot, observation, info)")

    def start(self, slot: int, observation: Any, info: Mapping[str, Any]) -> Any:
        """Call `respond`: its action, or for a coroutine the `concurrent.futures.Future` of its action."""
        return self.wait_for(self.respond(slot, observation, info))

    def advance(self) -> bool:
        """Work in this thread on replies that were begun by `start`, until at least one has arrived; False where there
        is nothing to work on."""
        return False

    def closing(self) -> Callable[[], Awaitable[None]] | None:
        """Return the function to call on the event loop when the agent is no more, such as the closing of connections;
        it must not refer to the agent."""
        return None

    def wait_for(self, reply: Any) -> Any:
        """Start a coroutine on this agent's event loop and return its future; return any other reply unchanged."""
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
    """An event loop in a separate thread, because the caller's thread may already run one (as in a notebook)."""

    def __init__(self, name: str, closing: Callable[[], Awaitable[None]] | None = None):
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=_run, args=(self._loop, closing), name=f"loop of {name}", daemon=True)
        self._thread.start()

    def start(self, call: Any) -> Future[Any]:
        async def wait() -> Any:
            return await call

        return asyncio.run_coroutine_threadsafe(wait(), self._loop)

    def close(self) -> None:
        """End the loop and its pending tasks."""
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
    """Wrap the exception of an agent in an `AgentError` that names the slot; an `AgentError` only gets the slot."""
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
