"""`OpenEnvServer`: environments over OpenEnv's WebSocket protocol, with a separate environment per connection.

A message is a JSON object: ``{"type": "reset", "data": {...}}``, ``{"type": "step", "data": ACTION}``, ``{"type":
"state"}`` or ``{"type": "close"}``. Answers have the type "observation", "state", or "error" with a message and one of
OpenEnv's codes; an error leaves the connection open. ``/health``, ``/metadata`` and ``/schema`` answer plain requests.
Requests from web pages of other sites (with an ``Origin`` header) are refused.
"""

from __future__ import annotations

import asyncio
import hmac
import http
import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, urlsplit

from ...errors import InputError, needs_extra
from ..episode_thread import SessionThread
from ..served_session import RESET_NAMES, ServedSession

_log = logging.getLogger(__name__)
_PONG_SECONDS = 300.0
"""Seconds to wait for the answer to a ping; a client that generates text in its event loop's thread answers late."""
_END_SECONDS = 3.0
"""Seconds to wait, when the server ends, for environments in the middle of a step."""


@dataclass(frozen=True)
class ServerLimits:
    """Limits on the resources that clients may use.

    Attributes:
        connections: most connections at a time; a connection whose environment hangs counts until that call returns.
        message_bytes: longest message; an action of a million characters may take 12 MB.
        idle_seconds: a connection that sends nothing for this long is closed.
        step_seconds: longest reset or step; a longer one ends the connection, as its environment may hang forever.
    """

    connections: int = 256
    message_bytes: int = 2**24
    idle_seconds: float = 600.0
    step_seconds: float = 60.0


class OpenEnvServer:
    """Server of environments; use it with ``async with``, and await `forever`.

    Args:
        offered: ids of environments.
        kwargs: arguments of the environments, which clients cannot change.
        host: address to listen at.
        port: port to listen at; 0 takes a free one.
        token: clients must send it, as ``Authorization: Bearer TOKEN`` or ``?token=TOKEN``; None admits every client.
        limits: see `ServerLimits`.

    Raises:
        MissingExtra: websockets is absent.
        InputError: an unknown environment, or a port that cannot be taken; raised on entering.
    """

    def __init__(
        self,
        offered: Sequence[str],
        kwargs: Mapping[str, Any] | None = None,
        host: str = "127.0.0.1",
        port: int = 8000,
        token: str | None = None,
        limits: ServerLimits | None = None,
    ):
        with needs_extra("palaestra serve", "serve"):
            import websockets.asyncio.server  # noqa: F401
        self.offered, self.kwargs = list(offered), dict(kwargs or {})
        self.host, self.port = host, port
        self.limits = limits or ServerLimits()
        self._token = token
        self._open = 0
        self._is_ending = False
        self._steps: set[asyncio.Future[Any]] = set()
        self._closing: set[asyncio.Future[Any]] = set()
        self.served = 0

    async def __aenter__(self) -> OpenEnvServer:
        from websockets.asyncio.server import serve

        for env_id in self.offered:  # wrong arguments raise before anybody connects
            probe = ServedSession([env_id], self.kwargs)
            try:
                probe.reset({"seed": 0})
            finally:
                probe.close()
        try:
            self._server = await serve(
                self._converse,
                self.host,
                self.port,
                process_request=self._answer_plainly,
                origins=[None],
                max_size=self.limits.message_bytes,
                max_queue=1,
                ping_timeout=_PONG_SECONDS,
                compression=None,
                logger=_log,
            )
        except (OSError, OverflowError) as error:
            raise InputError(f"{self.host}:{self.port} cannot be taken ({error}); choose another --port.") from error
        self.port = next(iter(self._server.sockets)).getsockname()[1]
        return self

    async def __aexit__(self, *error: object) -> None:
        self._is_ending = True
        for step in list(self._steps):
            step.cancel()
        self._server.close(code=1001, reason="the server ends")
        await self._server.wait_closed()
        if self._closing:
            await asyncio.wait(self._closing, timeout=_END_SECONDS)

    async def forever(self) -> None:
        await self._server.wait_closed()

    @property
    def address(self) -> str:
        """Address for clients of OpenEnv."""
        return f"http://{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"

    # Plain requests -------------------------------------------------------------------------------------------------

    async def _answer_plainly(self, connection: Any, request: Any) -> Any:
        """Return the response to a plain request; None lets a WebSocket connection begin."""
        path = urlsplit(request.path)
        if path.path == "/health":
            return _respond(connection, http.HTTPStatus.OK, {"status": "healthy"})
        given = request.headers.get("Authorization", "").removeprefix("Bearer ").strip()
        given = given or next(iter(parse_qs(path.query).get("token", [])), "")
        if self._token is not None and not hmac.compare_digest(given.encode(), self._token.encode()):
            return _respond(connection, http.HTTPStatus.UNAUTHORIZED, {"error": "the token is missing or wrong"})
        if path.path == "/ws":
            return None
        if path.path == "/metadata":
            return _respond(connection, http.HTTPStatus.OK, self._describe())
        if path.path == "/schema":
            return _respond(connection, http.HTTPStatus.OK, SCHEMA)
        return _respond(connection, http.HTTPStatus.NOT_FOUND, {"error": "there are /ws, /health, /metadata, /schema"})

    def _describe(self) -> dict[str, str]:
        import gymnasium as gym

        from ... import __version__

        parts = []
        for env_id in self.offered:
            place = gym.spec(env_id).entry_point
            parts.append(f"{env_id} ({place})" if isinstance(place, str) else env_id)
        return {"name": ", ".join(self.offered), "description": f"Served: {'; '.join(parts)}.", "version": __version__}

    # Conversations ---------------------------------------------------------------------------------------------------

    async def _converse(self, connection: Any) -> None:
        from websockets.exceptions import ConnectionClosed

        if self._open >= self.limits.connections:
            message = f"all {self.limits.connections} connections are taken; try again later."
            await connection.send(_error("CAPACITY_REACHED", message))
            await connection.close(1013, "no connection is free")
            return
        self._open += 1
        self.served += 1
        session, thread = ServedSession(self.offered, self.kwargs), SessionThread()
        try:
            while True:
                try:
                    async with asyncio.timeout(self.limits.idle_seconds):
                        text = await connection.recv()
                except TimeoutError:
                    await connection.close(1001, f"nothing came for {self.limits.idle_seconds:g} s")
                    return
                try:
                    answer = await self._answer(session, thread, text)
                except _HangingStep:
                    took = f"the environment took longer than {self.limits.step_seconds:g} s; connect again."
                    await connection.send(_error("SESSION_ERROR", took))
                    await connection.close(1011, "the environment takes too long")
                    return
                if answer is None:
                    return
                await connection.send(answer)
        except ConnectionClosed:
            pass
        finally:
            closing = asyncio.wrap_future(thread.submit(session.close))
            thread.end()
            self._closing.add(closing)
            closing.add_done_callback(self._free)

    def _free(self, closing: asyncio.Future[Any]) -> None:
        """Release the place of a connection, once its environment is closed."""
        self._closing.discard(closing)
        self._open -= 1
        if not closing.cancelled() and (error := closing.exception()) is not None:
            _log.error("an environment could not be closed", exc_info=error)

    async def _answer(self, session: ServedSession, thread: SessionThread, text: str | bytes) -> str | None:
        """Return the answer to a message; None ends the connection. Raises _HangingStep."""
        try:
            message = json.loads(text)
        except (ValueError, RecursionError):
            return _error("INVALID_JSON", "a message must be a JSON object.")
        if not isinstance(message, dict) or not isinstance(message.get("type"), str):
            return _error("INVALID_JSON", 'a message must be a JSON object with a "type".')
        kind, data = message["type"], message.get("data", {})
        if kind == "close":
            return None
        if kind not in ("reset", "step", "state"):
            return _error("UNKNOWN_TYPE", f"the types of messages are reset, step, state and close, not {kind[:60]!r}.")
        if not isinstance(data, dict):
            return _error("VALIDATION_ERROR", '"data" must be a JSON object.')
        if kind == "state":
            call, answers = session.state, "state"
        else:
            call, answers = (lambda: getattr(session, kind)(data)), "observation"
        try:
            data = await self._wait_for(asyncio.wrap_future(thread.submit(call)))
            return json.dumps({"type": answers, "data": data}, allow_nan=False)
        except _HangingStep:
            raise
        except InputError as error:
            return _error("VALIDATION_ERROR", str(error))
        except Exception as error:
            _log.exception("a %s failed", kind)
            thread.submit(session.fail)
            said = f"{type(error).__name__}: {error}"[:500]
            return _error("EXECUTION_ERROR", f"the environment failed ({said}); its episode does not count, reset it.")

    async def _wait_for(self, step: asyncio.Future[Any]) -> Any:
        """Wait for a step and return its result. Raises _HangingStep if it takes too long, or the server ends."""
        self._steps.add(step)
        limit = asyncio.timeout(self.limits.step_seconds)
        try:
            async with limit:
                return await step
        except TimeoutError:
            if limit.expired():
                raise _HangingStep from None
            raise
        except asyncio.CancelledError:
            if self._is_ending:
                raise _HangingStep from None
            raise
        finally:
            self._steps.discard(step)


class _HangingStep(Exception):
    """Error for a reset or a step that takes longer than allowed."""


def _error(code: str, message: str) -> str:
    return json.dumps({"type": "error", "data": {"message": message, "code": code}})


def _respond(connection: Any, status: http.HTTPStatus, data: Mapping[str, Any]) -> Any:
    response = connection.respond(status, json.dumps(data))
    del response.headers["Content-Type"]
    response.headers["Content-Type"] = "application/json"
    return response


def _object(required: Sequence[str] = (), **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required)}


_TEXT, _FLAG, _NUMBER = {"type": "string"}, {"type": "boolean"}, {"type": "number"}
SCHEMA: dict[str, Any] = {
    "action": _object(
        action={"description": "the action: text in text environments"},
        name={**_TEXT, "description": "or: a function of the environment"},
        arguments={"type": "object", "description": "and its arguments"},
    ),
    "observation": _object(
        ("terminated", "truncated"),
        text={**_TEXT, "description": "in text environments"},
        value={"description": "in others"},
        action_error={"type": ["string", "null"]},
        terminated=_FLAG,
        truncated=_FLAG,
    ),
    "state": _object(
        ("episode_id", "step_count"),
        episode_id={"type": ["string", "null"]},
        step_count={"type": "integer"},
        env=_TEXT,
        task_id=_TEXT,
        params={"type": "object"},
        difficulty=_NUMBER,
        is_success=_FLAG,
        progress=_NUMBER,
        reward_terms={"type": "object"},
        reward_valid=_FLAG,
        terminated=_FLAG,
        truncated=_FLAG,
        **{"return": _NUMBER},
    ),
    "reset": _object((), **{name: {} for name in RESET_NAMES}),
}
"""JSON schemas that ``/schema`` returns."""
