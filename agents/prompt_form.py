"""The form of an environment's prompts: full sentences, or terse text for a character-level model.

A form is a value of the option ``prompt`` of `TaskEnv`. An agent may require one (`Agent.prompt_form`). A run of a
language model records its form, so that the policy gets prompts of the same form in every later evaluation.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from gymnasium.envs.registration import EnvSpec, load_env_creator

from ..envs.task_env import TaskEnv

PROMPT_FORMS = SENTENCES, TERSE = TaskEnv.prompts
FORM_OF_OLD_RUNS = TERSE
"""The form of runs whose configuration names none: they are from the time when all prompts were terse."""


def add_prompt_form(spec: EnvSpec, options: Mapping[str, Any], form: str | None) -> dict[str, Any]:
    """Return an environment's options with ``prompt`` set to an agent's prompt form. The options are returned unchanged
    if they already set ``prompt``, if the environment does not take this option, or if the form is None or the
    default."""
    if form in (None, SENTENCES) or "prompt" in {**spec.kwargs, **options}:
        return dict(options)
    entry = load_env_creator(spec.entry_point) if isinstance(spec.entry_point, str) else spec.entry_point
    if not isinstance(entry, type) or not issubclass(entry, TaskEnv):
        return dict(options)
    parameters = inspect.signature(entry).parameters
    takes = "prompt" in parameters or any(one.kind is one.VAR_KEYWORD for one in parameters.values())
    return {**options, "prompt": form} if takes else dict(options)
