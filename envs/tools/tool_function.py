"""`ToolFunction`: a tool as a function with typed parameters, as chat endpoints and agents call tools.

The protocol of an environment with tools has two methods, on `palaestra.envs.tools.tool_question.ToolQuestion`, the
tasks on web sites, or any environment of your own: ``tool_functions()`` returns the functions that may be called, and
``write_call(name, arguments)`` the action that makes a call. So a client that makes function calls need not know how
an environment writes them in text.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from ...errors import InputError, shorten, unknown_name

Parameters = Mapping[str, Mapping[str, Any]]
"""Name of each parameter -> its JSON schema, such as ``{"type": "string", "description": ..., "enum": [...]}``. Texts
and whole numbers are checked, or made from each other; values of other types are taken as they are."""

_ESCAPES = {"<": "\\u003c", ">": "\\u003e", "`": "\\u0060"}


@dataclass(frozen=True, slots=True)
class ToolFunction:
    """A function on offer.

    Args:
        name: a word.
        description: what a call does and returns.
        parameters: see `Parameters`.
        optional: names of parameters that may be left out.
        answers: True if a call gives the answer, which ends the episode.
        definitions: further entries of the JSON schema, such as "$defs", to which those of parameters refer.
    """

    name: str
    description: str
    parameters: Parameters = field(default_factory=dict)
    optional: tuple[str, ...] = ()
    answers: bool = False
    definitions: Mapping[str, Any] = field(default_factory=dict)

    @property
    def required(self) -> list[str]:
        return [name for name in self.parameters if name not in self.optional]

    def schema(self) -> dict[str, Any]:
        """Return the JSON schema of the arguments."""
        properties = {name: dict(parameter) for name, parameter in self.parameters.items()}
        return {"type": "object", "properties": properties, "required": self.required, **self.definitions}

    def check(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Convert arguments to the declared types. Arguments that the function does not have, and None, are dropped.

        Texts and whole numbers are converted into each other ("3" and 3); values of other types are not checked.

        Raises:
            InputError: a required argument is missing, cannot be converted, or is not among the values of its enum.
        """
        missing = [name for name in self.required if arguments.get(name) is None]
        if missing:
            got = ", ".join(sorted(map(str, arguments))) or "nothing"
            raise InputError(f"{self.name} needs the argument {missing[0]!r}; it got {shorten(got, 200)}.")
        return {
            name: self._read(name, parameter, arguments[name])
            for name, parameter in self.parameters.items()
            if arguments.get(name) is not None
        }

    def _read(self, name: str, parameter: Mapping[str, Any], value: Any) -> Any:
        if parameter.get("type") not in ("string", "integer"):
            return value
        whole = parameter["type"] == "integer"
        try:
            if isinstance(value, bool) or not isinstance(value, str | int | float) or value != value:
                raise ValueError
            read: Any = int(value) if whole else str(value)
            if whole and isinstance(value, float) and read != value:
                raise ValueError
        except (ValueError, OverflowError):
            kind = "a whole number" if whole else "text"
            given = shorten(repr(value), 60)
            raise InputError(f"{name!r} of {self.name} must be {kind}, not {given}.") from None
        if "enum" in parameter and read not in parameter["enum"]:
            allowed = ", ".join(map(repr, parameter["enum"]))
            raise InputError(f"{name!r} of {self.name} must be one of {allowed}, not {shorten(read, 60)!r}.")
        return read


@runtime_checkable
class OffersFunctions(Protocol):
    """An environment whose tools can be called as functions."""

    def tool_functions(self) -> tuple[ToolFunction, ...]:
        """Return the functions that may be called; () if there are none."""
        ...

    def write_call(self, name: str, arguments: Mapping[str, Any]) -> Any:
        """Return the action that makes a call. It must depend on the arguments alone.

        Raises:
            InputError: there is no such function, or the arguments do not fit. The message is for the agent.
        """
        ...


def functions_of(env: Any) -> tuple[ToolFunction, ...]:
    """Return the functions that an environment, wrapped or not, offers; () if it has no tools."""
    inner = env.unwrapped
    return inner.tool_functions() if isinstance(inner, OffersFunctions) else ()


def find_function(functions: Iterable[ToolFunction], name: str) -> ToolFunction:
    """Return the function of a name. Raises InputError, with similar names, if there is none."""
    known = {function.name: function for function in functions}
    if name not in known:
        raise unknown_name("tool", shorten(name, 60), known)
    return known[name]


def write_tool_call(name: str, arguments: Mapping[str, Any]) -> str:
    """Write a call between <tool_call> and </tool_call> in JSON (Hermes, Qwen3), so that nothing in the arguments can
    be taken for a tag or for the mark of a block."""
    text = json.dumps({"name": name, "arguments": dict(arguments)}, ensure_ascii=False)
    for mark, escape in _ESCAPES.items():
        text = text.replace(mark, escape)
    return f"<tool_call>{text}</tool_call>"
