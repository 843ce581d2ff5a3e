"""The agent protocol and the registry of agents.

An agent receives one observation per slot and returns one action per slot. A slot is one stream of episodes, so an
agent with memory keeps it per slot and forgets it in ``reset``. Any callable ``observation -> action`` is an agent too,
through `as_agent`. The player (`palaestra.evaluate`, the learner) owns the environments; an agent that must see them
(the oracle, the random one) receives them through `Agent.bind`.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium as gym

from ..errors import InputError
from ..registry import Registry

AGENTS: Registry[Callable[..., Agent]] = Registry("agent", group="palaestra.agents")
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
    """What an agent returns in place of an action if it cannot go on; the episode ends there as truncated.

    Attributes:
        valid: False if nothing could be played, so that the episode says nothing about the agent.
    """

    valid: bool = True


class Agent:
    """Acts in a batch of slots. Subclasses define `act`, and the other methods where they need them.

    Attributes:
        name: the agent's name in reports.
        max_slots: the most slots it can play at once, or None without a limit (a person plays one).
    """

    name: str = "agent"
    max_slots: int | None = None

    def act(self, observations: Sequence[Any], infos: Sequence[Mapping[str, Any]]) -> Sequence[Any]:
        """Choose one action for each slot.

        Args:
            observations: one per slot, position i is slot i.
            infos: the ``info`` that came with each observation. ``info["idle"]`` is True where the slot has nothing
                left to play (its action is ignored); ``info["fresh"]`` where the observation stands for the whole
                conversation before it (see `history`), which an agent that keeps one forgets;
                ``info["episode_seed"]``, where there is one, is a non-negative int that belongs to the episode, so that
                a stochastic agent can act alike whatever slot the episode is played in.

        Returns:
            as many actions as there are observations; an `EndEpisode` ends the slot's episode.
        """
        raise NotImplementedError(f"{type(self).__name__} must define act(observations, infos)")

    def reset(self, indices: Sequence[int]) -> None:
        """Slots ``indices`` begin new episodes at the next `act`; forget what was remembered for them."""

    def bind(self, envs: Sequence[gym.Env]) -> None:
        """Receive the environment of each slot, once, before any play. Most agents ignore it."""


class CallableAgent(Agent):
    """Plays any function of one observation.

    Args:
        function: ``observation -> action``, called once for each slot that is not idle. The calls of an ``async def``
            function wait side by side, on an event loop that lasts as long as the agent.
    """

    def __init__(self, function: Callable[[Any], Any]):
        self.function = function
        self.name = getattr(function, "__qualname__", type(function).__name__)
        self._loop: asyncio.AbstractEventLoop | None = None

    def act(self, observations: Sequence[Any], infos: Sequence[Mapping[str, Any]]) -> list[Any]:
        actions: list[Any] = []
        for slot, (observation, info) in enumerate(zip(observations, infos)):
            if info.get("idle"):
                actions.append(None)
                continue
            try:
                actions.append(self.function(observation))
            except Exception as error:
                raise AgentError(f"{type(error).__name__}: {error}", slot) from error
        if waiting := [slot for slot, action in enumerate(actions) if inspect.isawaitable(action)]:
            for slot, result in zip(waiting, self._wait([actions[slot] for slot in waiting]), strict=True):
                if isinstance(result, BaseException):
                    raise AgentError(f"{type(result).__name__}: {result}", slot) from result
                actions[slot] = result
        for slot, (action, info) in enumerate(zip(actions, infos)):
            if not info.get("idle") and (action is None or inspect.isgenerator(action) or inspect.isasyncgen(action)):
                what = "None" if action is None else "a generator"
                raise AgentError(f"it returned {what} in place of an action", slot)
        return actions

    def _wait(self, calls: list[Any]) -> list[Any]:
        """Results of coroutines, or their exceptions; in a thread, as this one may have a running loop."""
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            threading.Thread(target=_run, args=(self._loop,), name=f"loop of {self.name}", daemon=True).start()
            weakref.finalize(self, self._loop.call_soon_threadsafe, self._loop.stop)

        async def gather() -> list[Any]:
            return await asyncio.gather(*calls, return_exceptions=True)

        return asyncio.run_coroutine_threadsafe(gather(), self._loop).result()


def _run(loop: asyncio.AbstractEventLoop) -> None:
    loop.run_forever()
    loop.close()


def make(name: str, **kwargs: Any) -> Agent:
    """Make a new agent by its registered name.

    Raises:
        InputError: no agent has that name, or it does not take these arguments.
    """
    return AGENTS.make(name, **kwargs)


def as_agent(agent: Any) -> Agent:
    """Convert to an `Agent`: one itself, an instance of an `Agent` class, a registered name, or a wrapped callable.

    Raises:
        InputError: it is none of these.
    """
    if isinstance(agent, Agent):
        return agent
    if isinstance(agent, str):
        return make(agent)
    if isinstance(agent, type) and issubclass(agent, Agent):
        return agent()
    if callable(agent):
        return CallableAgent(agent)
    raise InputError(
        f"an agent is an Agent, a registered name or a callable observation -> action, not {agent!r} "
        f"of type {type(agent).__name__}."
    )
