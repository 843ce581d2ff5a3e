"""Lookup of agents: `find_agent` for the text that names one on a command line, and `as_agent`, which also takes
functions and other objects that act."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from ..errors import InputError, unknown_name
from ..registry import import_module
from .agent import AGENTS, Agent, make
from .callable_agent import CallableAgent
from .language.model_cache import is_model_name
from .language.registered_models import MODELS

_PORT = re.compile(r"[\w.-]+:\d+(/|$)")


def find_agent(text: str) -> Agent:
    """Find the agent that a command line names.

    Args:
        text: one of

            - a registered name, optionally with arguments: ``chat(model='m')``;
            - the address of a chat endpoint that serves one model: ``http://localhost:8000/v1``;
            - ``openai:MODEL``, a model of the endpoint in the environment variable ``OPENAI_BASE_URL``;
            - the folder of a run or a model, a GGUF file, a name in ``palaestra list models``, or a hub id, optionally
              after ``hf:``;
            - ``RUN@CHECKPOINT``, such as ``runs/first@best`` or ``runs/first@100``;
            - ``module:name`` or ``file.py:name``, an attribute of the module or an agent that the module registers.

    Raises:
        InputError: the text has none of these forms.
        MissingExtra: the text names a model, and torch or transformers is not installed.
    """
    if text in AGENTS:
        return make(text)
    if text.startswith(("http://", "https://")):
        return make("chat", base_url=text)
    if text.startswith("openai:"):
        return make("chat", model=text.removeprefix("openai:"))
    if text.startswith("hf:"):
        return _load_player(text.removeprefix("hf:"))
    if text.endswith(")"):
        from .grpo.recipes.recipe import Component

        component = Component.parse(text)
        return make(component.name, **component.params)
    if Path(text).is_dir() or is_model_name(text):
        return _load_player(text)
    folder, _, checkpoint = text.rpartition("@")
    if folder and Path(folder).is_dir():
        return _load_player(folder, checkpoint=checkpoint)
    if _PORT.match(text):
        raise InputError(f"the agent {text!r} looks like an endpoint's address without http://; write http://{text}.")
    module, colon, attribute = text.rpartition(":")
    if not colon or (os.sep in text and not module.endswith(".py")):
        # One slash has the form of a hub id. If the part before it is a folder here, the rest is mistyped, and a
        # request to the hub would only cost time.
        if text.count("/") == 1 and not (Path(text).parent.is_dir() or text[0] in "./"):
            return _load_player(text)
        if os.sep in text or text.startswith("."):
            raise InputError(f"the agent {text!r} is no folder; give the folder of a run or of a model.")
        raise unknown_name("agent", text, [*AGENTS, *MODELS], AGENTS.table)
    try:
        value = import_module(module)
        module = value.__name__
    except ImportError as error:
        raise InputError(f"the module {module!r} of agent {text!r} cannot be imported: {error}.") from error
    for part in attribute.split("."):
        if not hasattr(value, part) and AGENTS.registers(module, attribute):
            return make(attribute)  # the module has registered it
        if not hasattr(value, part):
            raise unknown_name(f"attribute of {module}", part, [name for name in dir(value) if name[0] != "_"])
        value = getattr(value, part)
    return as_agent(value)


def _load_player(source: str, **options: Any) -> Agent:
    # Imported here because the configurations of learners import the parser of the command line.
    from .learners import load_player

    return load_player(source, **options)


def as_agent(agent: Any) -> Agent:
    """Convert an `Agent`, an `Agent` class, a text for `find_agent`, or a callable to an `Agent`.

    Raises:
        InputError: ``agent`` is of another kind.
    """
    if isinstance(agent, Agent):
        return agent
    if isinstance(agent, str):
        return find_agent(agent)
    if isinstance(agent, type) and issubclass(agent, Agent):
        return agent()
    if callable(agent):
        return CallableAgent(agent)
    raise InputError(
        f"an agent is an Agent, a name or folder, or a callable observation -> action, not {agent!r} "
        f"of type {type(agent).__name__}."
    )
