"""vLLM server on this machine: its command line, its process, and HTTP requests to it."""

from __future__ import annotations

import contextlib
import getpass
import http.client
import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import weakref
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from ...errors import shorten

LOST = (OSError, http.client.HTTPException)
"""Exceptions that a request to a lost server raises."""

_CONNECTING = 60.0
"""Time limit for establishing a connection, in seconds."""
_ENDING = 15.0
"""Seconds between asking the server to end and killing it."""
_ERROR = re.compile(r"(?!.*\bWARNING\b).*?\b(\w+(?:Error|Exception): .+)")
"""Matches a line of output that names an error."""
_CONSEQUENCE = "Engine core initialization failed"
"""Text of an error that is only the consequence of another one."""


class ServerError(OSError):
    """Error for a server that answered with a status of 500 or above."""


def serve_arguments(
    folder: Path, dtype: str, slots: int, max_length: int, cache_bytes: int, eager: bool, rank: int | None = None
) -> list[str]:
    """Return the command-line arguments of vLLM's server for serving the policy in ``folder`` to a run.

    Args:
        slots: most conversations that decode at the same time.
        max_length: longest conversation in tokens.
        cache_bytes: memory for keys and values.
        eager: True compiles nothing and captures no CUDA graphs.
        rank: largest rank of adapters; None without adapters.
    """
    options = {
        "--served-model-name": "policy",
        "--dtype": dtype,
        "--max-num-seqs": str(slots),
        "--max-model-len": str(max_length),
        "--kv-cache-memory-bytes": str(cache_bytes),
        # The share of device memory that must be free at the start; low, as the cache's size is given above.
        "--gpu-memory-utilization": "0.01",
        "--logprobs-mode": "processed_logprobs",
        "--max-logprobs": "-1",
    }
    if rank is not None:
        options["--max-lora-rank"] = str(rank)
    flags = ["--tokens-only", "--skip-tokenizer-init"]
    flags += ["--enforce-eager"] if eager else []
    flags += ["--enable-lora"] if rank is not None else []
    return ["--model", str(folder), *(f"{name}={value}" for name, value in options.items()), *flags]


def describe_command(arguments: list[str]) -> str:
    """Return the shell command that starts a server with `serve_arguments` by hand."""
    adapters = "VLLM_ALLOW_RUNTIME_LORA_UPDATING=1 " if "--enable-lora" in arguments else ""
    return f"VLLM_SERVER_DEV_MODE=1 {adapters}python -m vllm.entrypoints.openai.api_server {shlex.join(arguments)}"


class Refused(ValueError):
    """Error for a request that the server refused.

    Attributes:
        status: the HTTP status, 400 to 499.
    """

    def __init__(self, status: int, message: str):
        super().__init__(message)
        self.status = status


class ServerProcess:
    """Server process on a free loopback port, which ends with this process, even if this process is killed.

    Args:
        arguments: see `serve_arguments`.
        log: file to which the server's output is appended.
        temporary: folder to delete when the server ends because this process was killed.
    """

    def __init__(self, arguments: list[str], log: Path, temporary: Path | None = None):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.url, self.log = f"http://127.0.0.1:{port}", log
        environment = {"VLLM_NO_USAGE_STATS": "1", "VLLM_CPU_OMP_THREADS_BIND": "nobind", **os.environ}
        # In this mode weights and adapters can be replaced, but only through the loopback interface.
        environment["VLLM_SERVER_DEV_MODE"] = environment["VLLM_ALLOW_RUNTIME_LORA_UPDATING"] = "1"
        # Another engine in this process may have set the variable. Without threads to bind to cores ("nobind") the
        # model needs no separate process, which takes long to load.
        environment.pop("VLLM_ENABLE_V1_MULTIPROCESSING", None)
        if environment["VLLM_CPU_OMP_THREADS_BIND"] == "nobind":
            environment["VLLM_ENABLE_V1_MULTIPROCESSING"] = "0"
        environment.pop("VLLM_CPU_KVCACHE_SPACE", None)  # it would replace the size in the arguments
        # A killed server leaves its temporary files behind, so it gets a folder that can be deleted; the path is short,
        # as the length of socket paths is limited. Compiled code is kept elsewhere, for later servers.
        compiled = Path(tempfile.gettempdir()) / f"torchinductor_{getpass.getuser()}"
        environment.setdefault("TORCHINDUCTOR_CACHE_DIR", str(compiled))
        own = environment["TMPDIR"] = tempfile.mkdtemp(prefix="pv-")
        folders = os.pathsep.join([own, *([] if temporary is None else [str(temporary)])])
        guard = [sys.executable, "-S", str(Path(__file__).with_name("server_guard.py")), folders]
        command = [*guard, sys.executable, "-m", "vllm.entrypoints.openai.api_server", *arguments]
        self._offset = log.stat().st_size if log.exists() else 0
        with log.open("ab") as output:
            self.process = subprocess.Popen(
                [*command, "--host", "127.0.0.1", "--port", str(port)],
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=environment,
                start_new_session=True,
            )
        self.stop = weakref.finalize(self, _end, self.process, own)

    def is_running(self) -> bool:
        return self.process.poll() is None

    def describe_failure(self) -> str:
        """Return the last error in the server's output; the last line of output if no error is found."""
        with self.log.open("rb") as output:
            output.seek(self._offset)
            lines = output.read().decode(errors="replace").strip().splitlines()
        errors = [found[1] for line in lines if (found := _ERROR.match(line))]
        causes = [error for error in errors if _CONSEQUENCE not in error]
        return shorten([*lines[-1:], *errors, *causes][-1], 300) if lines else "it has written nothing"


def _end(process: subprocess.Popen[bytes], folder: str) -> None:
    """End a server with the processes that it has started, and delete its temporary folder."""
    assert process.stdin is not None
    process.stdin.close()  # the guard then ends the server
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(_ENDING)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    shutil.rmtree(folder, ignore_errors=True)


def send(url: str, path: str, body: Any = None, timeout: float | None = 60.0) -> Any:
    """Send a request (POST if it has a body, else GET) and return the parsed JSON of the answer.

    Returns:
        The JSON; the text if it is no JSON; None if it is empty.

    Raises:
        The exceptions of `Requests.send`.
    """
    text = _ask(url, path, body, timeout, set())
    try:
        return json.loads(text) if text.strip() else None
    except json.JSONDecodeError:
        return text


class Requests:
    """Concurrent requests in background threads, which can all be given up."""

    def __init__(self) -> None:
        self._waiting: set[socket.socket] = set()

    def send(self, url: str, path: str, body: Any, timeout: float | None = None) -> Future[Any]:
        """Send a request by POST without waiting for the answer.

        Args:
            timeout: time limit in seconds; None: no limit.

        Returns:
            A future of the JSON of the answer. Its exception is ServerError (status 500 or above), Refused (status 400
            to 499), or another one of `LOST` (server not reached, lost meanwhile, or time limit exceeded).
        """
        future: Future[Any] = Future()

        def fetch() -> None:
            try:
                future.set_result(json.loads(_ask(url, path, body, timeout, self._waiting) or "null"))
            except BaseException as error:
                future.set_exception(error)

        # A daemon thread, so that waiting for a server that hangs does not keep the process from ending.
        threading.Thread(target=fetch, daemon=True).start()
        return future

    def give_up(self) -> None:
        """Close the connections of all pending requests, which makes the requests fail."""
        for one in list(self._waiting):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)


def read_progress(url: str, timeout: float) -> str:
    """Return a text that changes whenever a vLLM server computes a token, or accepts or ends a request: the
    server's metrics; "" if they cannot be read."""
    try:
        text = _ask(url, "/metrics", None, timeout, set())
    except (*LOST, ValueError):
        return ""
    return "\n".join(line for line in text.splitlines() if line.startswith("vllm:"))


def _ask(url: str, path: str, body: Any, timeout: float | None, waiting: set[socket.socket]) -> str:
    """Send a request and return the text of the answer. Until then, the connection is in ``waiting``."""
    parts = urllib.parse.urlsplit(url)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = kind(parts.hostname or "", parts.port, timeout=_CONNECTING if timeout is None else timeout)
    data = None if body is None else json.dumps(body)
    try:
        connection.connect()
        used = connection.sock
        used.settimeout(timeout)
        waiting.add(used)
        try:
            headers = {"Content-Type": "application/json"}
            connection.request("GET" if body is None else "POST", f"{parts.path.rstrip('/')}{path}", data, headers)
            answer = connection.getresponse()
            text = answer.read().decode()
        finally:
            waiting.discard(used)
    finally:
        connection.close()
    if answer.status >= 500:
        raise ServerError(f"{path} failed with {answer.status}: {text[:500]}")
    if answer.status >= 400:
        raise Refused(answer.status, f"{path} was refused with {answer.status}: {text[:500]}")
    return text


def wait_until_ready(url: str, seconds: float, process: ServerProcess | None = None) -> bool:
    """Wait until a server answers /health. Return False if it does not within ``seconds``, or its process has ended."""
    until = time.monotonic() + seconds
    while time.monotonic() < until and (process is None or process.is_running()):
        with contextlib.suppress(*LOST, ValueError):
            send(url, "/health", timeout=5.0)
            return True
        time.sleep(0.2)
    return False
