"""Solutions by an environment's scripted solver: the oracle agent, the upper bound of every table, and the worked
solutions from which demonstrations and hints are made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium as gym

from ..envs.mixture import Mixture
from ..envs.question import Question
from ..envs.task_env import TaskEnv
from ..errors import InputError
from .agent import Agent, register


@register("oracle")
class OracleAgent(Agent):
    """Agent that plays the action ``env.oracle()`` in every slot. `bind` must be called first; evaluations do."""

    name = "oracle"

    def __init__(self) -> None:
        self._envs: list[gym.Env] = []

    def bind(self, envs: Sequence[gym.Env]) -> None:
        """Keep the environments.

        Raises:
            InputError: an environment has no ``oracle()``.
        """
        for env in envs:
            if not has_solver(env):
                name = env.spec.id if env.spec else type(env.unwrapped).__name__
                raise InputError(f"{name!r} has no oracle() for the oracle agent to follow; choose another agent.")
        self._envs = list(envs)

    def act(self, observations: Sequence[Any], infos: Sequence[Mapping[str, Any]]) -> list[Any]:
        if len(self._envs) < len(infos):
            raise InputError(
                f"the oracle agent plays {len(infos)} slots but was bound to {len(self._envs)} environments; "
                "call bind(envs) first."
            )
        return [None if info.get("idle") else env.get_wrapper_attr("oracle")() for env, info in zip(self._envs, infos)]


def has_solver(env: gym.Env[Any, Any]) -> bool:
    """Return True if an environment has a scripted solver."""
    oracle = getattr(type(env.unwrapped), "oracle", None)
    return callable(oracle) and oracle is not TaskEnv.oracle


def oracle_action(env: gym.Env[Any, Any]) -> str:
    """Return the next action of the environment's scripted solver.

    Raises:
        InputError: the environment has no solver.
    """
    try:
        return str(env.get_wrapper_attr("oracle")())
    except (AttributeError, NotImplementedError):
        raise InputError(
            f"{type(env.unwrapped).__name__} has no oracle(); strategies that show solutions need one, choose another "
            "rollout."
        ) from None


def worked_steps(info: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the steps of the worked solution, in order; the last step is the answer.

    Args:
        info: ``info`` of a reset.

    Returns:
        ``info["extras"]["solution_steps"]`` without blank steps; () if the environment gives no solution.
    """
    try:
        steps = (info.get("extras") or {}).get("solution_steps") or ()
    except NotImplementedError:  # a family without a solver has no solution to tell
        return ()
    return tuple(str(step) for step in steps if str(step).strip())


def worked_action(env: gym.Env[Any, Any], info: Mapping[str, Any]) -> str:
    """Write the solver's next action as a model would: one line for each step of the worked solution, then the answer.

    If the environment could not read the answer otherwise, a blank line precedes the answer, or the steps are put
    between the tags of a thought. Actions of games, and answers without steps, come from `oracle_action`.

    Args:
        env: the environment, in the state before the action.
        info: ``info`` of the episode's reset.

    Raises:
        InputError: the environment has neither a solver nor steps.
    """
    steps = worked_steps(info)
    if not has_solver(env) and steps:
        return "\n".join(steps)
    if not isinstance(_in_play(env), Question) or len(steps) < 2:
        return oracle_action(env)
    return write_solution(env, "\n".join(steps[:-1]))


def write_solution(env: gym.Env[Any, Any], working: str) -> str:
    """Write a derivation and the solver's answer as one action, in a form from which the environment reads the answer.

    Args:
        env: the environment, in the state before the action; if it is no `Question`, the solver's action simply follows
            the derivation on a new line.
        working: the derivation.
    """
    inner = _in_play(env)
    answer = oracle_action(env)
    if not isinstance(inner, Question):
        return f"{working}\n{answer}"
    form = inner.form_of(inner.here())
    wanted = inner.read_action(answer, form)[0][:1]
    for text in (f"{working}\n{answer}", f"{working}\n\n{answer}"):
        if inner.read_action(text, form)[0][:1] == wanted:
            return text
    tag = inner.thoughts[0] if inner.thoughts else "think"
    opening, closing = (tag, tag.replace("[", "[/", 1)) if tag.startswith("[") else (f"<{tag}>", f"</{tag}>")
    return f"{opening}\n{working}\n{closing}\n{answer}"


def _in_play(env: gym.Env[Any, Any]) -> Any:
    """Return the unwrapped environment; for a `Mixture`, the environment that plays the current episode."""
    inner = env.unwrapped
    return inner.part if isinstance(inner, Mixture) else inner
