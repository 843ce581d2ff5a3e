"""Browser on sites that run somewhere else: any page, with its scripts, in Chromium.

`Browser` and its subclasses know the sites and their pages, and predict what an action does. Here nothing is known of a
page: ``live_page.js`` writes it as a document, which the same code describes, and each action is an input of Playwright
on the real element, followed by a pause in which the page may change. There are no snapshots. Only named hosts can be
reached.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from .accessibility import Page, frame_of
from .browser import MOST_TABS, BrowserFailure
from .chromium_engine import SECONDS, engine
from .commands import Command
from .forms import find_option
from .observations import WINDOW

# Seconds until an action on a control that cannot be used is given up, and pixels of a turn of the wheel.
_PATIENCE, _WHEEL = 5.0, 600
_FOUND = "data-palaestra-found"
_VIEWPORT = {"width": 1280, "height": 720}


@functools.cache
def _script() -> str:
    text = Path(__file__).with_name("live_page.js").read_text(encoding="utf-8")
    return text[text.index("() =>") :]


class LiveBrowser:
    """Browser context of Chromium on running sites; see the module.

    Args:
        hosts: names of the hosts that can be reached.
        lines: lines of a page shown at once.
        settle: seconds that a page has after each action.

    Attributes:
        page: the document of the active tab.
        url: its address.
        titles: titles of all tabs.
        place: index of the active tab.
        scrolled: index of the first line shown.
    """

    def __init__(self, hosts: frozenset[str], lines: int = WINDOW, settle: float = 0.5):
        self.lines, self.settle = lines, settle
        self._engine = engine(hosts)
        self._context: Any = None
        self._tabs: list[Any] = []
        self._seen: Any = None
        self._start = ""
        self.page, self.url, self.titles, self.place, self.scrolled = Page(""), "", (), 0, 0

    def _call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Return ``function(*arguments)``, run in Chromium's thread, with any error turned into a `BrowserFailure`."""
        try:
            return self._engine.call(function, *arguments)
        except Exception as error:
            message = str(error).strip().partition("\n")[0]
            raise BrowserFailure(f"Chromium fails: {type(error).__name__}: {message[:200]}") from error

    def open(self, start: Sequence[str], login: str = "") -> None:
        """Open addresses, each in a tab of a new context, the first one in front.

        Args:
            start: the addresses.
            login: path of a file with cookies and storage, as Playwright's ``storage_state`` writes it; "": none.
        """
        self.close()

        def begin() -> None:
            stored = {"storage_state": login} if login else {}
            self._context = self._engine.chromium.new_context(viewport=_VIEWPORT, accept_downloads=False, **stored)
            self._context.set_default_timeout(SECONDS * 1e3)
            for url in start:
                self._context.new_page().goto(url, wait_until="domcontentloaded")

        self._start, self.place = start[0], 0
        self._call(begin)
        self._tabs = list(self._context.pages)
        time.sleep(self.settle)
        self._call(self._read)

    def close(self) -> None:
        context, self._context, self._tabs, self._seen = self._context, None, [], None
        if context is not None and not self._engine.is_lost:
            self._call(context.close)

    def start_closing(self) -> None:
        """Close the context without waiting for it."""
        if self._context is not None:
            self._engine.post(self._context.close)

    @property
    def _tab(self) -> Any:
        return self._tabs[self.place]

    def _read(self) -> None:
        """Read the active tab: a new one, if the page has opened one, or the last one, if it was closed."""
        active, known = self._tab, self._tabs
        self._tabs = list(self._context.pages)
        if new := [one for one in self._tabs if one not in known]:
            active = new[-1]
        self.place = self._tabs.index(active) if active in self._tabs else len(self._tabs) - 1
        for attempt in range(3):
            try:
                self._tab.wait_for_load_state("domcontentloaded")
                self._seen = self._tab.evaluate_handle(_script())
                html, url = self._seen.evaluate("seen => [seen.html, seen.url]")
                break
            except Exception:
                # The page may just be left.
                if attempt == 2 or self._tab.is_closed():
                    raise
                self._tab.wait_for_timeout(300)
        self.scrolled = 0 if url != self.url else self.scrolled
        self.page, self.url = Page(html), url
        self.titles = tuple(one.title() for one in self._tabs)
        if self.scrolled >= len(self.page.lines):
            self.scrolled = 0

    def perform(self, command: Command) -> str | None:
        """Carry out an action. Return None, or one sentence that says why it is impossible.

        Raises:
            BrowserFailure: the browser failed.
        """
        if command.number > len(self.page.controls):
            return f"There is no control [{command.number}] here; ids go from 1 to {len(self.page.controls)}."
        if command.verb == "scroll":
            return self._scroll(command.text)
        error = self._call(self._act, command)
        time.sleep(self.settle)
        self._call(self._read)  # also after an error: an address that was not found leaves the page, too
        return error

    def _scroll(self, direction: str) -> str | None:
        """Show other lines; at the end of the page also turn the wheel, which makes some pages longer."""
        step = 2 * self.lines // 3
        place = max(0, self.scrolled + (step if direction == "down" else -step))
        if place >= len(self.page.lines):
            self._call(lambda: self._tab.mouse.wheel(0, 100 * _WHEEL))
            time.sleep(self.settle)
            self._call(self._read)
        if place >= len(self.page.lines) or place == self.scrolled:
            return f"The page does not go on {'below' if direction == 'down' else 'above'}."
        self.scrolled = place
        return None

    def _act(self, command: Command) -> str | None:
        from playwright.sync_api import Error

        try:
            return self._use_control(command) if command.number else self._use_tab(command)
        except Error as error:
            if self._engine.is_lost:
                raise
            message = str(error).strip().partition("\n")[0]
            return f"{command.verb} was not possible: {message[:200]}"

    def _element(self, number: int) -> Any:
        control = self.page.controls[number - 1].element
        found = self._seen.evaluate_handle("(seen, place) => seen.elements[place]", int(control.get("data-live")))
        element = found.as_element()
        if frame_of(control) is None:
            return element
        # An element of a frame can be clicked only by a handle that was made there.
        frame = element.owner_frame()
        element.evaluate(f"element => element.setAttribute('{_FOUND}', '')")
        here = frame.query_selector(f"[{_FOUND}]")
        here.evaluate(f"element => element.removeAttribute('{_FOUND}')")
        return here

    def _use_control(self, command: Command) -> str | None:
        control, text, wait = self.page.controls[command.number - 1], command.text, {"timeout": _PATIENCE * 1e3}
        element = self._element(command.number)
        match command.verb:
            case "click" if control.role == "link" and control.element.get("target") == "_blank":
                # The new tab may come later than the pause after an action.
                with self._context.expect_page(**wait):
                    element.click(**wait)
            case "click" | "dblclick" | "check" | "uncheck" | "hover":
                getattr(element, command.verb)(**wait)
            case "focus":
                element.focus()
            case "fill":
                element.fill(text, **wait)
            case "press":
                element.press(text, **wait)
            case "select":
                place = find_option(control, text) if control.role in ("combobox", "listbox") else None
                if place is None:
                    return f"Control [{control.number}] has no such option; click it, or choose one that is shown."
                element.select_option(index=place, **wait)
            case "drag":
                target = int(text.strip("[]"))
                if not 1 <= target <= len(self.page.controls):
                    return f"There is no control [{target}] here."
                self._drag(_centre(element), _centre(self._element(target)))
            case _:
                return f"{command.verb} is not possible on a site of others."
        return None

    def _use_tab(self, command: Command) -> str | None:
        tab, text, mouse = self._tab, command.text, self._tab.mouse
        match command.verb:
            case "goto":
                tab.goto(tab.evaluate("path => new URL(path, location.href).href", text), wait_until="domcontentloaded")
            case "back" | "forward":
                if (tab.go_back if command.verb == "back" else tab.go_forward)(wait_until="domcontentloaded") is None:
                    return f"There is no page to go {command.verb} to."
            case "key":
                tab.keyboard.press(text)
            case "write":
                tab.keyboard.type(text)
            case "click_at":
                mouse.click(*map(float, text.split()))
            case "dblclick_at":
                mouse.dblclick(*map(float, text.split()))
            case "drag_at":
                x, y, to_x, to_y = map(float, text.split())
                self._drag((x, y), (to_x, to_y))
            case "new_tab":
                if len(self._tabs) >= MOST_TABS:
                    return f"{len(self._tabs)} tabs are open, and no more can be; close one."
                self._context.new_page().goto(self._start, wait_until="domcontentloaded")
            case "tab":
                if not 0 <= int(text) < len(self._tabs):
                    return f"There is no tab {text}; the tabs go from 0 to {len(self._tabs) - 1}."
                self.place = int(text)
            case "close_tab":
                if len(self._tabs) == 1:
                    return "This is the only tab, which cannot be closed."
                tab.close()
            case "wait":
                pass
            case _:
                return f"{command.verb} is not possible on a site of others."
        return None

    def _drag(self, start: tuple[float, float], end: tuple[float, float]) -> None:
        mouse = self._tab.mouse
        mouse.move(*start)
        mouse.down()
        mouse.move(*end, steps=5)
        mouse.up()

    def read_content(self, url: str, locator: str, prepare: Sequence[str] = ()) -> str:
        """Return part of a page as text.

        Args:
            url: the address, which is loaded in a tab of its own; "": the active tab.
            locator: a JavaScript expression for the part; "": the document's HTML. If it fails, the part is "".
            prepare: JavaScript statements that come first, and may fail.

        Raises:
            BrowserFailure: the page cannot be loaded.
        """
        if url:
            tab = self._call(self._context.new_page)
            self._call(lambda: tab.goto(url, wait_until="load"))
            time.sleep(self.settle)
        else:
            tab = self._tab

        def read() -> str:
            from playwright.sync_api import Error

            if not locator:
                return tab.content()
            try:
                for statement in prepare:
                    tab.evaluate(f"() => {{ {statement} }}")
            except Error:
                pass
            try:
                found = tab.evaluate(f"() => {locator}")
            except Error:
                return ""
            return found if isinstance(found, str) else "" if found is None else str(found)

        try:
            return self._call(read)
        finally:
            if url:
                self._call(tab.close)

    def picture(self) -> Any:
        """Return a screenshot of the viewport, uint8[height, width, 3]."""
        import io

        import numpy as np
        from PIL import Image

        return np.asarray(Image.open(io.BytesIO(self._call(self._tab.screenshot))).convert("RGB"))


def _centre(element: Any) -> tuple[float, float]:
    element.scroll_into_view_if_needed()
    box = element.bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
