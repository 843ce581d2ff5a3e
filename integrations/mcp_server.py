"""An environment as a server of the Model Context Protocol: its actions are tools, its task is a prompt and a resource.

    palaestra mcp palaestra/ToolUse-v0 --difficulty 0.3                    # over standard input and output
    palaestra mcp palaestra/Wordle-v0 --transport http --port 8000         # http://127.0.0.1:8000/mcp

Each session has one environment, closed at the session's end, and plays one episode at a time. The tool ``reset``
begins an episode and returns the task; if none has begun, so does reading the prompt ``task`` or the resource
``palaestra://task``. The other tools are the environment's functions (`action_tools`). The text of a result is for the
player; the structured content has the reward and the end of the episode. An action that the environment refuses is a
tool error whose text gives the reason. The resource ``palaestra://result`` has all measurements. No solution is sent.

Over HTTP, sessions exist up to version 2025-11-25 of the protocol; newer clients are told to use that version.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..errors import InputError, needs_extra
from .action_tools import action_tools
from .core import make_text_env
from .mcp_session import RESET, STEP_SCHEMA, McpSession, describe_step

if TYPE_CHECKING:
    from mcp import types
    from mcp.server import Server, ServerRequestContext

TASK, RESULT = "palaestra://task", "palaestra://result"
_INSTRUCTIONS = (
    "The tool `reset` begins an episode and returns its task. Solve it with the other tools; the last result says that "
    "the episode is over."
)
_RESET_PROPERTIES: dict[str, Any] = {
    "seed": {"type": "integer", "minimum": 0, "description": "the same seed gives the same task"},
    "difficulty": {"type": "number", "description": "from 0 (easiest) to 1 (hardest)"},
    "params": {"type": "object", "description": "values of the environment's axes"},
}


@dataclass(frozen=True)
class HttpLimits:
    """Limits on what clients may take over HTTP: sessions at a time, bytes of a message, and seconds of silence after
    which a session ends."""

    sessions: int = 256
    message_bytes: int = 2**24
    idle_seconds: float = 600.0


class McpEnvironment:
    """Server of an environment over the Model Context Protocol.

    Args:
        env_id: id of the environment; observations and actions must be text.
        kwargs: arguments of the environment, which clients cannot change.
        seed: seed of each session's first episode; None draws one.
        step_seconds: time limit of a reset or a step, in seconds.

    Raises:
        MissingExtra: the extra [mcp] is not installed.
        InputError: there is no such environment, an argument does not fit, or it is not played in text.
    """

    def __init__(
        self, env_id: str, kwargs: Mapping[str, Any] | None = None, seed: int | None = None, step_seconds: float = 60.0
    ):
        with needs_extra("a server of the Model Context Protocol", "mcp"):
            import mcp.server  # noqa: F401
        self.env_id, self.kwargs, self.seed, self.step_seconds = env_id, dict(kwargs or {}), seed, step_seconds
        env = make_text_env(env_id, self.kwargs)  # raises before any client connects
        try:
            env.reset(seed=0)
            self.functions = action_tools(env)
        finally:
            env.close()
        self.served = 0

    async def serve_stdio(self) -> None:
        """Serve one session over standard input and output, until the client closes it. Anything else written to
        standard output goes to standard error meanwhile."""
        from mcp.server.stdio import stdio_server

        @asynccontextmanager
        async def own_session(server: Server[Any]) -> AsyncIterator[McpSession]:
            session = self._open()
            try:
                yield session
            finally:
                await session.close()

        server = self._server(own_session)
        async with stdio_server() as (reader, writer):
            await server.run(reader, writer, server.create_initialization_options())

    async def serve_http(
        self,
        host: str = "127.0.0.1",
        port: int = 8000,
        token: str | None = None,
        limits: HttpLimits | None = None,
        on_start: Callable[[str], None] = lambda address: None,
        stop: asyncio.Event | None = None,
    ) -> None:
        """Serve any number of sessions over HTTP, until SIGINT, SIGTERM or ``stop``, or until it is cancelled.

        Args:
            host: the address to listen at.
            port: the port to listen at; 0 takes a free one.
            token: the token that clients must send as ``Authorization: Bearer TOKEN``; None accepts all clients.
            limits: limits on the use by clients; None for the defaults of `HttpLimits`.
            on_start: called with the URL for clients.
            stop: event that ends the server when it is set.

        Raises:
            InputError: the port is invalid or in use.
        """
        import uvicorn
        from mcp import types
        from mcp.types.version import HANDSHAKE_PROTOCOL_VERSIONS

        limits = limits or HttpLimits()
        server = self._server(None)

        async def discover(ctx: Any, params: Any) -> types.DiscoverResult:
            versions, about = list(HANDSHAKE_PROTOCOL_VERSIONS), server.get_capabilities()
            return types.DiscoverResult(supported_versions=versions, capabilities=about, instructions=_INSTRUCTIONS)

        server.add_request_handler("server/discover", types.RequestParams, discover)
        app: Any = server.streamable_http_app(
            host=host,
            session_idle_timeout=limits.idle_seconds,
            max_sessions=limits.sessions,
            max_request_body_size=limits.message_bytes,
        )
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        if not 0 <= port < 2**16:
            raise InputError(f"{host}:{port} cannot be taken: a --port is a number from 0 to 65535.")
        try:
            listener = socket.create_server((host, port), family=family)
        except OSError as error:
            raise InputError(f"{host}:{port} cannot be taken ({error}); choose another --port.") from error
        with listener:
            at = f"[{host}]" if ":" in host else host
            config = uvicorn.Config(
                app if token is None else _TokenCheck(app, token), log_level="warning", timeout_graceful_shutdown=3
            )
            http = uvicorn.Server(config)
            on_start(f"http://{at}:{listener.getsockname()[1]}/mcp")
            async with asyncio.TaskGroup() as tasks:
                waiting = tasks.create_task(_end_at(stop or asyncio.Event(), http))
                await http.serve(sockets=[listener])
                waiting.cancel()

    def _open(self) -> McpSession:
        self.served += 1
        return McpSession(self.env_id, self.kwargs, self.seed, self.step_seconds)

    def _session(self, ctx: ServerRequestContext[Any, Any]) -> McpSession:
        """Return the session of a request: over stdio the only one, over HTTP that of the connection, whose end also
        closes the session."""
        from mcp.types.version import HANDSHAKE_PROTOCOL_VERSIONS

        if isinstance(ctx.lifespan_context, McpSession):
            return ctx.lifespan_context
        if ctx.protocol_version not in HANDSHAKE_PROTOCOL_VERSIONS:
            newest = HANDSHAKE_PROTOCOL_VERSIONS[-1]
            raise InputError(
                f"over HTTP an episode needs a session, which version {newest} of the protocol has: use it."
            )
        # The SDK says that cleanup for a connection belongs there, and has no public way to it from a handler.
        connection = ctx.session._connection
        if self.env_id not in connection.state:
            connection.state[self.env_id] = session = self._open()
            connection.exit_stack.push_async_callback(session.close)
        return connection.state[self.env_id]

    def _server(self, lifespan: Any) -> Server[Any]:
        from mcp import types
        from mcp.server import Server
        from mcp.shared.exceptions import MCPError

        async def list_tools(ctx: Any, params: Any) -> types.ListToolsResult:
            return types.ListToolsResult(tools=self._tools())

        async def call_tool(ctx: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
            try:
                session, arguments = self._session(ctx), params.arguments or {}
                if params.name == RESET:
                    found = await session.reset(self._read_reset(arguments))
                    return _tool_result(found["observation"], found)
                found = await session.act(params.name, arguments)
            except (InputError, RuntimeError) as error:
                return _tool_result(str(error), None, failed=True)
            return _tool_result(describe_step(found), found, failed=found["action_error"] is not None)

        async def read(ctx: Any) -> str:
            session = self._session(ctx)
            if session.task is None:
                await session.reset({})
            return session.task or ""

        async def list_prompts(ctx: Any, params: Any) -> types.ListPromptsResult:
            prompt = types.Prompt(name="task", description="The task of the episode; one begins where there is none.")
            return types.ListPromptsResult(prompts=[prompt])

        async def get_prompt(ctx: Any, params: types.GetPromptRequestParams) -> types.GetPromptResult:
            if params.name != "task":
                raise MCPError(types.INVALID_PARAMS, f"there is no prompt {params.name[:60]!r}, only 'task'.")
            text = await _or_refuse(read(ctx))
            message = types.PromptMessage(role="user", content=types.TextContent(text=text))
            return types.GetPromptResult(description="The task of the episode.", messages=[message])

        async def list_resources(ctx: Any, params: Any) -> types.ListResourcesResult:
            task = types.Resource(uri=TASK, name="task", mime_type="text/plain", description="The task of the episode.")
            result = types.Resource(
                uri=RESULT, name="result", mime_type="application/json", description="Measurements of the episode."
            )
            return types.ListResourcesResult(resources=[task, result])

        async def read_resource(ctx: Any, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
            uri = str(params.uri)
            if uri == TASK:
                text, kind = await _or_refuse(read(ctx)), "text/plain"
            elif uri == RESULT:
                text, kind = json.dumps(await self._session(ctx).result()), "application/json"
            else:
                raise MCPError(types.INVALID_PARAMS, f"there is no resource {uri[:60]!r}, only {TASK} and {RESULT}.")
            contents = types.TextResourceContents(uri=uri, mime_type=kind, text=text)
            return types.ReadResourceResult(contents=[contents])

        from .. import __version__

        return Server(
            self.env_id,
            version=__version__,
            instructions=_INSTRUCTIONS,
            **({} if lifespan is None else {"lifespan": lifespan}),
            on_list_tools=list_tools,
            on_call_tool=call_tool,
            on_list_prompts=list_prompts,
            on_get_prompt=get_prompt,
            on_list_resources=list_resources,
            on_read_resource=read_resource,
        )

    def _reset_properties(self) -> dict[str, Any]:
        """Return the JSON schemas of a reset's arguments, without those that ``kwargs`` fix."""
        fixed = {"difficulty", "params"} if "difficulty" in self.kwargs else set()
        return {name: part for name, part in _RESET_PROPERTIES.items() if name not in fixed}

    def _read_reset(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        allowed = self._reset_properties()
        if strange := sorted(set(arguments) - set(allowed)):
            raise InputError(f"a reset takes {', '.join(allowed)} here, not {strange[0][:60]!r}.")
        return dict(arguments)

    def _tools(self) -> list[types.Tool]:
        from mcp import types

        schema = {"type": "object", "properties": self._reset_properties(), "required": []}
        about = "Begin an episode and return its task. An episode that is running ends without a result."
        return [
            types.Tool(name=RESET, description=about, input_schema=schema),
            *(
                types.Tool(
                    name=function.name,
                    description=function.description,
                    input_schema=function.schema(),
                    output_schema=STEP_SCHEMA,
                )
                for function in self.functions
            ),
        ]


class _TokenCheck:
    """Answers requests without the token with 401."""

    def __init__(self, app: Any, token: str):
        self._app, self._wanted = app, f"Bearer {token}".encode()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            given = dict(scope["headers"]).get(b"authorization", b"")
            if not hmac.compare_digest(given, self._wanted):
                headers = [(b"content-type", b"application/json"), (b"www-authenticate", b"Bearer")]
                await send({"type": "http.response.start", "status": 401, "headers": headers})
                await send({"type": "http.response.body", "body": b'{"error": "the token is missing or wrong"}'})
                return
        await self._app(scope, receive, send)


async def _end_at(stop: asyncio.Event, http: Any) -> None:
    await stop.wait()
    http.should_exit = True


async def _or_refuse(text: Awaitable[str]) -> str:
    """Await a text; an error of the environment becomes an error of the MCP request."""
    from mcp import types
    from mcp.shared.exceptions import MCPError

    try:
        return await text
    except (InputError, RuntimeError) as error:
        raise MCPError(types.INTERNAL_ERROR, str(error)) from None


def _tool_result(text: str, structured: dict[str, Any] | None, failed: bool = False) -> types.CallToolResult:
    from mcp import types

    return types.CallToolResult(content=[types.TextContent(text=text)], structured_content=structured, is_error=failed)
