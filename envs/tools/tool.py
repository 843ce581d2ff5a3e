"""`Tool`: base of the tools that an agent may call in a reply, and the registry `TOOLS`.

Each tool of an environment parses the reply (`choose_call`); the one that finds a call in the reply runs, and the
output is the next observation. So one environment may offer Python, SQL and other tools. The steps are those of
VerlTool (arXiv 2509.01055): parse an action, run it, observe, with a priority if several tools claim one action.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from ...errors import shorten, unknown_name
from ...registry import Registry
from ...rewards.verifiers.tool_calls import CallError, parse_tool_calls
from ..question import Question, Task
from .tool_function import Parameters, ToolFunction, write_tool_call

Arguments = Mapping[str, Any]
CALL_TAGS = ("<tool_call>", "</tool_call>")


@dataclass(frozen=True, slots=True)
class ToolResult:
    """Result of a call.

    Args:
        output: the text that the agent reads, already cut to a bounded length; "" if there is only an error.
        failed: True if the call failed through a mistake of the agent.
        error: one sentence for ``info["action_error"]`` if the call had no effect; otherwise None.
        valid: False if the machinery behind the tool failed; the call then does not count.
    """

    output: str = ""
    failed: bool = False
    error: str | None = None
    valid: bool = True


class Tool:
    """Base of tools. A subclass sets the attributes without default, and implements `parse` and `run`. A tool must keep
    no state between calls, because snapshots of an episode do not include tools.

    Attributes:
        name: name of the tool, also in ``info["extras"]["tool_calls"]``.
        priority: if several tools find a call in one reply, the one with the highest priority runs; among equals, the
            first.
        cost: number by which a call lowers the number of calls left.
        deed: phrase for the use of the tool: "run Python" in "You may run Python up to 3 times more."
        usage: how the tool is called and what comes back, in words that can follow "you may run Python:" in a prompt.
        form: the part of a reply that makes it a call, such as "a block of Python".
        needs_sandbox: True if the tool runs programs.
        called_by_tag: True if a ``<tool_call>`` that no tool reads is an action error, not the answer.
        max_output: maximum number of characters of an output.
        purpose: description of the tool as a function; "" for ``usage``.
        parameters: parameters of the tool as a function; None if it cannot be called as a function.
        optional: names of parameters that may be left out.
    """

    name: str
    priority: ClassVar[int] = 0
    cost: ClassVar[int] = 1
    deed: ClassVar[str]
    usage: str
    form: ClassVar[str]
    needs_sandbox: ClassVar[bool] = False
    called_by_tag: ClassVar[bool] = False
    max_output: int = 1_000
    purpose: str = ""
    parameters: Parameters | None = None
    optional: tuple[str, ...] = ()

    def parse(self, action: str) -> Arguments | None:
        """Return the arguments of the call in a reply; None if there is no call of this tool. Must not raise."""
        raise NotImplementedError(f"{type(self).__name__} must implement parse(action).")

    @property
    def function(self) -> ToolFunction | None:
        """The tool as a function; None if it cannot be called as one."""
        if self.parameters is None:
            return None
        return ToolFunction(self.name, self.purpose or self.usage, self.parameters, self.optional)

    def write(self, arguments: Mapping[str, Any]) -> str:
        """Write a reply in which `parse` finds a call with these arguments, which must fit ``parameters``."""
        return write_tool_call(self.name, arguments)

    def refuse(self, arguments: Arguments) -> str | None:
        """Return a sentence why the call must not be made (it is empty, too long, ...), or None. A refused call does
        not lower the number of calls left."""
        return None

    def run(self, arguments: Arguments, question: Question, task: Task) -> ToolResult:
        """Make the call, within limits of time, memory and output. No text of the agent may make this raise.

        Args:
            arguments: as returned by `parse`.
            question: the environment of the question, which may supply the tool's data, such as a database.
            task: the question that the agent answers.
        """
        raise NotImplementedError(f"{type(self).__name__} must implement run(arguments, question, task).")

    def close(self) -> None:
        """Release resources of the tool, such as a server; called when its environment is closed. A later call of the
        tool may acquire them again."""


TOOLS: Registry[type[Tool]] = Registry(
    "tool",
    group="palaestra.tools",
    modules=[
        "palaestra.envs.code.judging.python_interpreter",
        "palaestra.envs.sql.database_tools",
        "palaestra.envs.web.wiki.wiki_tools",
    ],
)


def choose_call(tools: Iterable[Tool], action: str) -> tuple[Tool, Arguments] | None:
    """Return the tool that a reply calls, and the arguments; None if no tool finds a call in the reply."""
    found: tuple[Tool, Any] | None = None
    for tool in tools:
        if found is None or tool.priority > found[0].priority:
            arguments = tool.parse(action)
            if arguments is not None:
                found = tool, arguments
    return found


def read_call(action: str) -> Mapping[str, Any] | None:
    """Return the first ``<tool_call>`` in a reply as ``{"name": ..., "parameters": {...}}``; None if there is none.

    Raises:
        CallError: there is a ``<tool_call>``, but it cannot be read.
    """
    opening, closing = CALL_TAGS
    if action.count(opening) == action.count(closing) + 1:
        action += closing  # generation often stops at the closing mark
    calls = parse_tool_calls(action)
    return calls[0] if calls else None


def explain_misread(tools: Iterable[Tool], action: str) -> str | None:
    """Return the error of a reply whose ``<tool_call>`` no tool reads; None if there is no such tag, or no tool has
    ``called_by_tag``."""
    known = [tool.name for tool in tools if tool.called_by_tag]
    if not known or CALL_TAGS[0] not in action:
        return None
    try:
        call = read_call(action)
    except CallError as error:
        return str(error)
    return None if call is None else str(unknown_name("tool", shorten(call["name"], 60), known))
