"""Plain functions as rewards: functions of an episode, and reward functions written for TRL or verifiers.

TRL calls ``f(prompts, completions, **columns)`` with lists and reads a list; verifiers calls ``f(prompt, completion,
answer, ...)`` for one reply and reads a number. The names of the parameters decide which convention applies.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from ..errors import InputError
from .episode import Episode


def _messages(episode: Episode) -> list[dict[str, str]]:
    """Return the conversation before the last reply, as chat messages."""
    found = []
    for step in episode.steps:
        found += [{"role": "user", "content": str(step.observation)}, {"role": "assistant", "content": step.action}]
    return found[:-1]


_VALUES: Mapping[str, Callable[[Episode], Any]] = MappingProxyType(
    {
        "prompt": lambda episode: episode.prompt,
        "completion": lambda episode: episode.response,
        "response": lambda episode: episode.response,
        "answer": lambda episode: episode.extra("reference"),
        "reference": lambda episode: episode.extra("reference"),
        "ground_truth": lambda episode: episode.extra("reference"),
        "messages": _messages,
        "task_id": lambda episode: episode.task_id,
        "info": lambda episode: dict(episode.params),
        "state": lambda episode: {"prompt": episode.prompt, "completion": episode.response, **episode.params},
    }
)
"""Parameter name -> function that reads the argument from an episode. TRL's convention calls prompt and completion
"prompts" and "completions", and passes every argument as a list."""
_BATCHED = ("prompts", "completions")
_NEEDS_REFERENCE = frozenset({"answer", "reference", "ground_truth"})


def take_function(function: Callable[..., Any]) -> tuple[Callable[[Episode], Any], frozenset[str]]:
    """Adapt a reward function to one argument, an `Episode`.

    Returns:
        The function of an episode, and the names of the entries of ``Episode.extras`` that it reads ("reference" or
        none).

    Raises:
        InputError: a parameter without a default has an unknown name.
    """
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return function, frozenset()
    takes_any = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters)
    named = [one for one in parameters if one.kind not in (one.VAR_KEYWORD, one.VAR_POSITIONAL)]
    names = {one.name for one in named}
    known = names & {*_VALUES, *_BATCHED}
    required = [one.name for one in named if one.default is one.empty]
    if not known - {"state", "info"} and len(required) <= 1:
        return function, frozenset()
    unknown = [name for name in required if name not in known]
    if unknown:
        raise InputError(
            f"takes {', '.join(required)}, of which {unknown[0]} is unknown: a reward takes an episode, or any of "
            f"{', '.join([*_BATCHED, *_VALUES])}"
        )
    batched = bool(names & set(_BATCHED))
    needs = _NEEDS_REFERENCE & names
    further = {"task_id", *(["answer"] if needs else [])} if takes_any else set()
    passed = [name for name in _VALUES if name in names | further]

    def call(episode: Episode) -> Any:
        given = {name: _VALUES[name](episode) for name in passed}
        if not batched:
            return function(**given)
        lists = {name: [value] for name, value in given.items() if name not in ("prompt", "completion")}
        texts = {"prompts": [episode.prompt], "completions": [episode.response]}
        lists |= {name: value for name, value in texts.items() if name in names or takes_any}
        found = function(**lists)
        return found[0] if isinstance(found, list | tuple) and len(found) == 1 else found

    return call, frozenset({"reference"}) if needs else frozenset()
