"""Forms of tool calls: in text (ReAct), or by the endpoint's function calls (native).

A form adds text to the system prompt and fields to the requests, and parses a reply into steps: actions of the
environment, or malformed calls that are reported to the model. Environments declare their tools, and how a call is
written as an action (`palaestra.envs.tools.tool_function`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...envs.tools.tool_function import ToolFunction, find_function
from ...errors import InputError
from ...registry import Registry
from ...rewards.answers.thoughts import without_thoughts
from .reply import ChatReply

TOOL_FORMS: Registry[type[ToolForm]] = Registry("way of calling tools")


@dataclass(frozen=True)
class ReplyStep:
    """Step parsed from a reply: an action, or the error in a malformed tool call.

    Attributes:
        action: action for the environment; None for a malformed call.
        fault: error in a malformed call, as a sentence for the model.
        call_id: id of the tool call; None if the step is no tool call.
        call: name and arguments of the tool call, for the record.
    """

    action: Any = None
    fault: str = ""
    call_id: str | None = None
    call: Mapping[str, Any] | None = None


class ToolForm:
    """Form without tools, in which each reply is an action; base of the other forms.

    Args:
        functions: the tools that may be called.
        write_call: function of a tool's name and arguments that returns the action, or raises InputError.

    Attributes:
        instruction: text for the system prompt.
        settings: additional fields of each request.
        stop: texts that end a reply.
    """

    instruction = ""
    stop: tuple[str, ...] = ()

    def __init__(
        self, functions: Sequence[ToolFunction] = (), write_call: Callable[[str, Mapping[str, Any]], Any] | None = None
    ):
        self.functions, self.write_call = tuple(functions), write_call
        self.settings: dict[str, Any] = {}

    def clean(self, reply: ChatReply) -> ChatReply:
        """Return the reply without text that only the environment may write, such as observations."""
        return reply

    def read(self, reply: ChatReply) -> list[ReplyStep]:
        """Return the steps of a reply, at least one."""
        return [ReplyStep(reply.text)]

    def tell(self, text: str, call_id: str | None) -> dict[str, Any]:
        """Return the message that shows the model an observation or a fault; ``call_id`` is that of `ReplyStep`."""
        return {"role": "user", "content": text}

    def _step(self, name: str, arguments: Any, call_id: str) -> ReplyStep:
        """Return the step of a tool call: its action, or a fault if `write_call` refuses the call."""
        call = {"name": name, "arguments": arguments}
        try:
            if not isinstance(arguments, Mapping):
                raise InputError(f"The arguments of {name} must be a JSON object.")
            assert self.write_call is not None
            return ReplyStep(self.write_call(name, arguments), call_id=call_id, call=call)
        except InputError as error:
            return ReplyStep(fault=str(error), call_id=call_id, call=call)


@TOOL_FORMS.register("native")
class NativeCalls(ToolForm):
    """Form that uses the function calls of the chat API. Several calls in one reply are played one after the other."""

    instruction = (
        "Call the functions on offer in place of writing commands or blocks of code as the task describes them."
    )

    def __init__(self, *arguments: Any):
        super().__init__(*arguments)
        self.settings = {
            "tools": [
                {
                    "type": "function",
                    "function": {
                        "name": function.name,
                        "description": function.description,
                        "parameters": function.schema(),
                    },
                }
                for function in self.functions
            ]
        }

    def read(self, reply: ChatReply) -> list[ReplyStep]:
        if not reply.calls:
            return super().read(reply)
        return [self._step(call.name, _load(call.arguments or "{}"), call.id) for call in reply.calls]

    def tell(self, text: str, call_id: str | None) -> dict[str, Any]:
        if call_id is None:
            return super().tell(text, None)
        return {"role": "tool", "tool_call_id": call_id, "content": text}


_ACTION = re.compile(r"^[ \t*]*Action[ \t*]*:[ \t*`]*(\w+)[ \t*`]*(.*)$", re.IGNORECASE | re.MULTILINE)
_INPUT = re.compile(r"\s*\**Action Input[ \t*]*:[ \t*]*(.*)", re.IGNORECASE | re.DOTALL)
_FINAL = re.compile(r"^[ \t*]*Final Answer[ \t*]*:[ \t*]*(.*)", re.IGNORECASE | re.DOTALL | re.MULTILINE)
_OBSERVATION = re.compile(r"^[ \t*]*Observation[ \t*]*:", re.IGNORECASE | re.MULTILINE)
_FENCE = re.compile(r"```\w*[ \t]*\n(.*?)\n?[ \t]*```\s*", re.DOTALL)


@TOOL_FORMS.register("react")
class ReActText(ToolForm):
    """Form with thought, action and observation in text (ReAct, arXiv 2210.03629), for any model and any endpoint.

    "Action: NAME" with "Action Input: JSON", or "Action: NAME[TEXT]" for a tool with one argument, is a tool call;
    "Final Answer:" gives the answer. Any other reply is used as the action unchanged. Replies are cut at
    "Observation:", which only the environment may write.
    """

    stop = ("\nObservation:",)

    def __init__(self, *arguments: Any):
        super().__init__(*arguments)
        offered = "\n".join(f"- {_signature(function)}: {function.description}" for function in self.functions)
        self.instruction = (
            f"You may use tools:\n{offered}\n"
            "To use one, write these lines in place of the commands or blocks of code that the task describes, and "
            "nothing after them:\n"
            "Thought: what to do, and why\nAction: the name of the tool\nAction Input: the arguments as a JSON object\n"
            "The result comes back as an observation. When you know the answer, write\nFinal Answer: the answer"
        )

    def clean(self, reply: ChatReply) -> ChatReply:
        said = without_thoughts(reply.text)
        if not said or not (found := _OBSERVATION.search(said)):
            return reply
        return replace(reply, text=reply.text[: len(reply.text) - len(said) + found.start()].rstrip())

    def read(self, reply: ChatReply) -> list[ReplyStep]:
        text = without_thoughts(reply.text) or ""
        action, final = _ACTION.search(text), _FINAL.search(text)
        if action is None or (final is not None and final.start() < action.start()):
            return [self._answer(final[1].strip())] if final is not None else super().read(reply)
        name, rest = action[1], action[2].strip()
        given = _INPUT.match(text, action.end())
        if given is not None:
            rest = given[1].strip()
        elif len(rest) > 1 and rest[0] + rest[-1] in ("[]", "()"):
            rest = rest[1:-1].strip()
        return [self._step(name, self._arguments(name, rest), "observation")]

    def tell(self, text: str, call_id: str | None) -> dict[str, Any]:
        return super().tell(text if call_id is None else f"Observation: {text}", call_id)

    def _answer(self, text: str) -> ReplyStep:
        for function in self.functions:
            if function.answers and len(function.required) == 1:
                return self._step(function.name, {function.required[0]: text}, "observation")
        return ReplyStep(text)

    def _arguments(self, name: str, text: str) -> Any:
        """Parse the arguments of a call: a JSON object, or plain text if the tool has one required argument.

        Returns:
            A mapping; None if the text is neither; {} for an unknown tool, which `write_call` then reports.
        """
        if (fenced := _FENCE.match(text)) is not None:
            text = fenced[1]
        loaded = _load(text or "{}")
        if isinstance(loaded, Mapping):
            return loaded
        try:
            required = find_function(self.functions, name).required
        except InputError:
            return {}
        return {required[0]: text} if len(required) == 1 else None


def _signature(function: ToolFunction) -> str:
    named = ", ".join(
        f"{name}{'' if name in function.required else '?'}: {_type(parameter)}"
        for name, parameter in function.parameters.items()
    )
    return f"{function.name}({named})"


def _type(parameter: Mapping[str, Any]) -> str:
    return " or ".join(map(json.dumps, parameter["enum"])) if "enum" in parameter else str(parameter.get("type"))


def _load(text: str) -> Any:
    """Parse the JSON value at the start of a text; None if it is not JSON. Line breaks within strings are accepted."""
    try:
        return json.JSONDecoder(strict=False).raw_decode(text.strip())[0]
    except (ValueError, RecursionError):
        return None
