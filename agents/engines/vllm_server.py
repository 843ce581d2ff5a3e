"""Engine that samples from a vLLM server, which the run starts or which is given by its address.

A server that the run started is restarted if it is lost; for any other server the engine waits until it is back. The
server then gets the current weights. The engine keeps the conversations, and every request has its own seed, so
unfinished requests are sent again and no finished answer is lost.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import logging
import shutil
import tempfile
import time
import weakref
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from ...checks import check_number
from ...errors import InputError
from ..language.decoder import context_limit
from .checkpoint import vocabulary_of
from .engine import ENGINES
from .gap import check_gap
from .resending import Answer, GenerationTask, ResendingEngine
from .server_process import (
    LOST,
    Refused,
    Requests,
    ServerError,
    ServerProcess,
    describe_command,
    read_progress,
    send,
    serve_arguments,
    wait_until_ready,
)
from .server_weights import ADAPTER_ROUTE, ServerWeights, check_folder
from .vllm_engine import adapter_room, cache_bytes, check_cache, check_vllm, sampling_parameters

_logger = logging.getLogger(__name__)
_RESTARTS = 3
"""Most losses of the server in a row, without an answer in between."""
_GRACE = 5.0
"""Seconds in which answers of a lost server are still accepted."""
_ROUTES = (
    "/inference/v1/generate",
    "/inference/v1/abort_requests",
    "/collective_rpc",
    "/reset_prefix_cache",
    "/update_weight_version",
)
"""Routes that a server must have; a plain ``vllm serve`` lacks all of them."""


@ENGINES.register("vllm-server")
class VllmServerEngine(ResendingEngine):
    """Engine with a vLLM server, started by the run or given by its url; a lost server is restarted or waited for."""

    @classmethod
    def check(
        cls,
        url: str | None = None,
        folder: str | None = None,
        patience: float = 600.0,
        stall: float = 300.0,
        cache_gb: float | None = None,
        eager: bool | None = None,
        merge: bool = False,
    ) -> None:
        check_number("the engine option patience", patience, above=0)
        check_number("the engine option stall", stall, above=0)
        check_cache(cache_gb)
        if url is None:
            check_vllm("vllm-server")
        elif not str(url).startswith(("http://", "https://")):
            raise InputError(f"the engine option url must begin with http://, not {url!r}.")
        elif str(url).rstrip("/").endswith("/v1"):
            raise InputError(f"the engine option url names the server itself: leave /v1 out of {url!r}.")
        elif folder is None:
            raise InputError(
                "the engine option url needs folder beside it: a folder that the server sees too, for the weights."
            )
        if folder is not None:
            check_folder(Path(str(folder)))

    @classmethod
    def measure_held(
        cls, weights: int, free: int, ahead: bool, url: str | None = None, cache_gb: float | None = None, **others: Any
    ) -> int:
        return weights + cache_bytes(cache_gb, on_gpu=True) if url is None else 0

    @classmethod
    def serve(
        cls,
        language: Any,
        slots: int,
        max_length: int,
        fp32_head: bool = False,
        url: str | None = None,
        folder: str | None = None,
        patience: float = 600.0,
        stall: float = 300.0,
        cache_gb: float | None = None,
        eager: bool | None = None,
        merge: bool = False,
    ) -> VllmServerEngine:
        """Prepare the engine; the server starts with the first `load_weights`.

        ``cache_gb`` and ``eager`` apply only to a server that the run starts.

        Args:
            language: the policy, an `agents.language.model.LanguageModel`.
            slots: most conversations that decode at the same time.
            max_length: longest conversation in tokens.
            fp32_head: has no effect; vLLM lacks this ability.
            url: address of a running server; by default the run starts a server on a free port of this machine.
            folder: folder for transferring weights, which must be new, empty, or from an earlier run. It also keeps the
                log of a server that the run starts. By default a temporary folder.
            patience: time limit for a server to start, to load weights, or to come back, in seconds.
            stall: seconds without an answer and without progress in /metrics after which a server counts as lost.
            cache_gb: memory for keys and values, GiB; by default 1 on a CPU and 8 on a GPU.
            eager: run without compiling the model and without CUDA graphs; by default only on a CPU.
            merge: merge adapters into the weights at each update, which transfers all weights; by default the server
                applies adapters separately, and only adapters are transferred.
        """
        on_gpu = language.model.device.type == "cuda"
        room = min(max_length + 1, context_limit(language.model))
        cache = cache_bytes(cache_gb, on_gpu)
        place = Path(tempfile.mkdtemp(prefix="palaestra-vllm-")) if folder is None else Path(str(folder)).absolute()
        dtype = str(language.model.dtype).removeprefix("torch.")
        rank = adapter_room(language, merge)
        arguments = serve_arguments(place, dtype, slots, room, cache, not on_gpu if eager is None else eager, rank)
        engine = cls(language, max_length, room, ServerWeights(place, rank, patience), arguments, url, patience, stall)
        if folder is None:
            engine._delete_folder = weakref.finalize(engine, shutil.rmtree, place, ignore_errors=True)
        return engine

    def __init__(
        self,
        language: Any,
        max_length: int,
        room: int,
        weights: ServerWeights,
        arguments: list[str],
        url: str | None,
        patience: float,
        stall: float,
    ):
        super().__init__(language.renderer.stop_ids, vocabulary_of(language), max_length, room)
        self._language, self._version = language, None
        self._weights, self._arguments = weights, arguments
        self._patience, self._stall = patience, stall
        self._own = url is None
        self._delete_folder: weakref.finalize[..., Any] | None = None  # at exit at the latest; None keeps it
        self.url = url or ""
        self.process: ServerProcess | None = None
        self._connected = False
        self._lost = 0
        self._requests = Requests()
        self._asked: dict[Future[Any], int] = {}

    @property
    def _other_way(self) -> str:
        """Remedy for error messages when the server cannot serve the policy."""
        merge = "give --engine-option merge=true, or " if "--enable-lora" in self._arguments else ""
        return f"{merge}take --engine torch"

    def follow(self, language: Any) -> None:
        if language is not self._language:
            self._language, self._version = language, None

    def load_weights(self, version: int) -> None:
        """Transfer the weights, unless the server already has this version. No request may be in flight."""
        if version == self._version:
            return
        self._version = None
        self._weights.write(self._language, version)
        try:
            if self._connected:
                self._reload(new=False)
            else:
                self._connect()
        except LOST as error:
            self._recover(error)
        try:
            check_gap("vllm-server", self, self._language, self._vocabulary)
        except InputError as error:
            if self._own:
                raise
            command = describe_command(self._arguments)
            raise InputError(f"{error} If {self.url} serves another model, start it with {command}.") from error
        self._version = version

    def shut_down(self) -> None:
        if not self._own:
            with contextlib.suppress(*LOST, ValueError):
                if self._sessions:
                    self._abort(*self._sessions).result()
                self._weights.unload(self.url)
        self._requests.give_up()
        if self.process is not None:
            self.process.stop()
        if self._delete_folder is not None:
            self._delete_folder()

    def _start(self, task: GenerationTask) -> None:
        params = sampling_parameters(task, self._stop_ids, self.truncation)
        if task.top:  # the token itself is counted among them
            params["logprobs"] = min(task.top + 1, self._vocabulary)
        body = {"request_id": self._request(task.number), "token_ids": list(task.ids), "sampling_params": params}
        if self._weights.adapters is not None:
            body["model"] = self._weights.adapters
        self._asked[self._requests.send(self.url, "/inference/v1/generate", body)] = task.number

    def _wait(self) -> list[tuple[int, Answer]]:
        while True:
            done, stalled = self._wait_for_one()
            answers, lost = self._take(done)
            if (lost := stalled or lost) is not None:
                # The other requests fail as well or have their answers already; requests that still wait are given up.
                answers += self._take(concurrent.futures.wait(self._asked, _GRACE).done)[0]
                self._requests.give_up()
                self._asked.clear()
                self._recover(lost)
            known = {*self._asked.values(), *(number for number, _ in answers)}
            for number in [number for number in self._sessions if number not in known]:
                self._start(self._task(number))
            if answers:
                self._lost = 0
                return sorted(answers, key=lambda pair: pair[0])

    def _wait_for_one(self) -> tuple[set[Future[Any]], ServerError | None]:
        """Wait until a request ends. Return the ended requests, or an error if the server makes no more progress."""
        progress, since = "", time.monotonic()
        while True:
            done = concurrent.futures.wait(self._asked, self._stall / 10, concurrent.futures.FIRST_COMPLETED).done
            if done:
                return done, None
            last, progress = progress, read_progress(self.url, self._stall / 10) or progress
            if progress != last:
                since = time.monotonic()
            elif time.monotonic() - since > self._stall:
                return done, ServerError(
                    f"it has done nothing for {self._stall:g} seconds, and owes {len(self._asked)} answers"
                )

    def _take(self, done: set[Future[Any]]) -> tuple[list[tuple[int, Answer]], Exception | None]:
        """Convert ended requests to answers. Requests that the server cut off have no answer.

        Returns:
            Pairs (number of the task, answer), and the exception if the server was lost, else None.
        """
        answers, lost = [], None
        for future in done:
            number = self._asked.pop(future)
            if number not in self._sessions:
                continue  # cancelled
            try:
                found = _read(future.result(), self._task(number), self._weights.label)
            except LOST as error:
                lost = error
                continue
            except ValueError as error:
                if isinstance(error, Refused) and error.status == 404:  # a restarted server does not know the adapters
                    lost = error
                    continue
                raise InputError(f"the vLLM server at {self.url}: {error}; take --engine torch.") from error
            if found is not None:
                answers.append((number, found))
        return answers, lost

    def _cancel(self, task: GenerationTask) -> None:
        self._abort(task.number)

    def _abort(self, *numbers: int) -> Future[Any]:
        """Ask the server to cancel tasks."""
        body = {"request_ids": [f"generate-tokens-{self._request(number)}" for number in numbers]}
        return self._requests.send(self.url, "/inference/v1/abort_requests", body, 10.0)

    def _request(self, number: int) -> str:
        return f"{self._weights.name}-{number}"

    def _recover(self, error: Exception) -> None:
        """Reconnect to a lost server and give it the current weights. Raises InputError after more than `_RESTARTS`
        losses in a row."""
        while True:
            self._connected = False
            self._lost += 1
            if self._lost > _RESTARTS:
                raise InputError(
                    f"the vLLM server was lost {self._lost} times in a row ({error}); go on with --resume, or take "
                    "--engine torch."
                ) from error
            _logger.warning("the vLLM server was lost (%s); its unfinished answers are asked for again", error)
            try:
                self._connect()
                return
            except LOST as again:
                error = again

    def _connect(self) -> None:
        """Start a server, or wait for the one at the given url, and make it load the weights in the folder."""
        if self._own:
            if self.process is not None:
                self.process.stop()
            temporary = None if self._delete_folder is None else self._weights.folder
            self.process = ServerProcess(self._arguments, self._weights.folder / "server.log", temporary)
            self.url = self.process.url
        elif not wait_until_ready(self.url, min(1.0, self._patience)):
            command = describe_command(self._arguments)
            _logger.warning("waiting %g seconds for a vLLM server at %s: %s", self._patience, self.url, command)
        if not wait_until_ready(self.url, self._patience, self.process):
            if self.process is not None:
                reason = self.process.describe_failure()
                if "Address already in use" in reason:
                    raise ServerError(f"another program has taken its port meanwhile: {reason}")
                where = "" if self._delete_folder is not None else f", see {self.process.log}"
                raise InputError(
                    f"the vLLM server did not start within {self._patience:g} seconds ({reason}){where}; "
                    f"{self._other_way}."
                )
            raise InputError(
                f"no vLLM server answered at {self.url} within {self._patience:g} seconds; start it with "
                f"{describe_command(self._arguments)}, and go on with --resume."
            )
        if not self._own:
            self._check_server()
        self._reload(new=True)
        self._connected = True

    def _check_server(self) -> None:
        """Raise InputError if the server at the url lacks a route or a setting that a run needs."""
        remedy = f"start it with {describe_command(self._arguments)}."
        try:
            routes = send(self.url, "/openapi.json")["paths"]
            (served,) = [one for one in send(self.url, "/v1/models")["data"] if not one.get("parent")]
            settings = send(self.url, "/server_info?config_format=json")["vllm_config"]["model_config"]
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(
                f"the server at {self.url} is no vLLM server as it is needed ({error}); {remedy}"
            ) from error
        needed = [*_ROUTES, *([ADAPTER_ROUTE] if self._weights.adapters is not None else [])]
        if missing := [route for route in needed if route not in routes]:
            raise InputError(f"the vLLM server at {self.url} has no route {missing[0]}; {remedy}")
        if served["max_model_len"] < self._room:
            raise InputError(
                f"the vLLM server at {self.url} has room for {served['max_model_len']} tokens, and {self._room} are "
                f"needed; {remedy}"
            )
        if settings["logprobs_mode"] != "processed_logprobs":
            raise InputError(
                f"the vLLM server at {self.url} returns {settings['logprobs_mode']}, not processed_logprobs; {remedy}"
            )

    def _reload(self, new: bool) -> None:
        """Make the server load the weights in the folder; ``new``: it may have no weights of this run yet."""
        try:
            self._weights.load(self.url, new)
        except (ValueError, ServerError) as error:
            if isinstance(error, ServerError) and not wait_until_ready(self.url, 1.0, self.process):
                raise  # the server is gone; it did not refuse
            remedy = self._other_way if self._own else f"start it with {describe_command(self._arguments)}"
            raise InputError(
                f"the vLLM server at {self.url} does not take the weights of this "
                f"{type(self._language.model).__name__} ({error}); {remedy}."
            ) from error


def _read(answer: Any, task: GenerationTask, label: str) -> Answer | None:
    """Convert the server's answer to a task to an `Answer`; None if the server cut it off.

    Raises:
        ServerError: the answer was computed with other weights than those of this label.
    """
    choice = answer["choices"][0]
    if choice["finish_reason"] not in ("stop", "length"):
        return None
    versions = {span["version"] for span in choice.get("weight_versions") or ()}
    if versions != {label}:
        raise ServerError(
            f"it answered with the weights {sorted(versions)}, not [{label!r}]; was it started again, or does another "
            "run use it?"
        )
    known = len(task.ids) - task.forced
    ids, logps, top = list(task.ids[known:]), [], []
    for token, row in zip(ids, (answer.get("prompt_logprobs") or [])[known:]):
        likeliest = sorted(((int(i), value["logprob"]) for i, value in row.items()), key=lambda pair: -pair[1])
        logps.append(row[str(token)]["logprob"])
        top.append(tuple(likeliest[: task.top]))
    for place in choice["logprobs"]["content"]:
        ids.append(place["token_id"])
        logps.append(place["logprob"])
        others = [(other["token_id"], other["logprob"]) for other in place["top_logprobs"]]
        top.append(tuple(sorted(dict(others).items(), key=lambda pair: -pair[1])[: task.top]))
    return Answer(tuple(ids), tuple(logps), tuple(top))
