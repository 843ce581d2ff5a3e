"""A real HTTP server of the chat-completions protocol on a free port, whose replies a test scripts."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Reply = dict[str, Any]
Script = Callable[[dict[str, Any], int], Reply]
"""(request, number of the request from 0) to {"status", "body" or "content", "headers", "cut", "drip", "hang"}; besides
the content also "message" (further fields of the message, such as tool_calls), "finish" and "usage"."""


class ChatServer(ThreadingHTTPServer):
    """Answers by ``script`` and keeps every request."""

    daemon_threads = True

    def __init__(self, script: Script):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.script = script
        self.models: list[str] = []
        self.requests: list[dict[str, Any]] = []
        self.lock = threading.Lock()
        self.busy = self.most_busy = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hung up is what several tests are about."""


class _Handler(BaseHTTPRequestHandler):
    server: ChatServer
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_GET(self) -> None:
        data = json.dumps({"object": "list", "data": [{"id": name, "object": "model"} for name in self.server.models]})
        self._answer({"body": data, "status": 200 if self.path.endswith("/models") else 404})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        server = self.server
        with server.lock:
            number = len(server.requests)
            server.requests.append({**body, "path": self.path, "key": self.headers.get("Authorization")})
            server.busy += 1
            server.most_busy = max(server.most_busy, server.busy)
        try:
            self._answer(server.script(body, number))
        finally:
            with server.lock:
                server.busy -= 1

    def _answer(self, reply: Reply) -> None:
        time.sleep(reply.get("hang", 0.0))
        body = reply.get("body")
        if body is None:
            choice: dict[str, Any] = {"index": 0, "finish_reason": reply.get("finish", "stop")}
            if self.path.endswith("/chat/completions"):
                message = {"role": "assistant", "content": reply.get("content", "")}
                choice["message"] = {**message, **reply.get("message", {})}
            else:
                choice["text"] = reply.get("content", "")
            answer = {"id": "1", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice]}
            body = json.dumps({**answer, **({"usage": reply["usage"]} if "usage" in reply else {})})
        data = body.encode()
        self.send_response(reply.get("status", 200))
        for name, value in {"Content-Type": "application/json", **reply.get("headers", {})}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if "drip" in reply:
            for byte in data:
                self.wfile.write(bytes([byte]))
                self.wfile.flush()
                time.sleep(reply["drip"])
            return
        self.wfile.write(data[: reply.get("cut", len(data))])
        if "cut" in reply:
            self.close_connection = True


@contextmanager
def serving(script: Script) -> Iterator[ChatServer]:
    server = ChatServer(script)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def asked(request: dict[str, Any]) -> dict[str, Any]:
    """The data of a question."""
    return json.loads(request["messages"][1]["content"])


def by_length(request: dict[str, Any], number: int = 0) -> Reply:
    """Scores 1 to 5: one point for each character, in reverse order of the question."""
    entries = [
        {"id": entry["id"], "reason": f"{len(entry['text'])} characters", "score": min(5, max(1, len(entry["text"])))}
        for entry in asked(request)["responses"]
    ]
    return {"content": json.dumps({"judgements": entries[::-1]})}
