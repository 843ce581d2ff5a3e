"""Real browser: Chromium, driven by Playwright. Each `ChromiumBrowser` is a separate browser context of one Chromium.

Observations are written by the same code as for the in-process browser, from the live document and the live values of
its controls. An action waits only for its own effects. As each round trip to Chromium costs milliseconds, an action
takes one, and one more if it leads to another page.
"""

from __future__ import annotations

import importlib.util
import secrets
from collections.abc import Callable
from typing import Any

from ....errors import MissingExtra
from .accessibility import CONTROLS, FRAME, Control, Value
from .browser import Browser, BrowserFailure
from .chromium_engine import HEADER, POLICY, SECONDS, ChromiumEngine, engine, find_chromium
from .control_actions import target_frame
from .forms import FormRequest
from .layout import Box
from .observations import WINDOW
from .page_cache import parse_page
from .page_frames import split_frames
from .stored_files import StoredFile
from .tab import Tab

# Elements that may be controls, those within frames included, in the order of the document of `page_frames`.
_ALL = """(() => {
    const every = doc => [...doc.querySelectorAll('CONTROLS,iframe')].flatMap(e => e.tagName !== 'IFRAME' ? [e]
        : doc === document && e.contentDocument && e.contentDocument.body ? every(e.contentDocument) : []);
    return every(document);
})()""".replace("CONTROLS", ",".join(CONTROLS))
# The document, with those of its frames as their content.
_HTML = """'<!doctype html>' + (() => {
    const frames = [...document.querySelectorAll('iframe')], copy = document.documentElement;
    if (!frames.length) return copy.outerHTML;
    const whole = copy.cloneNode(true);
    const rename = e => {
        const shown = document.createElement('FRAME');
        for (const one of e.attributes) shown.setAttribute(one.name, one.value);
        e.replaceWith(shown);
        return shown;
    };
    whole.querySelectorAll('iframe').forEach((e, place) => {
        const inner = frames[place].contentDocument, shown = rename(e);
        if (!inner || !inner.body || inner.location.href === 'about:blank') return;
        shown.setAttribute('src', inner.location.pathname + inner.location.search);
        const part = inner.documentElement.cloneNode(true);
        part.querySelectorAll('iframe').forEach(rename);
        shown.append(...part.querySelector('head').childNodes, ...part.querySelector('body').childNodes);
    });
    return whole.outerHTML;
})()""".replace("FRAME", FRAME, 1)
_READ = f"""({{
    url: location.pathname + location.search,
    html: {_HTML},
    values: {_ALL}.map(e =>
        e.tagName === 'SELECT' ? [...e.options].flatMap((o, i) => o.selected ? [i] : [])
        : e.type === 'checkbox' || e.type === 'radio' ? e.checked
        : e.type === 'file' ? (e.files.length ? e.files[0].name : '') : e.value ?? ''),
    framed: document.querySelector('iframe') !== null,
}})"""
_CLICK = f"""place => {{
    const e = {_ALL}[place];
    e.scrollIntoView({{block: 'center', behavior: 'instant'}});
    e.focus();
    e.click();
    return {_READ};
}}"""
# Click on a control that leads to another page; the present page is not read again.
_FOLLOW = f"place => {_ALL}[place].click()"
_FOCUS = f"place => {_ALL}[place].focus()"
_FIND = f"place => {_ALL}[place]"
# Index of the frame that an element is in.
_FRAME = f"""place => {{
    const inner = {_ALL}[place].ownerDocument;
    return [...document.querySelectorAll('iframe')].findIndex(frame => frame.contentDocument === inner);
}}"""
# The text at an address, without leaving the page.
_FETCH = """async path => {
    const answer = await fetch(path, {cache: 'no-store'});
    return [answer.status, await answer.text()];
}"""
# The end of an action, after which toasts vanish.
_TICK = f"() => {{ document.dispatchEvent(new Event('tick')); return {_READ}; }}"
# Set values as a user would: each control fires its input and change events.
_WRITE = f"""values => {{
    const all = {_ALL};
    for (const [place, value] of values) {{
        const e = all[place];
        e.focus();
        if (e.tagName === 'SELECT') [...e.options].forEach((o, i) => o.selected = value.includes(i));
        else if (typeof value === 'boolean') e.checked = value;
        else e.value = value;
        e.dispatchEvent(new Event('input', {{bubbles: true}}));
        e.dispatchEvent(new Event('change', {{bubbles: true}}));
    }}
    return {_READ};
}}"""

# Scroll to a control (-1: to the top), and return the box of each control.
_LAYOUT = f"""first => {{
    const all = {_ALL};
    if (first < 0) scrollTo({{top: 0, left: 0, behavior: 'instant'}});
    else all[first].scrollIntoView({{block: 'start', behavior: 'instant'}});
    return all.map(e => {{
        // Of a link that is broken into several lines, the first part.
        const box = e.getClientRects()[0] ?? e.getBoundingClientRect();
        const frame = e.ownerDocument.defaultView.frameElement, place = frame && frame.getBoundingClientRect();
        const left = frame ? place.x + frame.clientLeft : 0, top = frame ? place.y + frame.clientTop : 0;
        const x = box.x + box.width / 2, y = box.y + box.height / 2, inX = x + left, inY = y + top;
        const isIn = inX >= 0 && inY >= 0 && inX < innerWidth && inY < innerHeight;
        let hit = isIn ? document.elementFromPoint(inX, inY) : null;
        if (hit !== null && hit === frame) hit = e.ownerDocument.elementFromPoint(x, y);
        const seen = box.width > 0 && box.height > 0 && hit !== null && (e.contains(hit) || hit.contains(e));
        return [Math.round(box.x + left), Math.round(box.y + top), Math.round(box.width), Math.round(box.height), seen];
    }});
}}"""

# Index of the element that a click at a point reaches, also by its label; -1: none.
_HIT = f"""([x, y]) => {{
    let hit = document.elementFromPoint(x, y);
    if (hit && hit.tagName === 'IFRAME' && hit.contentDocument) {{
        const box = hit.getBoundingClientRect();
        hit = hit.contentDocument.elementFromPoint(x - box.x - hit.clientLeft, y - box.y - hit.clientTop);
    }}
    const label = hit && hit.closest('label');
    const e = hit && hit.closest('{",".join(CONTROLS)}') || label && label.control;
    return {_ALL}.indexOf(e);
}}"""

# What a drag between two points does: "" if it moves a card, "stays" if it leads nowhere else, or an error.
_DRAG = """([x, y, toX, toY]) => {
    const card = document.elementFromPoint(x, y)?.closest('[data-part~=card]');
    if (!card) return 'There is no card of a board at the first point.';
    const lane = document.elementFromPoint(toX, toY)?.closest('section');
    if (!lane?.querySelector('[data-part~=drop]')) return 'There is no lane of a board at the second point.';
    return lane.contains(card) ? 'stays' : '';
}"""


class ChromiumBrowser(Browser):
    """Browser context of Chromium; see the module."""

    has_pictures = has_boxes = True

    @classmethod
    def check(cls) -> None:
        if importlib.util.find_spec("playwright") is None:
            raise MissingExtra("The backend 'chromium'", "web")
        find_chromium()

    def __init__(self, site: Any, lines: int = WINDOW):
        super().__init__(site, lines)
        self._engine = engine()
        self.origin = self._engine.origin
        self._cookies: tuple[tuple[str, str], ...] = ()
        self._is_drawn = False
        self._secret = secrets.token_hex(16)
        self._engine.sites[self._secret] = _with_policy(site)
        self._tab: Any = self._call(self._engine.call, _open_tab, self._engine, self._secret)

    @staticmethod
    def _call(function: Callable[..., Any], *arguments: Any) -> Any:
        """Return ``function(*arguments)``, with any error turned into a `BrowserFailure`."""
        try:
            return function(*arguments)
        except Exception as error:
            message = str(error).strip().partition("\n")[0]
            raise BrowserFailure(f"Chromium fails: {type(error).__name__}: {message[:200]}") from error

    def _do(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Run ``function`` in Chromium's thread, and update page, path, edits and cookies.

        ``function`` must return the result of `_READ`, or, after a navigation, True if the new page is the response to
        a POST and False otherwise.
        """

        def do() -> Any:
            found = function(*arguments)
            if isinstance(found, dict):
                return None, self._cookies, found
            if self._secret in self._engine.cookies_set:
                self._engine.cookies_set.discard(self._secret)
                cookies = sorted((one["name"], one["value"]) for one in self._tab.context.cookies())
            else:
                cookies = self._cookies
            seen = self._tab.evaluate(_READ)
            if seen["framed"]:
                # Frames may come later than the document.
                self._tab.wait_for_load_state("load")
                seen = self._tab.evaluate(_READ)
            return found, tuple(cookies), seen

        sent, self._cookies, seen = self._call(self._engine.call, do)
        self.page, self.path = parse_page(seen["html"]), seen["url"]
        values = [tuple(value) if isinstance(value, list) else value for value in seen["values"]]
        present = ((control, values[control.place]) for control in self.page.controls)
        self.edits = {
            control.number: value
            for control, value in present
            if control.role not in ("link", "button", "unsupported") and value != control.default()
        }
        if sent is not None:
            self.sent = sent

    def _goto(self, path: str) -> bool:
        self._tab.goto(self.origin + path, wait_until="domcontentloaded")
        return False

    def _navigate(self, control: Control, key: str, frame: Any) -> bool:
        """Click on a control, or press ``key`` in the control if given, and wait for the page that this leads to, in
        ``frame`` if given. Return True if the page of the tab is the response to a POST."""
        where = self._tab
        if frame is not None:
            number = self._tab.evaluate(_FRAME, control.place)
            where = self._tab.query_selector_all("iframe")[number].content_frame()
        with where.expect_navigation(wait_until="domcontentloaded") as navigation:
            if key:
                self._tab.evaluate(_FOCUS, control.place)
                self._tab.keyboard.press(key)
            else:
                self._tab.evaluate(_FOLLOW, control.place)
        response = navigation.value
        if frame is not None:
            return self.sent
        return response is not None and response.request.method == "POST"

    def load(self, path: str) -> None:
        self._do(self._goto, path)

    def follow(self, control: Control, path: str) -> None:
        self._do(self._navigate, control, "", target_frame(control.element))

    def send(self, request: FormRequest, form: Any, button: Control | None, key: Control | None) -> None:
        if key is not None:
            self._do(self._navigate, key, "Enter", target_frame(form))
        elif button is not None:
            self._do(self._navigate, button, "", target_frame(form))

    def fetch(self, path: str) -> tuple[int, str]:
        status, text = self._call(self._engine.call, self._tab.evaluate, _FETCH, path)
        return status, text

    def change(self, control: Control, value: Value) -> None:
        if control.role == "file":
            self._do(self._choose, control, next(one for one in self.files if one.name == value))
        elif isinstance(value, bool):
            self._do(self._tab.evaluate, _CLICK, control.place)
        else:
            self._do(self._tab.evaluate, _WRITE, [(control.place, value)])

    def _choose(self, control: Control, file: StoredFile) -> Any:
        """Put a file into a field. Its content goes to Chromium from memory; no file of the machine is read."""
        content = {"name": file.name, "mimeType": "text/plain", "buffer": file.text.encode()}
        self._tab.evaluate_handle(_FIND, control.place).as_element().set_input_files([content])
        return self._tab.evaluate(_READ)

    def operate(self, control: Control | None, event: str) -> None:
        if control is None:
            self._do(self._tab.evaluate, _TICK)
        elif event == "click":
            self._do(self._tab.evaluate, _CLICK, control.place)
        else:
            self._do(self._press, control, event)

    def _press(self, control: Control, key: str) -> Any:
        self._tab.evaluate(_FOCUS, control.place)
        self._tab.keyboard.press(key)
        return self._tab.evaluate(_READ)

    def reset(self, button: Control, controls: list[Control]) -> None:
        self._do(self._tab.evaluate, _CLICK, button.place)

    def cookies(self) -> tuple[tuple[str, str], ...]:
        return self._cookies

    def clear_cookies(self) -> None:
        if self._cookies:
            self._call(self._engine.call, self._tab.context.clear_cookies)
        self._cookies = ()

    def restore(self, tab: Tab) -> None:
        def restore() -> bool:
            context = self._tab.context
            context.clear_cookies()
            if tab.cookies:
                context.add_cookies([{"name": name, "value": value, "url": self.origin} for name, value in tab.cookies])
            replays = split_frames(tab.html) if f"<{FRAME}" in tab.html else {"": tab.html}
            is_framed = len(replays) > 1  # the server takes out what it has sent
            self._engine.replays[self._secret] = replays
            self._goto(tab.path)
            if is_framed:
                self._tab.wait_for_load_state("load")
            controls = parse_page(tab.html).controls
            edited = [(controls[number - 1], value) for number, value in tab.edits]
            if values := [(one.place, value) for one, value in edited if one.role != "file"]:
                self._tab.evaluate(_WRITE, values)
            for one, value in edited:
                if one.role == "file":
                    self._choose(one, next(file for file in tab.files if file.name == value))
            self._engine.cookies_set.add(self._secret)
            return tab.sent

        self._do(restore)
        self.set_surroundings(tab)

    def picture(self) -> Any:
        import io

        import numpy as np
        from PIL import Image

        def take() -> bytes:
            if not self._is_drawn:
                _set_window(self._tab, "normal")
                self._is_drawn = True
            self._measure()
            return self._tab.screenshot()

        data = self._call(self._engine.call, take)
        return np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))

    def boxes(self) -> tuple[Box, ...]:
        found = self._call(self._engine.call, self._measure)
        return tuple(Box(*found[control.place]) for control in self.page.controls)

    def control_at(self, x: float, y: float) -> Control | None:
        def find() -> int:
            self._measure()
            return self._tab.evaluate(_HIT, [x, y])

        place = self._call(self._engine.call, find)
        return next((control for control in self.page.controls if control.place == place), None)

    def drag(self, x: float, y: float, to_x: float, to_y: float) -> str | None:
        def move() -> Any:
            self._measure()
            if outcome := self._tab.evaluate(_DRAG, [x, y, to_x, to_y]):
                return outcome
            mouse = self._tab.mouse
            mouse.move(x, y)
            mouse.down()
            mouse.move(to_x, to_y, steps=4)
            mouse.up()
            return ""

        outcome = self._call(self._engine.call, move)
        if outcome:
            return None if outcome == "stays" else outcome
        self._do(self._tab.evaluate, f"() => {_READ}")
        self.focused, self.selected = 0, False
        return None

    def _measure(self) -> list[Any]:
        """Scroll to the first control among the lines shown, and return the boxes of all elements that may be controls.
        So the viewport depends on nothing but the state."""
        lines = self.page.lines[self.scrolled :] if self.scrolled else ()
        first = next((line.control.place for line in lines if line.control is not None), -1)
        self._tab.wait_for_load_state("load")  # with the style sheet
        return self._tab.evaluate(_LAYOUT, first)

    def close(self) -> None:
        closing = self.start_closing()
        if closing is not None:
            self._call(closing.result)

    def start_closing(self) -> Any:
        if self._engine.sites.pop(self._secret, None) is None:
            return None
        self._engine.replays.pop(self._secret, None)
        self._engine.cookies_set.discard(self._secret)
        return self._engine.post(self._tab.context.close)


def _with_policy(site: Any) -> Any:
    """Return an application that answers as ``site`` does, with the headers `POLICY`."""

    def serve(environ: Any, start_response: Any) -> Any:
        def start(status: str, headers: Any, *rest: Any) -> Any:
            return start_response(status, [*headers, *POLICY.items()], *rest)

        return site(environ, start)

    return serve


def _open_tab(running: ChromiumEngine, secret: str) -> Any:
    context = running.chromium.new_context(
        viewport={"width": 1024, "height": 768},
        extra_http_headers={HEADER: secret},
        accept_downloads=False,
    )
    context.set_default_timeout(SECONDS * 1e3)
    tab = context.new_page()
    _set_window(tab, "minimized")
    return tab


def _set_window(tab: Any, state: str) -> None:
    """Set the state of a tab's window, "normal" or "minimized". A minimized window is not drawn, which is a third of
    the browser's work, and has no screenshots."""
    session = tab.context.new_cdp_session(tab)
    window = session.send("Browser.getWindowForTarget")["windowId"]
    session.send("Browser.setWindowBounds", {"windowId": window, "bounds": {"windowState": state}})
    session.detach()
