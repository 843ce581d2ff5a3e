from __future__ import annotations

import http.server
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from palaestra.agents.engines import server_guard, server_process
from palaestra.agents.engines.server_process import (
    LOST,
    Requests,
    ServerError,
    ServerProcess,
    describe_command,
    read_progress,
    send,
    serve_arguments,
    wait_until_ready,
)

from .process_groups import members  # isort: skip

HOLDER = """
import os, signal, subprocess, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background process of a shell ignores it
guard = subprocess.Popen([sys.executable, "-S", *sys.argv[1:]], stdin=subprocess.PIPE, start_new_session=True)
if not os.fork():
    time.sleep(600)  # a child that keeps the pipe open
print(guard.pid, flush=True)
time.sleep(600)
"""
SERVER = """
import signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(600)"])
time.sleep(600)
"""
"""A server that does not end by itself, with a process of its own."""


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.reply(200, b"")

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.reply(body["status"], json.dumps({"path": self.path}).encode())

    def reply(self, status: int, text: bytes):
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, format, *arguments):
        pass


@pytest.fixture
def url():
    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/v1/"
        server.shutdown()
        thread.join()


def unused() -> str:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}"


def test_answers_refusals_and_failures_are_told_apart(url):
    assert send(url, "/generate", {"status": 200}) == {"path": "/v1/generate"}
    assert send(url, "/health") is None
    with pytest.raises(ValueError, match="/generate was refused with 404"):
        send(url, "/generate", {"status": 404})
    with pytest.raises(ServerError, match="/generate failed with 500"):
        send(url, "/generate", {"status": 500})
    with pytest.raises(LOST):
        send(unused(), "/health")


def test_a_request_that_waits_is_given_up():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        requests, where = Requests(), f"http://127.0.0.1:{silent.getsockname()[1]}"
        futures = [requests.send(where, "/generate", {}) for _ in range(3)]
        accepted = [silent.accept()[0] for _ in futures]
        for one in accepted:
            assert one.recv(1)  # the request is on its way
        assert not any(future.done() for future in futures)
        requests.give_up()
        for future in futures:
            assert isinstance(future.exception(60), LOST)
        assert read_progress(where, 0.1) == ""
        for one in accepted:
            one.close()


def test_a_request_in_the_background_has_the_answer_or_the_error(url):
    requests = Requests()
    assert requests.send(url, "/generate", {"status": 200}).result(60) == {"path": "/v1/generate"}
    with pytest.raises(ServerError, match="failed with 500"):
        requests.send(url, "/generate", {"status": 500}).result(60)


def test_a_server_is_waited_for_as_long_as_it_may_take(url):
    assert wait_until_ready(url, 60)
    assert not wait_until_ready(unused(), 0.3)


def test_a_process_that_has_ended_is_not_waited_for(tmp_path: Path):
    server = ServerProcess(["no-such-command"], tmp_path / "log")
    begun = time.monotonic()
    assert not wait_until_ready(server.url, 600, server)
    assert time.monotonic() - begun < 120
    assert not server.is_running()
    assert (tmp_path / "log").read_text()
    server.stop()


def test_the_command_can_be_typed(tmp_path: Path):
    arguments = serve_arguments(tmp_path / "a b", "float32", 8, 100, 1 << 29, eager=True)
    assert describe_command(arguments) == (
        f"VLLM_SERVER_DEV_MODE=1 python -m vllm.entrypoints.openai.api_server --model '{tmp_path / 'a b'}' "
        "--served-model-name=policy --dtype=float32 --max-num-seqs=8 --max-model-len=100 "
        "--kv-cache-memory-bytes=536870912 --gpu-memory-utilization=0.01 "
        "--logprobs-mode=processed_logprobs --max-logprobs=-1 --tokens-only --skip-tokenizer-init --enforce-eager"
    )
    arguments = serve_arguments(tmp_path, "float32", 8, 100, 1 << 29, eager=False, rank=16)
    command = describe_command(arguments)
    assert command.startswith("VLLM_SERVER_DEV_MODE=1 VLLM_ALLOW_RUNTIME_LORA_UPDATING=1 python")
    assert command.endswith("--max-lora-rank=16 --tokens-only --skip-tokenizer-init --enable-lora")


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_server_ends_with_its_starter_however_that_ends(tmp_path: Path, number: int):
    folders = [tmp_path / "weights", tmp_path / "sockets"]
    for folder in folders:
        folder.mkdir()
    guard = [server_guard.__file__, os.pathsep.join(map(str, folders)), sys.executable, "-S", "-c", SERVER]
    command = [sys.executable, "-S", "-c", HOLDER, *guard]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True
    ) as holder:
        try:
            assert holder.stdout is not None
            group = int(holder.stdout.readline())
            assert wait(lambda: len(members(group)) == 3)
            holder.send_signal(number)
            assert wait(lambda: not members(group))
            assert not any(folder.exists() for folder in folders)
        finally:
            os.killpg(holder.pid, signal.SIGKILL)  # with the child that has the pipe


def test_a_server_that_hangs_is_ended(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(server_process, "_ENDING", 0.2)
    server = ServerProcess(["no-such-command"], tmp_path / "log")
    os.killpg(server.process.pid, signal.SIGSTOP)
    alive = server.stop.peek()
    assert alive is not None
    own = Path(alive[2][1])
    assert own.is_dir()
    server.stop()
    assert wait(lambda: not members(server.process.pid))
    assert not own.exists()


def test_what_a_dead_server_leaves_behind_ends_with_it(tmp_path: Path):
    lost = SERVER.replace("time.sleep(600)\n", "")
    guard = [sys.executable, "-S", server_guard.__file__, "", sys.executable, "-S", "-c", lost]
    with subprocess.Popen(guard, stdin=subprocess.PIPE, start_new_session=True) as process:
        assert process.wait(60) == -signal.SIGKILL
        assert wait(lambda: not members(process.pid))


def test_a_failed_start_is_told_by_its_cause(tmp_path: Path):
    log = tmp_path / "log"
    log.write_text("ValueError: of an earlier start\n")
    server = ServerProcess(["no-such-command"], log)
    server.stop()
    assert "earlier" not in server.describe_failure()
    prefix = "(EngineCore pid=5514) ERROR 11-27 04:29:00 [core.py:1510]"
    with log.open("a") as output:
        output.write(f"{prefix} ValueError: No memory for the cache.\n{prefix} Traceback\n")
        output.write("(APIServer pid=1) WARNING 11-27 04:29:00 [base.py:380] ValueError: Tokenizer not available\n")
        output.write("RuntimeError: Engine core initialization failed. See above.\nleaked 4 instances\n")
    assert server.describe_failure() == "ValueError: No memory for the cache."


def wait(until, seconds: float = 60.0) -> bool:
    end = time.monotonic() + seconds
    while not (done := until()) and time.monotonic() < end:
        time.sleep(0.05)
    return done
