"""Client of an OpenAI-compatible endpoint, with retries, a rate limit, and a cache on disk.

`ChatClient.ask` takes a conversation and returns a `ChatReply`. It raises `InputError` (wrong key or model),
`ContextFull` (the conversation no longer fits), or `NoReply` (every other failure, after all retries).
"""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...checks import check_choice, check_count, check_number
from ...errors import InputError, shorten
from ...rewards.judges.cache import ReplyCache
from ...rewards.judges.endpoint_requests import RequestFailed, check_address, connection_options, import_sdk
from .pace import RequestPace
from .reply import ChatReply, MalformedReply, read_reply

MAX_BODY = 32_000_000
"""Largest answer of an endpoint that is accepted, in bytes."""

_FULL = ("context_length_exceeded", "exceed_context_size_error")
_FULL_WORDS = ("context length", "context size", "context window")

Draw = tuple[int, int]
"""Episode (`info["episode_seed"]`, different for each sample of a task) and index of the request in the episode."""


class NoReply(RuntimeError):
    """Error for a request of which all attempts failed; the message gives the last reason."""


class ContextFull(RuntimeError):
    """Error for a conversation that is longer than the model's context."""


@dataclass(frozen=True)
class Connection:
    """Address and limits of an endpoint.

    Args:
        model: the endpoint's name of the model.
        base_url: address such as "http://localhost:8000/v1"; None: the environment variable ``OPENAI_BASE_URL`` or, if
            that is not set, the SDK's default. The key is read from ``OPENAI_API_KEY``; if that is not set, a
            placeholder is sent, as local servers need no key.
        api: "chat", or "completions" for models without a chat template: the conversation is sent as one text, in
            which lines "User:" and "Assistant:" begin the turns.
        timeout: time limit of one attempt, in seconds.
        retries: most retries after a time-out, a broken connection, an unreadable answer, or status 408, 409, 425, 429
            or 5xx.
        backoff: wait before the first retry, in seconds. It doubles with each retry up to 60 s, and a random factor in
            [0.5, 1] is applied. A ``Retry-After`` of the endpoint delays all requests instead, by at most 60 s.
        requests_per_minute: rate limit; None: no limit.
        concurrency: most requests in flight; None: no limit but the number of conversations.
        cache: folder in which replies are cached, or None. The key is everything that determines a reply: endpoint,
            model, conversation, settings, episode and number of the request, so two samples of a task never share a
            reply. Several processes may use one folder.
        extra: further fields of each request, such as ``{"reasoning_effort": "low"}``.
    """

    model: str
    base_url: str | None = None
    api: str = "chat"
    timeout: float = 600.0
    retries: int = 5
    backoff: float = 0.5
    requests_per_minute: float | None = None
    concurrency: int | None = None
    cache: str | Path | None = None
    extra: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        check_address(self.base_url)
        check_choice("api", self.api, ("chat", "completions"))
        check_number("timeout", self.timeout, above=0.0)
        check_count("retries", self.retries)
        check_number("backoff", self.backoff, 0.0)
        if self.requests_per_minute is not None:
            check_number("requests_per_minute", self.requests_per_minute, above=0.0)
        if self.concurrency is not None:
            check_count("concurrency", self.concurrency, 1, "requests at once")
        if self.extra is not None and not isinstance(self.extra, Mapping):
            raise InputError(f"extra must map fields of a request to values, not {self.extra!r}.")


class ChatClient:
    """Client of one endpoint. All requests must come from one event loop.

    Raises:
        MissingExtra: the package openai (extra [chat]) is not installed.
        InputError: the cache cannot be used.
    """

    def __init__(self, connection: Connection):
        import_sdk("a chat endpoint")
        self._to = connection
        self._cache = None if connection.cache is None else ReplyCache(Path(connection.cache) / "replies.sqlite")
        self._pace = RequestPace(connection.requests_per_minute)
        self._gate = asyncio.Semaphore(connection.concurrency) if connection.concurrency else nullcontext()
        self._jitter = random.Random(0)
        self._limit_name = "max_tokens"
        self._sdk: Any = None

    async def ask(self, messages: Sequence[Mapping[str, Any]], settings: Mapping[str, Any], draw: Draw) -> ChatReply:
        """Request the next message of a conversation.

        Args:
            settings: fields of the request, such as the temperature.
            draw: which sample of the reply is meant; part of the cache's key.

        Raises:
            InputError: the endpoint refuses the key or the model.
            ContextFull: the conversation is longer than the model's context.
            NoReply: all attempts failed.
        """
        key = ""
        if self._cache is not None:
            address = str(self._to.base_url or os.environ.get("OPENAI_BASE_URL") or "")
            place = {"base_url": address, "api": self._to.api, "extra": self._to.extra or {}, "draw": draw}
            key = ReplyCache.key(self._to.model, messages, {**place, "settings": settings})
            if (kept := await asyncio.to_thread(self._cache.get, key)) is not None:
                return ChatReply.from_cache(kept)
        async with self._gate:
            reply = await self._try(messages, settings)
        if self._cache is not None:
            await asyncio.to_thread(self._cache.put, key, reply.to_text())
        return reply

    async def close(self) -> None:
        """Close the connections; the next request opens new ones."""
        sdk, self._sdk = self._sdk, None
        if sdk is not None:
            await sdk.close()

    async def _try(self, messages: Sequence[Mapping[str, Any]], settings: Mapping[str, Any]) -> ChatReply:
        attempt = 0
        while True:
            await self._pace.wait()
            try:
                async with asyncio.timeout(self._to.timeout):
                    return read_reply(await self._attempt(messages, settings))
            except TimeoutError:
                failure = RequestFailed(f"the endpoint took longer than {self._to.timeout:g} s")
            except MalformedReply as error:
                failure = RequestFailed(str(error))
            except RequestFailed as error:
                failure = error
            if not failure.again or attempt == self._to.retries:
                raise NoReply(f"{failure}.")
            pause = failure.pause(attempt, self._to.backoff)
            if failure.after is not None:
                self._pace.postpone(pause)
            else:
                await asyncio.sleep(pause * self._jitter.uniform(0.5, 1.0))
            attempt += 1

    async def _attempt(self, messages: Sequence[Mapping[str, Any]], settings: Mapping[str, Any]) -> bytes:
        """Send one request and return the body of the answer, unparsed: the SDK would fail on malformed JSON."""
        import openai

        if self._sdk is None:
            self._sdk = openai.AsyncOpenAI(**connection_options(self._to.base_url))
        sdk = self._sdk
        fields = {self._limit_name if name == "max_tokens" else name: value for name, value in settings.items()}
        fields |= {"model": self._to.model, "timeout": self._to.timeout}
        if self._to.extra:
            fields["extra_body"] = dict(self._to.extra)
        try:
            if self._to.api == "chat":
                call = sdk.chat.completions.with_streaming_response.create(messages=list(messages), **fields)
            else:
                call = sdk.completions.with_streaming_response.create(prompt=render_text(messages), **fields)
            async with call as response:
                return await self._read(response)
        except openai.APIStatusError as error:
            if error.status_code == 400 and self._limit_name == "max_tokens" and "max_completion_tokens" in str(error):
                # OpenAI's reasoning models accept only this name of the limit, older servers only "max_tokens".
                self._limit_name = "max_completion_tokens"
                return await self._attempt(messages, settings)
            raise self._explain(error) from error
        except openai.APIError as error:  # no connection, a time-out
            raise RequestFailed(
                f"the endpoint at {self._sdk.base_url} did not answer: {str(error).rstrip('.')}"
            ) from error

    async def _read(self, response: Any) -> bytes:
        body = bytearray()
        try:
            async for part in response.iter_bytes():
                body += part
                if len(body) > MAX_BODY:
                    raise RequestFailed(f"the endpoint's answer exceeds {MAX_BODY} bytes", again=False)
        except (RequestFailed, TimeoutError):
            raise
        except Exception as error:  # whatever the HTTP library of the SDK raises when a transfer breaks off
            raise RequestFailed(f"the endpoint's answer broke off: {error!r}") from error
        return bytes(body)

    def _explain(self, error: Any) -> Exception:
        """Convert the SDK's error for an HTTP status to InputError, ContextFull or RequestFailed."""
        status, said = error.status_code, shorten(" ".join(str(error.message).split()), 300)
        if status in (401, 403, 404):
            return InputError(
                f"the endpoint answered {status} for the model {self._to.model!r} ({said}); check the address "
                "(base_url, --base-url), the model's name, and the key in OPENAI_API_KEY."
            )
        words = said.lower()
        if status in (400, 413, 422) and (error.code in _FULL or any(word in words for word in (*_FULL, *_FULL_WORDS))):
            return ContextFull(said)
        return RequestFailed.from_status(error, f"the endpoint answered {status}: {said}")


def render_text(messages: Sequence[Mapping[str, Any]]) -> str:
    """Render a conversation as one text, with turns "User: ..." and "Assistant: ...", that ends with "Assistant:"."""
    names = {"user": "User: ", "assistant": "Assistant: "}
    return "".join(f"{names.get(message['role'], '')}{message['content']}\n\n" for message in messages) + "Assistant:"
