"""The environment's own solution: the agent that plays it, the upper bound of every table, and the worked solutions
that demonstrations and hints are made of."""

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
    """Plays ``env.unwrapped.oracle()`` in every slot. It needs `bind`, which `palaestra.evaluate` calls."""

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
    """Read the worked solution of the task that a reset began: its steps in order, the last one being the answer.

    Returns:
        ``info["extras"]["solution_steps"]``, without blank steps; () where the environment tells no solution.
    """
    try:
        steps = (info.get("extras") or {}).get("solution_steps") or ()
    except NotImplementedError:  # a family without a solver has no solution to tell
        return ()
    return tuple(str(step) for step in steps if str(step).strip())


def worked_action(env: gym.Env[Any, Any], info: Mapping[str, Any]) -> str:
    """Write the solver's next action as a model would: the steps of the worked solution, one a line, then the answer.

    If the environment needs it to read the answer, the answer follows a blank line, or the steps are put between the
    tags of a thought. Actions of games, and answers without steps, come from `oracle_action`.

    Args:
        env: the environment, before the action.
        info: ``info`` of its reset.

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
    """Write some working and the answer to the current question as one action from which the answer is read.

    Args:
        env: a question, before the action; any other environment gets the working and the solver's action, line by
            line.
        working: the way to the answer.
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
    """Return the environment itself, or the one of a mixture that the episode belongs to."""
    inner = env.unwrapped
    return inner.part if isinstance(inner, Mixture) else inner
