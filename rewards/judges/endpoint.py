"""Judge behind any OpenAI-compatible chat endpoint: hosted APIs, vLLM, llama.cpp and others."""

from __future__ import annotations

import copy
import json
import logging
import os
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ...checks import check_count, check_number, keyword_declared, option
from ...errors import InputError
from . import prompts
from .cache import ReplyCache
from .endpoint_requests import RequestFailed, check_address, connection_options, import_sdk
from .judge import JUDGES, Judge, Judgement

_log = logging.getLogger(__name__)

MAX_BODY = 4_000_000
"""Longest answer of an endpoint that is read, in bytes."""


class _SharedClient:
    """Client that is created on first use, with a semaphore that bounds the requests in flight."""

    def __init__(self, concurrency: int):
        self.gate = threading.BoundedSemaphore(concurrency)
        self._lock = threading.Lock()
        self._client: Any = None

    def client(self, make: Callable[[], Any]) -> Any:
        with self._lock:
            if self._client is None:
                self._client = make()
            return self._client

    def close(self) -> None:
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            client.close()


def _open_cache(_: str, path: str | Path) -> ReplyCache:
    return ReplyCache(path)


def _check_scale(name: str, scale: tuple[float, float]) -> tuple[float, float]:
    low, high = scale if isinstance(scale, (tuple, list)) and len(scale) == 2 else (1, 0)
    if check_number(name, low) < check_number(name, high):
        return float(low), float(high)
    raise InputError(f"{name} must be a pair (lowest, highest score) with lowest < highest, not {scale!r}.")


@JUDGES.register("endpoint")
@keyword_declared
class EndpointJudge(Judge):
    """Language model behind an OpenAI-compatible endpoint.

    Responses are sent as data and cannot reach the instructions (see `prompts`). An attempt that ends in a time-out, a
    broken connection, 408, 409, 425, 429 or 5xx is repeated after a growing pause. If no attempt brings a readable
    answer, the judgement has ``valid=False``; a failure never scores 0.

    The pause doubles with each repetition, up to 60 seconds; a ``Retry-After`` of the endpoint overrides the pause,
    also up to 60 seconds. Without ``base_url`` and ``OPENAI_BASE_URL`` the SDK's address is used; without ``api_key``
    and ``OPENAI_API_KEY`` a placeholder, as local servers ask for none.

    Raises:
        InputError: no model; when used: the endpoint refuses the key or the model (401, 403, 404), or the cache cannot
            be used.
        MissingExtra: when used: the package's extra [chat] is not installed.
    """

    name = "endpoint"
    paper = "RewardAnything, arXiv 2506.03637"
    model: str = option(default=None, kw_only=False, says="name of the model; None takes ``PALAESTRA_JUDGE_MODEL``.")
    base_url: str | None = option(default=None, says='such as "http://localhost:8000/v1"; None: ``OPENAI_BASE_URL``.')
    api_key: str | None = option(default=None, says="None takes ``OPENAI_API_KEY``.")
    temperature: float = option(default=0.0, low=0, high=2, says="sampling temperature.")
    seed: int | None = option(default=None, says="sent with each request; several votes differ in their seeds.")
    max_tokens: int = option(default=2048, low=1, unit="tokens", says="longest reply, in tokens.")
    timeout: float = option(default=60.0, low=0.001, says="seconds that one attempt may take in all.")
    retries: int = option(default=4, says="attempts after the first.")
    backoff: float = option(default=0.5, low=0, says="seconds before the first repetition.")
    concurrency: int = option(
        default=8, low=1, unit="requests at once", says="limit over all threads that share this judge."
    )
    cache: Any = option(default=None, check=_open_cache, says="file that keeps the replies, or None.")
    structured: bool = option(
        default=True, says="also send the JSON schema in ``response_format``; False for endpoints that refuse it."
    )
    scale: tuple[float, float] = option(
        default=(1, 5), check=_check_scale, says="lowest and highest score of the model, mapped to 0 and 1."
    )
    max_characters: int = option(
        default=32_000, low=1, unit="characters", says="limit of each text; a longer one is cut, and the cut is marked."
    )

    def setup(self) -> None:
        self.model = self.model or os.environ.get("PALAESTRA_JUDGE_MODEL", "")
        if not self.model:
            raise InputError("an endpoint judge needs a model: pass model=..., or set PALAESTRA_JUDGE_MODEL.")
        check_address(self.base_url)
        # Kept under a private name, so that nothing that shows options shows the key.
        self._api_key, self.api_key = self.api_key, None
        self._line = _SharedClient(self.concurrency)

    def score(self, principle: str, prompt: str, responses: Sequence[str], reference: str | None = None) -> Judgement:
        if not responses:
            return Judgement(())
        return self._ask(
            prompts.scoring_question(principle, prompt, responses, reference, self.scale, self.max_characters)
        )

    def grade(self, criteria: Sequence[str], prompt: str, response: str, reference: str | None = None) -> Judgement:
        """Grade all criteria in one request."""
        if not criteria:
            return Judgement(())
        return self._ask(
            prompts.grading_question(criteria, prompt, response, reference, self.scale, self.max_characters)
        )

    def gather(self, calls: Sequence[Callable[[], Judgement]]) -> list[Judgement]:
        """Make the calls in parallel, in at most ``concurrency`` threads."""
        if len(calls) <= 1:
            return [call() for call in calls]
        from concurrent.futures import ThreadPoolExecutor

        # Each gather has a separate thread pool, so that nested gathers cannot wait for one another. The gate in
        # `_ask` limits the requests in flight.
        with ThreadPoolExecutor(min(len(calls), self.concurrency)) as pool:
            return list(pool.map(lambda call: call(), calls))

    def reseeded(self, seed: int) -> EndpointJudge:
        """Return a copy with another seed, which shares the connections, the cache and the bound on requests."""
        other = copy.copy(self)
        other.seed, other._line = check_count("seed", seed), self._line
        return other

    def close(self) -> None:
        """Close the connections; the next call opens new ones."""
        self._line.close()

    def __enter__(self) -> EndpointJudge:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if key != "_line"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._line = _SharedClient(self.concurrency)

    def __repr__(self) -> str:
        return f"endpoint({self.model!r}, base_url={self.base_url!r})"

    def chat(self, messages: prompts.Messages) -> str | None:
        """Request the next message of a conversation, outside any judgement; return None, and log the reason, if every
        attempt failed.

        Raises:
            InputError: the endpoint refuses the key or the model.
        """
        settings: dict[str, Any] = {"temperature": self.temperature, "max_tokens": self.max_tokens}
        if self.seed is not None:
            settings["seed"] = self.seed
        try:
            with self._line.gate:
                return self._reply(messages, settings)
        except RequestFailed as error:
            _log.warning("no reply of %r: %s", self.model, error)
            return None

    # One request to the endpoint.

    def _ask(self, question: prompts.JudgeQuestion) -> Judgement:
        settings: dict[str, Any] = {"temperature": self.temperature, "max_tokens": self.max_tokens}
        if self.seed is not None:
            settings["seed"] = self.seed
        if self.structured:
            schema = {"name": "judgements", "strict": True, "schema": question.schema}
            settings["response_format"] = {"type": "json_schema", "json_schema": schema}
        key = ReplyCache.key(self.model, question.messages, settings) if self.cache is not None else ""
        kept = self.cache.get(key) if self.cache is not None else None
        if kept is not None:
            return question.read(kept)
        try:
            with self._line.gate:
                reply = self._reply(question.messages, settings)
        except RequestFailed as error:
            return Judgement.failed(str(error))
        judgement = question.read(reply)
        if judgement.valid and self.cache is not None:
            self.cache.put(key, reply)
        return judgement

    def _reply(self, messages: prompts.Messages, settings: dict[str, Any]) -> str:
        """Request a reply, with repetitions, and return its text. Raises RequestFailed if every attempt failed."""
        attempt = 0
        while True:
            try:
                return _content(self._body(messages, settings))
            except RequestFailed as failure:
                if not failure.again or attempt == self.retries:
                    raise
                pause = failure.pause(attempt, self.backoff)
            time.sleep(pause)
            attempt += 1

    def _body(self, messages: prompts.Messages, settings: dict[str, Any]) -> bytes:
        """Make one attempt and return the body, read in parts, as the SDK's time-out restarts with each part."""
        client = self._line.client(self._connect)
        import openai

        end = time.monotonic() + self.timeout
        try:
            with client.chat.completions.with_streaming_response.create(
                model=self.model, messages=messages, timeout=self.timeout, **settings
            ) as response:
                return self._read(response, end)
        except openai.APIStatusError as error:
            status = error.status_code
            if status in (401, 403, 404):
                raise InputError(
                    f"the judge's endpoint answered {status} for the model {self.model!r}; "
                    "check base_url, model and api_key."
                ) from error
            raise RequestFailed.from_status(error, f"the endpoint answered {status}.") from error
        except openai.APIError as error:  # no connection, a time-out
            raise RequestFailed(f"the endpoint did not answer: {error}") from error

    def _read(self, response: Any, end: float) -> bytes:
        body = bytearray()
        parts = response.iter_bytes()
        while True:
            try:
                part = next(parts, None)
            except Exception as error:  # whatever the HTTP library of the SDK raises when a transfer breaks off
                raise RequestFailed(f"the endpoint's answer broke off: {error!r}") from error
            if part is None:
                return bytes(body)
            body += part
            if time.monotonic() > end:
                raise RequestFailed(f"the endpoint took longer than {self.timeout:g} s.")
            if len(body) > MAX_BODY:
                raise RequestFailed(f"the endpoint's answer exceeds {MAX_BODY} bytes.")

    def _connect(self) -> Any:
        sdk = import_sdk("a model behind an endpoint")
        return sdk.OpenAI(**connection_options(self.base_url, self._api_key), timeout=self.timeout)


def _content(body: bytes) -> str:
    """Extract the text of the first choice. Raises RequestFailed if the body is not a chat completion."""
    try:
        content = json.loads(body)["choices"][0]["message"]["content"]
    except (ValueError, RecursionError, LookupError, TypeError) as error:
        raise RequestFailed("the endpoint's answer is not a chat completion.") from error
    if not isinstance(content, str):
        raise RequestFailed("the endpoint's answer has no text.")
    return content
