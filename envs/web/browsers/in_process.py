"""In-process browser: it calls the site directly as a WSGI application, and parses the pages with lxml.

Nothing is sent over a network, no script runs and no style applies; `widgets` work by their rules. A page is parsed
once for all browsers that show it.
"""

from __future__ import annotations

import io
from http.cookies import SimpleCookie
from typing import Any
from urllib.parse import unquote_to_bytes, urlsplit

from .accessibility import Control, Value
from .browser import Browser, BrowserFailure
from .forms import FormRequest, form_of, resolve
from .observations import WINDOW, value_of
from .page_cache import parse_page
from .tab import Tab
from .widgets import find_effects, run_event

MOST_REDIRECTS, MOST_ANSWERS = 10, 2_000
Answer = tuple[int, list[tuple[str, str]], bytes]
"""(status, headers, content) of a response."""
# Cache of responses to GET, oldest first: (class and state of the site, address, cookies) -> response.
_ANSWERS: dict[tuple[Any, ...], Answer] = {}
_ENVIRON: dict[str, Any] = {
    **{"SERVER_NAME": "site.invalid", "SERVER_PORT": "80", "SERVER_PROTOCOL": "HTTP/1.1", "SCRIPT_NAME": ""},
    **{"HTTP_HOST": "site.invalid", "REMOTE_ADDR": "127.0.0.1", "wsgi.version": (1, 0), "wsgi.url_scheme": "http"},
    **{"wsgi.errors": io.StringIO(), "wsgi.multithread": False, "wsgi.multiprocess": False, "wsgi.run_once": False},
}


class InProcessBrowser(Browser):
    """Browser within this process; see the module."""

    def __init__(self, site: Any, lines: int = WINDOW):
        super().__init__(site, lines)
        self._jar: dict[str, str] = {}

    def clear_cookies(self) -> None:
        self._jar = {}

    def load(self, path: str) -> None:
        self._fetch(FormRequest("GET", self.origin + path))

    def send(self, request: FormRequest, form: Any, button: Control | None, key: Control | None) -> None:
        self._fetch(request)

    def change(self, control: Control, value: Value) -> None:
        if control.role == "radio" and value:
            name, form = control.element.get("name"), form_of(self.page, control.element)
            for other in self.page.controls:
                is_other = other.role == "radio" and other is not control and value_of(other, self.edits)
                named_alike = name and other.element.get("name") == name
                if is_other and named_alike and form_of(self.page, other.element) is form:
                    self.edits[other.number] = False
                    if not other.default():
                        del self.edits[other.number]
        self.edits[control.number] = value
        if value == control.default():
            del self.edits[control.number]
        if self.page.has_widgets and find_effects(control.element, "input"):
            self.operate(control, "input")

    def operate(self, control: Control | None, event: str) -> None:
        controls = self.page.controls
        values = tuple((controls[number - 1].place, value) for number, value in sorted(self.edits.items()))
        place = -1 if control is None else control.place
        self.page, self.edits = parse_page(run_event(self.page.html, event, place, values)), {}

    def reset(self, button: Control, controls: list[Control]) -> None:
        for control in controls:
            self.edits.pop(control.number, None)

    def cookies(self) -> tuple[tuple[str, str], ...]:
        return tuple(sorted(self._jar.items()))

    def restore(self, tab: Tab) -> None:
        self.page, self.path, self.edits, self.sent = parse_page(tab.html), tab.path, dict(tab.edits), tab.sent
        self.set_surroundings(tab)
        self._jar = dict(tab.cookies)

    def _fetch(self, request: FormRequest) -> None:
        """Send a request, and follow redirects as browsers do: with GET, except for 307 and 308."""
        for _ in range(MOST_REDIRECTS):
            status, headers, content = self._get(request) if request.method == "GET" else self._call(request)
            for name, value in headers:
                if name.lower() == "set-cookie":
                    for cookie, morsel in SimpleCookie(value).items():
                        if morsel["max-age"] == "0" or morsel["expires"].startswith("Thu, 01 Jan 1970"):
                            self._jar.pop(cookie, None)
                        else:
                            self._jar[cookie] = morsel.coded_value
            location = next((value for name, value in headers if name.lower() == "location"), None)
            if not 300 <= status < 400 or location is None:
                break
            url = resolve(request.url, location)
            if not url.startswith(f"{self.origin}/"):
                raise BrowserFailure(f"the site leads to another one: {url}")
            request = (
                FormRequest(request.method, url, request.body) if status in (307, 308) else FormRequest("GET", url)
            )
        else:
            raise BrowserFailure(f"the site redirects more than {MOST_REDIRECTS} times")
        self.path = request.url.removeprefix(self.origin)
        self.sent, self.edits = request.method == "POST", {}
        self.page = parse_page(content.decode("utf-8", "replace"))

    def _get(self, request: FormRequest) -> Answer:
        """Return the response to a GET request: the cached one for the same request in the same state of the site, or
        else the site's. The cache is shared by all browsers; responses to requests that change the site are not
        cached."""
        state = self.site.state()
        key = type(self.site), state, request.url, self.cookies()
        answer = _ANSWERS.get(key)
        if answer is None:
            answer = self._call(request)
            if self.site.state() is state:
                while len(_ANSWERS) >= MOST_ANSWERS:
                    _ANSWERS.pop(next(iter(_ANSWERS)), None)
                _ANSWERS[key] = answer
        return answer

    def _call(self, request: FormRequest) -> Answer:
        url, body = urlsplit(request.url), request.body.encode()
        environ = {
            **_ENVIRON,
            "REQUEST_METHOD": request.method,
            "PATH_INFO": unquote_to_bytes(url.path).decode("latin-1"),
            "QUERY_STRING": url.query,
            "wsgi.input": io.BytesIO(body),
        }
        if body or request.method == "POST":
            environ["CONTENT_TYPE"], environ["CONTENT_LENGTH"] = "application/x-www-form-urlencoded", str(len(body))
        if self._jar:
            environ["HTTP_COOKIE"] = "; ".join(f"{name}={value}" for name, value in self._jar.items())
        started: list[Any] = []
        try:
            answer = self.site(environ, lambda status, headers, *_: started.append((status, headers)))
            content = b"".join(answer)
        except Exception as error:
            raise BrowserFailure(f"the site fails: {type(error).__name__}: {error}") from error
        status, headers = started[-1]
        return int(status[:3]), headers, content
