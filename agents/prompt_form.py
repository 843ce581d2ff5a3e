"""The form in which environments speak to an agent: in sentences, or tersely to a model of characters.

A form is a value of the option ``prompt`` of `TaskEnv`. An agent has one (`Agent.prompt_form`), and a run of a language
model records its own, so that the policy is asked in the same form wherever it plays.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from gymnasium.envs.registration import EnvSpec, load_env_creator

from ..envs.task_env import TaskEnv

PROMPT_FORMS = SENTENCES, TERSE = TaskEnv.prompts
FORM_OF_OLD_RUNS = TERSE
"""The form of runs whose configuration names none: they were begun when terse prompts were the only ones."""


def add_prompt_form(spec: EnvSpec, options: Mapping[str, Any], form: str | None) -> dict[str, Any]:
    """Add an agent's form of prompts to the arguments of an environment. Nothing is added if the arguments have a form,
    if the environment does not accept one, or if the form is the default."""
    if form in (None, SENTENCES) or "prompt" in {**spec.kwargs, **options}:
        return dict(options)
    entry = load_env_creator(spec.entry_point) if isinstance(spec.entry_point, str) else spec.entry_point
    if not isinstance(entry, type) or not issubclass(entry, TaskEnv):
        return dict(options)
    parameters = inspect.signature(entry).parameters
    takes = "prompt" in parameters or any(one.kind is one.VAR_KEYWORD for one in parameters.values())
    return {**options, "prompt": form} if takes else dict(options)
