"""`McpConnection`: blocking calls of the tools of a server of the Model Context Protocol (MCP).

The reference SDK needs an event loop, which runs in a separate thread for each connection. A server that is started for
a connection ends with the connection, at the latest with this process.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import os
import shlex
import threading
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TextIO

from ...errors import InputError, MachineryError, needs_extra, shorten

if TYPE_CHECKING:
    from mcp import Client
    from mcp.types import CallToolResult, Tool

START_SECONDS = 60.0
_END_SECONDS = 15.0
_GRACE = 5.0
"""Seconds beyond the time limit of a call, within which the SDK itself should report the timeout."""
_REFUSALS, _TIMEOUT = (-32602, -32601), -32001
"""JSON-RPC error codes: of refused calls (invalid parameters, unknown tool), and of the SDK's timeout."""
_KEPT_ERRORS = 2_000


@dataclass(frozen=True)
class McpServer:
    """Address and settings of an MCP server.

    Args:
        place: the command that starts the server, as one text or a list of words, or the URL of a running server.
        seconds: time limit of a call.
        environ: environment variables for the command, which otherwise gets only PATH, HOME and few others.
        headers: HTTP headers of requests to a URL, such as ``{"Authorization": "Bearer ..."}``.

    Raises:
        InputError: the command is empty or cannot be split into words, or ``seconds`` is not positive.
    """

    place: str | Sequence[str]
    seconds: float = 30.0
    environ: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.seconds > 0:
            raise InputError(f"the time limit of a call must be above 0 s, not {self.seconds!r}.")
        self.words()

    @property
    def is_url(self) -> bool:
        return isinstance(self.place, str) and self.place.startswith(("http://", "https://"))

    @property
    def name(self) -> str:
        """The command or URL, for messages."""
        return shorten(self.place if isinstance(self.place, str) else shlex.join(self.place), 100)

    def words(self) -> list[str]:
        """Return the command, or the URL, as a list of words."""
        try:
            words = shlex.split(self.place) if isinstance(self.place, str) else [str(word) for word in self.place]
        except (ValueError, TypeError):
            words = []
        if not words:
            raise InputError(
                f"an MCP server is the command that starts it, such as 'python mine.py', or a URL, not {self.place!r}."
            )
        return words


class McpConnection:
    """A connection to a server, opened at the first use, and again after the server was lost.

    Calls may come from any thread. A copy of this object, pickled or not, opens a separate connection.
    """

    def __init__(self, server: McpServer):
        self.server = server
        self._lock = threading.Lock()
        self._running: _Running | None = None

    def __reduce__(self) -> tuple[type[McpConnection], tuple[McpServer]]:
        return McpConnection, (self.server,)

    def tools(self) -> list[Tool]:
        """List the server's tools.

        Raises:
            MachineryError: the server does not start or answer.
            MissingExtra: the extra [mcp] is not installed.
        """
        return self._connect().tools

    def call(self, name: str, arguments: Mapping[str, Any]) -> CallToolResult | str:
        """Call a tool and return its result, or the sentence by which the server refuses the call.

        Raises:
            MachineryError: the server is lost, fails, or takes too long; the next call connects again.
        """
        running = self._connect()
        try:
            return running.call(name, arguments)
        except MachineryError:
            self.close()
            raise

    def close(self) -> None:
        """End the connection, and the server if this connection started it."""
        with self._lock:
            running, self._running = self._running, None
        if running is not None:
            running.end()

    def _connect(self) -> _Running:
        with self._lock:
            if self._running is None or not self._running.is_usable:
                self._running = running = _Running(self.server)
                weakref.finalize(self, running.end)
            return self._running


class _Running:
    """An open session with a server, and the thread that runs its event loop."""

    def __init__(self, server: McpServer):
        with needs_extra("an MCP server", "mcp"):
            import mcp  # noqa: F401
        self._server, self._process = server, os.getpid()
        self._ready: concurrent.futures.Future[tuple[Client, list[Tool]]] = concurrent.futures.Future()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self._task: asyncio.Task[None] | None = None
        self._thread = threading.Thread(target=self._work, daemon=True, name="palaestra-mcp")
        self._errors = _Tail()
        self._thread.start()
        try:
            self._client, self.tools = self._ready.result(START_SECONDS)
        except concurrent.futures.TimeoutError:
            self.end()
            raise self._failure(f"does not answer within {START_SECONDS:g} s") from None
        except Exception as error:
            self._thread.join(_END_SECONDS)
            raise self._failure(f"cannot be used ({_describe(error)})") from error

    @property
    def is_usable(self) -> bool:
        """False once the session has ended, and in a forked child, which has no such thread."""
        return self._thread.is_alive() and self._process == os.getpid()

    def call(self, name: str, arguments: Mapping[str, Any]) -> CallToolResult | str:
        from mcp import MCPError

        assert self._loop is not None
        sent = asyncio.run_coroutine_threadsafe(self._client.call_tool(name, dict(arguments)), self._loop)
        try:
            return sent.result(self._server.seconds + _GRACE)
        except MCPError as error:
            if error.code in _REFUSALS:
                return shorten(str(error), 500)
            if error.code == _TIMEOUT:
                raise self._late() from None
            raise self._failure(f"fails ({_describe(error)})") from error
        except concurrent.futures.TimeoutError:
            sent.cancel()
            raise self._late() from None
        except Exception as error:
            raise self._failure(f"fails ({_describe(error)})") from error

    def end(self) -> None:
        """End the session and wait for it; a server that was started gets two seconds to end by itself."""
        if not self.is_usable or self._loop is None:
            return
        with contextlib.suppress(RuntimeError):  # the loop has just ended
            self._loop.call_soon_threadsafe(self._leave)
        self._thread.join(_END_SECONDS)

    def _leave(self) -> None:
        """End the session, even if it is still being opened. Runs in the session's thread."""
        assert self._stop is not None
        assert self._task is not None
        self._stop.set()
        if not self._ready.done():
            self._task.cancel()

    def _work(self) -> None:
        try:
            asyncio.run(self._converse())
        except BaseException as error:
            if not self._ready.done():
                self._ready.set_exception(_first(error))

    async def _converse(self) -> None:
        from mcp import Client

        self._stop, self._task = asyncio.Event(), asyncio.current_task()
        self._loop = asyncio.get_running_loop()
        async with contextlib.AsyncExitStack() as stack:
            transport = await self._transport(stack)
            client = await stack.enter_async_context(Client(transport, read_timeout_seconds=self._server.seconds))
            tools: list[Tool] = []
            page = await client.list_tools()
            tools += page.tools
            while page.next_cursor:
                page = await client.list_tools(cursor=page.next_cursor)
                tools += page.tools
            self._ready.set_result((client, tools))
            await self._stop.wait()

    async def _transport(self, stack: contextlib.AsyncExitStack) -> Any:
        if self._server.is_url:
            import httpx2
            from mcp.client.streamable_http import streamable_http_client

            timeout = httpx2.Timeout(START_SECONDS, read=self._server.seconds + _GRACE)
            client = httpx2.AsyncClient(headers=dict(self._server.headers), timeout=timeout)
            return streamable_http_client(str(self._server.place), http_client=await stack.enter_async_context(client))
        from mcp import StdioServerParameters, stdio_client

        command, *args = self._server.words()
        parameters = StdioServerParameters(command=command, args=args, env=dict(self._server.environ))
        return stdio_client(parameters, stack.enter_context(self._errors.open()))

    def _late(self) -> MachineryError:
        return self._failure(f"does not answer a call within {self._server.seconds:g} s")

    def _failure(self, why: str) -> MachineryError:
        said = self._errors.text.strip().rpartition("\n")[2]
        return MachineryError(f"the MCP server {self._server.name!r} {why}{f': {shorten(said, 300)}' if said else ''}.")


def _first(error: BaseException) -> BaseException:
    """Return the first error inside exception groups, which task groups raise."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _describe(error: BaseException) -> str:
    error = _first(error)
    return shorten(f"{type(error).__name__}: {' '.join(str(error).split())}".rstrip(": "), 300)


class _Tail:
    """The last characters that a server has written to its standard error, at most `_KEPT_ERRORS`."""

    def __init__(self) -> None:
        self.text = ""

    def open(self) -> TextIO:
        """Return a file for the server to write to. A thread reads until the last process has closed it."""
        reader, writer = os.pipe()
        threading.Thread(target=self._read, args=(reader,), daemon=True, name="palaestra-mcp-errors").start()
        return os.fdopen(writer, "w")

    def _read(self, reader: int) -> None:
        with os.fdopen(reader, errors="replace") as file:
            for line in file:
                self.text = (self.text + line)[-_KEPT_ERRORS:]
