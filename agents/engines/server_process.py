"""A vLLM server on this machine: its command, its process and the requests that it is sent."""

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
"""Exceptions of a request to a lost server."""

_CONNECTING = 60.0
"""Seconds until a connection must stand."""
_ENDING = 15.0
"""Seconds that a server has to end by itself."""
_ERROR = re.compile(r"(?!.*\bWARNING\b).*?\b(\w+(?:Error|Exception): .+)")
"""A line that names an error."""
_CONSEQUENCE = "Engine core initialization failed"
"""In a line about an error that follows from another one."""


class ServerError(OSError):
    """The server answered that it failed."""


def serve_arguments(
    folder: Path, dtype: str, slots: int, max_length: int, cache_bytes: int, eager: bool, rank: int | None = None
) -> list[str]:
    """Return the command-line arguments of vLLM's server for serving the policy in ``folder`` to a run.

    Args:
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
    """Return the shell command that starts such a server by hand."""
    adapters = "VLLM_ALLOW_RUNTIME_LORA_UPDATING=1 " if "--enable-lora" in arguments else ""
    return f"VLLM_SERVER_DEV_MODE=1 {adapters}python -m vllm.entrypoints.openai.api_server {shlex.join(arguments)}"


class Refused(ValueError):
    """The server refused a request.

    Attributes:
        status: the HTTP status, 400 to 499.
    """

    def __init__(self, status: int, message: str):
        super().__init__(message)
        self.status = status


class ServerProcess:
    """A server of ours on a free loopback port; it ends with this process, also if this process is killed.

    Args:
        arguments: see `serve_arguments`.
        log: file that its output is appended to.
        temporary: folder that is deleted with the server if this process is killed.
    """

    def __init__(self, arguments: list[str], log: Path, temporary: Path | None = None):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.url, self.log = f"http://127.0.0.1:{port}", log
        environment = {"VLLM_NO_USAGE_STATS": "1", "VLLM_CPU_OMP_THREADS_BIND": "nobind", **os.environ}
        # In this mode weights and adapters can be replaced; only who can reach the loopback interface can ask for it.
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
        """Return the last error in the server's output, or else the last line."""
        with self.log.open("rb") as output:
            output.seek(self._offset)
            lines = output.read().decode(errors="replace").strip().splitlines()
        errors = [found[1] for line in lines if (found := _ERROR.match(line))]
        causes = [error for error in errors if _CONSEQUENCE not in error]
        return shorten([*lines[-1:], *errors, *causes][-1], 300) if lines else "it has written nothing"


def _end(process: subprocess.Popen[bytes], folder: str) -> None:
    """End a server with the processes that it has started, and delete its temporary folder."""
    assert process.stdin is not None
    process.stdin.close()  # its guard does it
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(_ENDING)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    shutil.rmtree(folder, ignore_errors=True)


def send(url: str, path: str, body: Any = None, timeout: float | None = 60.0) -> Any:
    """Send a request, POST if it has a body. Return the JSON of the answer, or else its text, or None if it is empty.

    See `Requests` for errors.
    """
    text = _ask(url, path, body, timeout, set())
    try:
        return json.loads(text) if text.strip() else None
    except json.JSONDecodeError:
        return text


class Requests:
    """Requests that wait for their answers in the background, and can be given up."""

    def __init__(self) -> None:
        self._waiting: set[socket.socket] = set()

    def send(self, url: str, path: str, body: Any, timeout: float | None = None) -> Future[Any]:
        """Send a request by POST, and return at once.

        Returns:
            The JSON of the answer, or ServerError if the server says that it failed, Refused if it refuses the
            request, another one of `LOST` if it cannot be reached, was lost meanwhile, or needs longer than ``timeout``
            seconds; None waits without end.
        """
        future: Future[Any] = Future()

        def fetch() -> None:
            try:
                future.set_result(json.loads(_ask(url, path, body, timeout, self._waiting) or "null"))
            except BaseException as error:
                future.set_exception(error)

        # A daemon: one that waits for a server that hangs does not keep the process from ending.
        threading.Thread(target=fetch, daemon=True).start()
        return future

    def give_up(self) -> None:
        """Close the connections of all that wait: they fail."""
        for one in list(self._waiting):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)


def read_progress(url: str, timeout: float) -> str:
    """A text that changes whenever a vLLM server computes a token or takes or ends a request; "" if it does not say."""
    try:
        text = _ask(url, "/metrics", None, timeout, set())
    except (*LOST, ValueError):
        return ""
    return "\n".join(line for line in text.splitlines() if line.startswith("vllm:"))


def _ask(url: str, path: str, body: Any, timeout: float | None, waiting: set[socket.socket]) -> str:
    """Send a request and return the text of the answer; meanwhile its connection is in ``waiting``."""
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
    """Wait for a server; False if it does not answer in time, or its process has ended."""
    until = time.monotonic() + seconds
    while time.monotonic() < until and (process is None or process.is_running()):
        with contextlib.suppress(*LOST, ValueError):
            send(url, "/health", timeout=5.0)
            return True
        time.sleep(0.2)
    return False
