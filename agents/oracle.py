"""The agent that plays the environment's own solution: the upper bound of every table, and a source of
demonstrations to warm a model up on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium as gym

from ..errors import InputError
from .agent import Agent, register


@register("oracle")
class OracleAgent(Agent):
    """Plays ``env.unwrapped.oracle()`` in every slot. It needs `bind`, which `palaestra.evaluate` calls."""

    name = "oracle"

    def __init__(self) -> None:
        self._envs: list[gym.Env] = []

    def bind(self, envs: Sequence[gym.Env]) -> None:
        """Keep the environments.

        Raises:
            InputError: one of them has no ``oracle()``.
        """
        for env in envs:
            if not callable(getattr(env.unwrapped, "oracle", None)):
                name = env.spec.id if env.spec else type(env.unwrapped).__name__
                raise InputError(f"{name!r} has no oracle() for the oracle agent to follow; choose another agent.")
        self._envs = list(envs)

    def act(self, observations: Sequence[Any], infos: Sequence[Mapping[str, Any]]) -> list[Any]:
        if len(self._envs) < len(infos):
            raise InputError(
                f"the oracle agent plays {len(infos)} slots but was bound to {len(self._envs)} environments; "
                "call bind(envs) first."
            )
        return [
            None if info.get("idle") else env.unwrapped.oracle()  # pyright: ignore[reportAttributeAccessIssue]
            for env, info in zip(self._envs, infos)
        ]
