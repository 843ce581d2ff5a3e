"""`mcp_tools`: the tools of any server of the Model Context Protocol as tools of an environment.

    tools = mcp_tools("python server.py")
    of = {"of": "palaestra/Dataset-v0", "of_kwargs": {"source": "questions.jsonl"}}
    env = gym.make("palaestra/ToolUse-v0", tools=tools, **of)

or ``mcp="python server.py"`` in place of ``tools``, so that all arguments are plain data. A call is a ``<tool_call>``
in JSON. Errors that the server reports count as the agent's mistakes; if the server is lost, or takes too long, the
reward is invalid.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...errors import InputError, unknown_name
from ...rewards.verifiers.tool_calls import CallError
from ..code.judging.outputs import keep_ends
from ..question import Question, Task
from .tool import CALL_TAGS, Arguments, Tool, ToolResult, read_call
from .tool_function import ToolFunction

if TYPE_CHECKING:
    from mcp.types import CallToolResult
    from mcp.types import Tool as ListedTool

    from .mcp_connection import McpConnection

SHOWN = 1_000
"""Default of the maximum number of characters of an output that an agent sees."""


class McpTool(Tool):
    """A tool of a server; made by `mcp_tools`."""

    priority = 3  # the tool "python" takes any <tool_call> for a program
    deed = "use tools"
    form = f"a {CALL_TAGS[0]}"
    called_by_tag = True

    def __init__(self, connection: McpConnection, listed: ListedTool, shown: int):
        self._connection = connection
        schema = listed.input_schema
        self.name, self.max_output = listed.name, shown
        self.purpose = " ".join((listed.description or listed.title or "").split()) or f"call {listed.name}"
        properties: Mapping[str, Any] = schema.get("properties") or {}
        self.parameters = {name: part if isinstance(part, dict) else {} for name, part in properties.items()}
        self.optional = tuple(name for name in properties if name not in (schema.get("required") or ()))
        self.definitions = {name: schema[name] for name in ("$defs", "definitions") if name in schema}
        form = json.dumps({"name": self.name, "arguments": {"...": "..."} if properties else {}})
        taken = "; ".join(self._describe(name) for name in properties)
        self.usage = f"{form.join(CALL_TAGS)}: {self.purpose}{f' (arguments: {taken})' if taken else ''}"

    def _describe(self, name: str) -> str:
        part = (self.parameters or {})[name]
        words = [str(part.get("type", "any")), *(["optional"] if name in self.optional else [])]
        about = " ".join(str(part.get("description", "")).split())
        return f"{name} ({', '.join(words)}){f': {about}' if about else ''}"

    @property
    def function(self) -> ToolFunction:
        return ToolFunction(self.name, self.purpose, self.parameters or {}, self.optional, definitions=self.definitions)

    def parse(self, action: str) -> Arguments | None:
        try:
            call = read_call(action)
        except CallError:
            return None
        return call["parameters"] if call is not None and call["name"] == self.name else None

    def refuse(self, arguments: Arguments) -> str | None:
        try:
            self.function.check(arguments)
        except InputError as error:
            return str(error)
        if strange := sorted(set(arguments) - set(self.parameters or {})):
            return str(unknown_name(f"argument of {self.name}", strange[0], self.parameters or {}))
        return None

    def run(self, arguments: Arguments, question: Question, task: Task) -> ToolResult:
        result = self._connection.call(self.name, self.function.check(arguments))
        if isinstance(result, str):
            return ToolResult(failed=True, error=result)
        output = keep_ends(_show(result) or "(no output)", self.max_output)
        return ToolResult(output, failed=result.is_error)

    def close(self) -> None:
        self._connection.close()


def mcp_tools(
    server: str | Sequence[str],
    *,
    only: Iterable[str] | None = None,
    seconds: float = 30.0,
    shown: int = SHOWN,
    environ: Mapping[str, str] | None = None,
    headers: Mapping[str, str] | None = None,
) -> list[McpTool]:
    """Start an MCP server, or connect to a running one, and return its tools.

    A started server ends when the environment with the tools is closed, at the latest with this process; a call after
    closing starts the server again. All episodes share the server, so its tools should keep no state between episodes.

    Args:
        server: the command that starts the server, as one text or a list of words, or the URL of a running server.
        only: names of the tools to offer; None for all.
        seconds: time limit of a call.
        shown: maximum number of characters of an output that an agent sees; the middle of a longer one is left out.
        environ: environment variables for the command, which otherwise gets only PATH, HOME and few others.
        headers: HTTP headers of requests to a URL, such as ``{"Authorization": "Bearer ..."}``.

    Raises:
        InputError: an argument has an invalid value, or the server lacks a tool named in ``only``, or has no tools.
        MachineryError: the server does not start or answer.
        MissingExtra: the extra [mcp] is not installed.
    """
    from .mcp_connection import McpConnection, McpServer  # with asyncio, which nothing else here needs

    if shown < 1:
        raise InputError(f"shown must be at least 1 character, not {shown!r}.")
    connection = McpConnection(McpServer(server, seconds, environ or {}, headers or {}))
    listed = {tool.name: tool for tool in connection.tools()}
    names = list(listed) if only is None else list(only)
    for name in names:
        if name not in listed:
            connection.close()
            raise unknown_name(f"tool of the MCP server {connection.server.name!r}:", name, listed)
    if not names:
        connection.close()
        raise InputError(f"the MCP server {connection.server.name!r} has no tools.")
    return [McpTool(connection, listed[name], shown) for name in names]


def _show(result: CallToolResult) -> str:
    """Write the content of a result as text; for pictures and sounds, only their type and size."""
    parts: list[str] = []
    block: Any
    for block in result.content:
        if block.type == "text":
            parts.append(block.text)
        elif block.type in ("image", "audio"):
            parts.append(f"[{block.type}, {block.mime_type}, {len(base64.b64decode(block.data)):,} bytes]")
        elif block.type == "resource":
            parts.append(getattr(block.resource, "text", f"[resource {block.resource.uri}]"))
        else:
            parts.append(f"[resource {block.uri}]")
    if not parts and result.structured_content is not None:
        parts.append(json.dumps(result.structured_content, ensure_ascii=False))
    return "\n".join(parts)
