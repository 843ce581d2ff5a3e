"""HTTP server, for this machine only, of one page and the pages that it links to.

The server listens on the loopback address and serves only linked files. It answers only requests whose Host header is
that address, so that no web site can read it by DNS rebinding.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock
from urllib.parse import quote, unquote

from ..errors import InputError


class PageServer:
    """Server of a page, which is made again when its sources have changed.

    Args:
        port: port to listen on; 0 takes a free one.

    Raises:
        InputError: the port is not available.
    """

    def __init__(self, port: int = 0):
        self._linked: dict[str, Path] = {}
        try:
            self._server = ThreadingHTTPServer(("127.0.0.1", port), self._handler())
        except (OSError, OverflowError) as error:
            raise InputError(f"port {port} cannot be taken ({error}); leave --port out to take a free one.") from error
        self._server.daemon_threads = True
        self.address = f"127.0.0.1:{self._server.server_port}"
        self._lock = Lock()
        self._make: Callable[[], str]
        self._sources: Callable[[], Sequence[Path]]
        self._news: Callable[[str], str] | None = None
        self._state: object = None
        self._page = b""

    def link(self, path: Path) -> str:
        """Allow a file to be served, and return its URL relative to the page."""
        place = str(path.resolve())
        self._linked[place] = path
        return "linked/" + quote(place.lstrip("/"))

    def serve(
        self, make: Callable[[], str], sources: Callable[[], Sequence[Path]], news: Callable[[str], str] | None = None
    ) -> None:
        """Serve until Ctrl-C.

        Args:
            make: makes the page; called at once, and when the page is loaded after its sources have changed.
            sources: returns the files from which the page is made.
            news: returns JSON for ``/news?QUERY``, which an open page asks for, by the query.
        """
        self._make, self._sources, self._news = make, sources, news
        self._refresh()
        print(f"http://{self.address}/    Ctrl-C ends it", flush=True)
        try:
            self._server.serve_forever(0.2)
        except KeyboardInterrupt:
            print(file=sys.stderr)
        finally:
            self._server.server_close()

    def stop(self) -> None:
        """Make `serve` return; to be called from another thread."""
        self._server.shutdown()

    def _refresh(self) -> bytes:
        with self._lock:
            found = [path for path in self._sources() if path.exists()]
            state = [(str(path), path.stat().st_size, path.stat().st_mtime_ns) for path in found]
            if state != self._state:
                self._page, self._state = self._make().encode(), state
            return self._page

    def _answer(self, host: str | None, path: str) -> tuple[int, bytes]:
        """Return status and content for a request."""
        if host not in (self.address, self.address.replace("127.0.0.1", "localhost")):
            return 403, b"ask for this server by its address"
        path, _, query = path.partition("?")
        news = self._news if path == "/news" else None
        if path == "/" or news is not None:
            try:
                if news is None:
                    return 200, self._refresh()
                with self._lock:
                    return 200, news(query).encode()
            except (InputError, OSError) as error:
                return 500, str(error).encode("utf-8", "backslashreplace")
        file = self._linked.get("/" + unquote(path.removeprefix("/linked/")))
        if file is None or not file.is_file():
            return 404, b"there is no such page"
        return 200, file.read_bytes()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        answer = self._answer

        class _PageHandler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                status, content = answer(self.headers.get("Host"), self.path)
                self.send_response(status)
                self.send_header("Content-Type", f"text/{'html' if status == 200 else 'plain'}; charset=utf-8")
                self.send_header("Content-Length", str(len(content)))
                self.send_header("Cache-Control", "no-store")
                self.send_header("X-Content-Type-Options", "nosniff")
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, format: str, *args: object) -> None:
                """Suppress the log."""

        return _PageHandler
