from __future__ import annotations

import http.server
import json
import socket
import threading
import time
from pathlib import Path

import pytest
from palaestra.agents.engines.server_process import (
    LOST,
    ServerError,
    ServerProcess,
    describe_command,
    send,
    serve_arguments,
    wait_until_ready,
)


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


def test_a_server_is_waited_for_as_long_as_it_may_take(url):
    assert wait_until_ready(url, 5)
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
    arguments = serve_arguments(tmp_path / "a b", "float32", 8, 100, 0.5, eager=True)
    assert describe_command(arguments) == (
        f"VLLM_SERVER_DEV_MODE=1 python -m vllm.entrypoints.openai.api_server --model '{tmp_path / 'a b'}' --served-model-name=policy --dtype=float32 "
        "--max-num-seqs=8 --max-model-len=100 --kv-cache-memory-bytes=536870912 --logprobs-mode=processed_logprobs "
        "--max-logprobs=-1 --tokens-only --skip-tokenizer-init --enforce-eager"
    )
