"""`Tool`: the protocol of what an agent may call in a reply, and the registry `TOOLS`.

A reply is read by each tool on offer (`choose_call`); the one that finds a call in it runs, and what it returns is the
next observation. So one environment may offer Python, SQL and more, each in a file of its own. The steps are those of
VerlTool (arXiv 2509.01055): parse an action, run it, observe, with a priority where several tools claim one action.
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
        output: the text that the agent reads, already cut to a bounded length; "" where there is only an error.
        failed: whether the call failed, by the fault of the agent.
        error: None, or one sentence for ``action_error``, where the call had no effect.
        valid: False when the machinery behind the tool failed; then it is no call.
    """

    output: str = ""
    failed: bool = False
    error: str | None = None
    valid: bool = True


class Tool:
    """Base of tools. A subclass has the texts below, and implements `parse` and `run`; it keeps nothing between calls,
    so that snapshots of an episode need not know of it.

    Attributes:
        name: in the extra ``tool_calls``.
        priority: where several tools find a call in one reply, the one with the highest runs; among equals, the first.
        cost: calls of the budget that a call takes.
        deed: what the agent does with it: "run Python".
        usage: how it is called and what comes back, in sentences that go on from "you may run Python:".
        form: what a reply without a call lacks: "a block of Python".
        needs_sandbox: whether it runs programs.
        called_by_tag: whether a ``<tool_call>`` that no tool reads is a mistake, and not the answer.
        max_output: characters of an output.
        purpose: what a call does and returns, for who calls it as a function; ``usage`` where it is "".
        parameters: of the function; None where the tool cannot be called as one.
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
        """Return the arguments of the call in a reply; None where there is no call of this tool. Never raises."""
        raise NotImplementedError(f"{type(self).__name__} must implement parse(action).")

    @property
    def function(self) -> ToolFunction | None:
        """The tool as a function; None where it cannot be called as one."""
        if self.parameters is None:
            return None
        return ToolFunction(self.name, self.purpose or self.usage, self.parameters, self.optional)

    def write(self, arguments: Mapping[str, Any]) -> str:
        """Write a reply in which `parse` finds a call with these arguments, which fit ``parameters``."""
        return write_tool_call(self.name, arguments)

    def refuse(self, arguments: Arguments) -> str | None:
        """Say why a call is not made (it is empty, too long, ...), in which case it takes nothing of the budget."""
        return None

    def run(self, arguments: Arguments, question: Question, task: Task) -> ToolResult:
        """Make the call, within bounds of time, memory and output. Never raises for what the agent wrote.

        Args:
            arguments: of `parse`.
            question: the family of the task, which may supply what the tool works on.
            task: the question that the agent answers.
        """
        raise NotImplementedError(f"{type(self).__name__} must implement run(arguments, question, task).")

    def close(self) -> None:
        """End what runs for the tool; called when its environment is closed. A later call may start it again."""


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
    """Return the tool that runs for a reply, with the arguments; None where no tool finds a call in it."""
    found: tuple[Tool, Any] | None = None
    for tool in tools:
        if found is None or tool.priority > found[0].priority:
            arguments = tool.parse(action)
            if arguments is not None:
                found = tool, arguments
    return found


def read_call(action: str) -> Mapping[str, Any] | None:
    """Read the first call in a reply, ``{"name": ..., "parameters": {...}}``; None where there is none.

    Raises:
        CallError: there is something like a call that cannot be read.
    """
    opening, closing = CALL_TAGS
    if action.count(opening) == action.count(closing) + 1:
        action += closing  # generation often stops at the closing mark
    calls = parse_tool_calls(action)
    return calls[0] if calls else None


def explain_misread(tools: Iterable[Tool], action: str) -> str | None:
    """Say why no tool runs for a reply that has a ``<tool_call>``, where tools are called so; else None."""
    known = [tool.name for tool in tools if tool.called_by_tag]
    if not known or CALL_TAGS[0] not in action:
        return None
    try:
        call = read_call(action)
    except CallError as error:
        return str(error)
    return None if call is None else str(unknown_name("tool", shorten(call["name"], 60), known))
