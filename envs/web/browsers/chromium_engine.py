"""One Chromium and one web server on a loopback port for all environments of a process.

Playwright can be used only in the thread that started it, so one thread makes all calls to Chromium for all other
threads. The server listens on 127.0.0.1 only, and finds the site of a request by a secret in a header that each browser
context sends. Chromium resolves no host names but those that an engine is made for. Both end with the process.
"""

from __future__ import annotations

import atexit
import os
import queue
import shutil
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from werkzeug.serving import WSGIRequestHandler, make_server
from werkzeug.wrappers import Response

from ....errors import InputError

VARIABLE, HEADER = "PALAESTRA_CHROMIUM", "X-Palaestra-Site"
START_SECONDS, SECONDS = 60.0, 15.0
# The headless shell is the same browser without windows, and takes half the CPU time for a page.
_PROGRAMS = ("chromium-headless-shell", "chrome-headless-shell", "chromium", "chromium-browser", "google-chrome")
_ARGUMENTS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--no-proxy-server"),
    # A page then takes a fifth less processor time: without a process for drawing, and without a new frame in the
    # browser for each page of a site (RenderDocument). This list replaces Playwright's, whose others it repeats.
    "--in-process-gpu",
    "--disable-features=RenderDocument,AvoidUnnecessaryBeforeUnloadCheckSync,DestroyProfileOnBrowserClose,HttpsUpgrades,"
    "MediaRouter,PaintHolding,ThirdPartyStoragePartitioning,OptimizationHints,CDPScreenshotNewSurface",
)

# For pages of sites of our own: the only scripts that run are files of the site, not those in its pages.
POLICY = {"Content-Security-Policy": "script-src 'self'"}


def find_chromium() -> str:
    """Return the path of Chromium's executable.

    Raises:
        InputError: Chromium is not installed.
    """
    named = os.environ.get(VARIABLE)
    found = named or next(filter(None, map(shutil.which, _PROGRAMS)), None)
    if not found or not os.path.exists(found):
        raise InputError(
            f"the backend 'chromium' finds no Chromium{f' at {named!r}' if named else ''}: install it (Debian's "
            f"package chromium, or chromium-headless-shell), or name its program in {VARIABLE}, or use the backend "
            "'inprocess'."
        )
    return found


class QuietHandler(WSGIRequestHandler):
    """Handler of requests that keeps connections open, answers at once and logs nothing."""

    protocol_version = "HTTP/1.1"
    # Headers and content are sent separately; with Nagle's algorithm the content would wait until the headers are
    # acknowledged.
    disable_nagle_algorithm = True

    def log_request(self, *args: Any, **kwargs: Any) -> None:
        """Do nothing."""


class ChromiumEngine:
    """A running Chromium and its web server. `engine` returns the instance of this process.

    Args:
        hosts: names of hosts that pages may come from, beside this machine's loopback address.

    Attributes:
        sites: secret of a browser context -> WSGI application that answers its requests.
        replays: secret -> documents that answer the next request for a page, instead of the site, and the next
            requests for pages of frames: "" or the path of a frame -> document.
        cookies_set: secrets of browser contexts whose site has set or deleted cookies.
    """

    def __init__(self, hosts: frozenset[str] = frozenset()) -> None:
        self.sites: dict[str, Any] = {}
        self.replays: dict[str, dict[str, str]] = {}
        self.cookies_set: set[str] = set()
        self.process = os.getpid()
        self._tasks: queue.SimpleQueue[tuple[Callable[..., Any], tuple[Any, ...], Future[Any]] | None]
        self._tasks = queue.SimpleQueue()
        self._server = make_server("127.0.0.1", 0, self._serve, threaded=True, request_handler=QuietHandler)
        self.origin = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        self._started = threading.Event()
        rules = ", ".join(["MAP * ~NOTFOUND", *(f"EXCLUDE {host}" for host in sorted({"127.0.0.1", *hosts}))])
        arguments = [*_ARGUMENTS, f"--host-resolver-rules={rules}"]
        self._thread = threading.Thread(target=self._work, args=(find_chromium(), arguments), daemon=True)
        self._thread.start()
        atexit.register(self.stop)

    @property
    def is_lost(self) -> bool:
        """True if Chromium has ended, or has failed to start."""
        return self._started.is_set() and not (hasattr(self, "chromium") and self.chromium.is_connected())

    def _serve(self, environ: Any, start_response: Any) -> Any:
        secret = environ.get(f"HTTP_{HEADER.upper().replace('-', '_')}", "")
        site = self.sites.get(secret)
        if site is None:
            return Response("", 404)(environ, start_response)
        if (html := self._find_replay(secret, environ)) is not None:
            headers = {"Cache-Control": "no-store", **POLICY}
            page = Response(html, content_type="text/html; charset=utf-8", headers=headers)
            return page(environ, start_response)

        def start(status: str, headers: Any, *rest: Any) -> Any:
            if any(name.lower() == "set-cookie" for name, _ in headers):
                self.cookies_set.add(secret)
            return start_response(status, headers, *rest)

        return site(environ, start)

    def _find_replay(self, secret: str, environ: Any) -> str | None:
        """Return the document of `replays` that answers a request, and remove it; None if the site answers."""
        replays, kind = self.replays.get(secret), environ.get("HTTP_SEC_FETCH_DEST")
        if not replays or kind not in ("document", "iframe"):
            return None
        html = replays.pop("" if kind == "document" else environ["REQUEST_URI"], None)
        if not replays:
            self.replays.pop(secret, None)
        return html

    def _work(self, program: str, arguments: list[str]) -> None:
        from playwright.sync_api import sync_playwright

        failure: Exception | None = None
        playwright: Any = None
        try:
            playwright = sync_playwright().start()
            self.chromium = playwright.chromium.launch(
                executable_path=program, args=arguments, timeout=START_SECONDS * 1e3
            )
        except Exception as error:
            failure = error
        self._started.set()
        while self._work_once(failure):
            pass
        if failure is None and self.chromium.is_connected():
            self.chromium.close()
        if playwright is not None:
            playwright.stop()

    def _work_once(self, failure: Exception | None) -> bool:
        """Run the next task of the queue. Return False if it is the end mark.

        This is a function of its own because Playwright inspects its callers' frames: the frame of a running loop would
        keep finished tasks alive.
        """
        task = self._tasks.get()
        if task is None:
            return False
        function, arguments, future = task
        try:
            if failure is not None:
                raise failure
            future.set_result(function(*arguments))
        except BaseException as error:
            future.set_exception(error)
        return True

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call ``function(*arguments)`` in the thread of Chromium, wait for the call, and return its result."""
        return self.post(function, *arguments).result()

    def post(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Queue the call ``function(*arguments)`` for the thread of Chromium, and return its future."""
        future: Future[Any] = Future()
        self._tasks.put((function, arguments, future))
        return future

    def stop(self) -> None:
        """End Chromium and the server."""
        if self.process == os.getpid() and self._thread.is_alive():
            self._tasks.put(None)
            self._thread.join(SECONDS)
            self._server.shutdown()
            self._server.server_close()


_STARTING = threading.Lock()
_engines: dict[tuple[int, frozenset[str]], ChromiumEngine] = {}


def engine(hosts: frozenset[str] = frozenset()) -> ChromiumEngine:
    """Return the engine of this process that reaches ``hosts``, started on first use. After a fork, the child starts a
    new one."""
    key = os.getpid(), hosts
    with _STARTING:
        running = _engines.get(key)
        if running is None or running.is_lost:
            if running is not None:
                running.stop()
            for other in [one for one in _engines if one[0] != os.getpid()]:
                del _engines[other]
            _engines[key] = ChromiumEngine(hosts)
        return _engines[key]
