"""In-process browser: it calls the site directly as a WSGI application, and parses the pages with lxml.

Nothing is sent over a network, no script runs and no style applies; `widgets` work by their rules. A page is parsed
once for all browsers that show it.
"""

from __future__ import annotations

import io
from dataclasses import replace
from html import escape
from http.cookies import SimpleCookie
from typing import Any
from urllib.parse import unquote_to_bytes, urlsplit

from .accessibility import FRAME, Control, Value, frame_of
from .browser import Browser, BrowserFailure
from .control_actions import target_frame
from .forms import FormRequest, form_of, resolve
from .observations import WINDOW, value_of
from .page_cache import parse_page
from .page_frames import fill_frames, replace_frame
from .tab import Tab
from .widgets import find_effects, run_event

MOST_REDIRECTS, MOST_ANSWERS, MOST_EFFECTS = 10, 2_000, 256
Answer = tuple[int, list[tuple[str, str]], bytes]
"""(status, headers, content) of a response."""
# Cache of responses to GET, oldest first: (class and state of the site, address, cookies) -> response.
_ANSWERS: dict[tuple[Any, ...], Answer] = {}
# Cache of the effects of other requests, likewise: (class and state of the site, request, cookies) -> (state that the
# site is in then, response).
_EFFECTS: dict[tuple[Any, ...], tuple[Any, Answer]] = {}
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
        self._show(FormRequest("GET", self.origin + path), None)

    def follow(self, control: Control, path: str) -> None:
        self._show(FormRequest("GET", self.origin + path), target_frame(control.element))

    def send(self, request: FormRequest, form: Any, button: Control | None, key: Control | None) -> None:
        self._show(request, None if form is None else target_frame(form))

    def fetch(self, path: str) -> tuple[int, str]:
        _, status, text, _ = self._fetch(FormRequest("GET", self.origin + path))
        return status, text

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
        edited = [controls[number - 1] for number in sorted(self.edits)]
        # A document has no values of fields for files, and a script does not see the fields of other frames.
        frames = (
            {frame_of(one) for one in self.page.root.xpath("//*[@data-left]")}
            if control is None
            else {frame_of(control.element)}
        )
        seen = [one for one in edited if one.role != "file" and frame_of(one.element) in frames]
        values = tuple((one.place, self.edits[one.number]) for one in seen)
        chosen = {one.place: self.edits[one.number] for one in edited if one not in seen}
        place = -1 if control is None else control.place
        self.page = parse_page(run_event(self.page.html, event, place, values))
        self.edits = {one.number: chosen[one.place] for one in self.page.controls if one.place in chosen}

    def reset(self, button: Control, controls: list[Control]) -> None:
        for control in controls:
            self.edits.pop(control.number, None)

    def cookies(self) -> tuple[tuple[str, str], ...]:
        return tuple(sorted(self._jar.items()))

    def restore(self, tab: Tab) -> None:
        self.page, self.path, self.edits, self.sent = parse_page(tab.html), tab.path, dict(tab.edits), tab.sent
        self.set_surroundings(tab)
        self._jar = dict(tab.cookies)

    def _show(self, request: FormRequest, frame: Any) -> None:
        """Send a request, and show the answer in place of the page, or in a frame of it."""
        path, html, method = self._fetch_page(request)
        if frame is None:
            self.path, self.sent, self.edits = path, method == "POST", {}
            self.page = parse_page(fill_frames(html, path, self._fetch_frame) if "<iframe" in html.lower() else html)
            return
        place = [*self.page.root.iter(FRAME)].index(frame)
        page = parse_page(replace_frame(self.page.html, place, path, html, self._fetch_frame))
        new = [*page.root.iter(FRAME)][place]
        # Controls out of the frame keep their values.
        kept = [one for one in self.page.controls if frame not in one.element.iterancestors(FRAME)]
        there = [one for one in page.controls if new not in one.element.iterancestors(FRAME)]
        pairs = zip(kept, there, strict=True)
        self.edits = {now.number: self.edits[old.number] for old, now in pairs if old.number in self.edits}
        self.page = page

    def _fetch_frame(self, address: str, base: str) -> tuple[str, str] | None:
        """Return (path, document) of the page that a frame on the page at the path ``base`` shows; None if the address
        is no page of this site."""
        path = self.path_of(address, base=base) if address else None
        if path is None:
            return None
        return self._fetch_page(FormRequest("GET", self.origin + path))[:2]

    def _fetch_page(self, request: FormRequest) -> tuple[str, str, str]:
        """Return (path, document, method of the last request) of the answer to a request."""
        request, _, text, is_plain = self._fetch(request)
        # As browsers show a plain text.
        html = f"<pre>{escape(text, quote=False)}</pre>" if is_plain else text
        return request.url.removeprefix(self.origin), html, request.method

    def _fetch(self, request: FormRequest) -> tuple[FormRequest, int, str, bool]:
        """Send a request, and follow redirects as browsers do: with GET, except for 307 and 308. Return the last
        request, and status and text of the answer to it, with True if it is plain text."""
        for _ in range(MOST_REDIRECTS):
            status, headers, content = self._get(request) if request.method == "GET" else self._post(request)
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
            request = replace(request, url=url) if status in (307, 308) else FormRequest("GET", url)
        else:
            raise BrowserFailure(f"the site redirects more than {MOST_REDIRECTS} times")
        kind = next((value for name, value in headers if name.lower() == "content-type"), "")
        return request, status, content.decode("utf-8", "replace"), kind.startswith("text/plain")

    def _get(self, request: FormRequest) -> Answer:
        """Return the response to a GET request: the cached one for the same request in the same state of the site, or
        else the site's. The cache is shared by all browsers."""
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

    def _post(self, request: FormRequest) -> Answer:
        """Return the response to a request that may change the site. If another browser has sent the same request in
        the same state of the site, the site goes into the state that it led to: the same object, so that the pages that
        follow are shared, too."""
        key = type(self.site), self.site.state(), request, self.cookies()
        known = _EFFECTS.get(key)
        if known is None:
            answer = self._call(request)
            while len(_EFFECTS) >= MOST_EFFECTS:
                _EFFECTS.pop(next(iter(_EFFECTS)), None)
            _EFFECTS[key] = self.site.state(), answer
            return answer
        if known[0] is not key[1]:
            self.site.restore(known[0])
        return known[1]

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
            environ["CONTENT_TYPE"], environ["CONTENT_LENGTH"] = request.content_type, str(len(body))
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
