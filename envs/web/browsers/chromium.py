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
from .accessibility import FRAME, Control, Value
from .browser import Browser, BrowserFailure
from .chromium_engine import HEADER, POLICY, SECONDS, ChromiumEngine, engine, find_chromium
from .chromium_scripts import CLICK, DRAG, FETCH, FIND, FIND_FRAME, FOCUS, FOLLOW, HIT, LAYOUT, READ, TICK, WRITE
from .control_actions import target_frame
from .forms import FormRequest
from .layout import Box
from .observations import WINDOW
from .page_cache import parse_page
from .page_frames import split_frames
from .stored_files import StoredFile
from .tab import Tab


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

        ``function`` must return the result of `READ`, or, after a navigation, True if the new page is the response to
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
            seen = self._tab.evaluate(READ)
            if seen["framed"]:
                # Frames may come later than the document.
                self._tab.wait_for_load_state("load")
                seen = self._tab.evaluate(READ)
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
            number = [*self.page.root.iter(FRAME)].index(frame)
            where = self._tab.evaluate_handle(FIND_FRAME, number).as_element().content_frame()
        with where.expect_navigation(wait_until="domcontentloaded") as navigation:
            if key:
                self._tab.evaluate(FOCUS, control.place)
                self._tab.keyboard.press(key)
            else:
                self._tab.evaluate(FOLLOW, control.place)
        response = navigation.value
        if frame is not None:
            where.wait_for_load_state("load")  # with the frames in it
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
        status, text = self._call(self._engine.call, self._tab.evaluate, FETCH, path)
        return status, text

    def change(self, control: Control, value: Value) -> None:
        if control.role == "file":
            self._do(self._choose, control, next(one for one in self.files if one.name == value))
        elif isinstance(value, bool):
            self._do(self._tab.evaluate, CLICK, control.place)
        else:
            self._do(self._tab.evaluate, WRITE, [(control.place, value)])

    def _choose(self, control: Control, file: StoredFile) -> Any:
        """Put a file into a field. Its content goes to Chromium from memory; no file of the machine is read."""
        content = {"name": file.name, "mimeType": "text/plain", "buffer": file.text.encode()}
        self._tab.evaluate_handle(FIND, control.place).as_element().set_input_files([content])
        return self._tab.evaluate(READ)

    def operate(self, control: Control | None, event: str) -> None:
        if control is None:
            self._do(self._tab.evaluate, TICK)
        elif event == "click":
            self._do(self._tab.evaluate, CLICK, control.place)
        else:
            self._do(self._press, control, event)

    def _press(self, control: Control, key: str) -> Any:
        self._tab.evaluate(FOCUS, control.place)
        self._tab.keyboard.press(key)
        return self._tab.evaluate(READ)

    def reset(self, button: Control, controls: list[Control]) -> None:
        self._do(self._tab.evaluate, CLICK, button.place)

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
                self._tab.evaluate(WRITE, values)
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
            return self._tab.evaluate(HIT, [x, y])

        place = self._call(self._engine.call, find)
        return next((control for control in self.page.controls if control.place == place), None)

    def drag(self, x: float, y: float, to_x: float, to_y: float) -> str | None:
        def move() -> Any:
            self._measure()
            if outcome := self._tab.evaluate(DRAG, [x, y, to_x, to_y]):
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
        self._do(self._tab.evaluate, f"() => {READ}")
        self.focused, self.selected = 0, False
        return None

    def _measure(self) -> list[Any]:
        """Scroll to the first control among the lines shown, and return the boxes of all elements that may be controls.
        So the viewport depends on nothing but the state."""
        lines = self.page.lines[self.scrolled :] if self.scrolled else ()
        first = next((line.control.place for line in lines if line.control is not None), -1)
        self._tab.wait_for_load_state("load")  # with the style sheet
        return self._tab.evaluate(LAYOUT, first)

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
