"""palaestra/ToolUse-v0: a question of another family, with several tools at once."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

from ...errors import InputError
from ...rewards.answers import fenced, program_in
from ..registration import register
from ..tools.mcp_tool import mcp_tools
from ..tools.tool import TOOLS, Tool
from ..tools.tool_question import Session, ToolQuestion


class ToolUse(ToolQuestion):
    """Answer a question with the help of several tools, such as SQL and Python.

    Description:
        The question is one of the family ``of``. A reply is a call if one of the tools finds a call in it; if several
        do, the tool with the highest priority runs. Any other reply is the answer and ends the episode. Queries run on
        the question's database, if it has one.

    Parameters:
        level (0.0 to 1.0): the difficulty of the question in the family ``of``.
        calls (8 to 1, harder downwards, on request up to 20): maximum number of calls of all tools together.

    Observation:
        The question, the form of its answer, and how to call each tool; after a call a block of output of at most 1000
        characters, and the number of calls left.

    Actions:
        Text with a call: a block of ```sql or ```python, a tag <sql>, <code> or <python>, or a <tool_call> in JSON with
        the argument "query" or "code", or with a server's tool by its name. Any other text is the answer. A query as
        the answer goes into a block without a language, or into <answer></answer>.

    Reward:
        The family's reward for the answer; 0 for a call, even if it fails; failures are reported in
        ``episode.extra("tool_errors")``.

    Termination:
        After the answer. Truncated after ``calls`` + 2 turns.

    Source:
        VerlTool, arXiv 2509.01055 (several tools for one agent); the questions are those of other families here.

    Args:
        of: the id of the family that asks the question; its class must be a `Question`.
        of_kwargs: arguments of that family; ``level`` sets the difficulty on the axes that they leave open.
        tools: names in `palaestra.envs.tools.tool.TOOLS`, or tools, each once; by default "sql" and "python".
        mcp: servers of the Model Context Protocol whose tools are offered too: one server, or a list, each given by the
            command that starts the server, a URL, or a mapping with the arguments of `palaestra.envs.tools.mcp_tools`.
        tool_kwargs: arguments of tools, such as ``{"python": {"seconds": 1.0}}``.
        answer_format: how the answer is read; None for the family's default.
        **kwargs: as for every environment.

    Raises:
        InputError: ``of`` is not the id of a question, an unknown tool, or an argument does not fit.
        MachineryError: this machine cannot provide what a tool needs, such as the sandbox.
    """

    def __init__(
        self,
        *,
        of: str = "palaestra/SQLResult-v0",
        of_kwargs: Mapping[str, Any] | None = None,
        tools: Sequence[str | Tool] | None = None,
        mcp: str | Mapping[str, Any] | Sequence[str | Mapping[str, Any]] = (),
        tool_kwargs: Mapping[str, Mapping[str, Any]] | None = None,
        answer_format: str | None = None,
        **kwargs: Any,
    ):
        servers = [mcp] if isinstance(mcp, str | Mapping) else list(mcp)
        if tools is None:
            tools = () if servers else ("sql", "python")
        if isinstance(tools, str) or not (tools or servers):
            raise InputError(f"tools must be a list of names, each once, such as ['sql', 'python'], not {tools!r}.")
        options = dict(tool_kwargs or {})
        if strange := sorted(set(options) - {tool for tool in tools if isinstance(tool, str)}):
            raise InputError(f"tool_kwargs has arguments of {strange[0]!r}, which is none of the tools {list(tools)}.")
        made = [tool if isinstance(tool, Tool) else TOOLS.make(tool, **options.get(tool, {})) for tool in tools]
        for one in servers:
            given: dict[str, Any] = {"server": one} if isinstance(one, str) else dict(one)
            try:
                inspect.signature(mcp_tools).bind(**given)
            except TypeError as error:
                raise InputError(f"{error}, of the MCP server {given}; see palaestra.envs.tools.mcp_tools.") from None
            made += mcp_tools(**given)
        names = [tool.name for tool in made]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise InputError(f"there are two tools named {twice[0]!r}; name each once.")
        super().__init__(of=of, of_kwargs=of_kwargs, tools=made, answer_format=answer_format, **kwargs)

    def oracle(self, state: Session) -> str:
        """Return a call of each useful tool while calls are left (SQL with the question's query, Python to print the
        answer), then the answer."""
        made = {call.name for call in state.made}
        find_query = getattr(self.inner, "gold_query", None)
        if state.calls and "sql" not in made and find_query is not None and self._has("sql"):
            return fenced(find_query(state.task), "sql")
        if state.calls and "python" not in made and self._has("python"):
            return fenced(f"print({program_in(self.inner.oracle(state.task))!r})")
        return self.write_answer(state)

    def _has(self, name: str) -> bool:
        return any(tool.name == name for tool in self.tools)


register("palaestra/ToolUse-v0", f"{__name__}:ToolUse")
