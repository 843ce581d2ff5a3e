"""`Browser`: base of browsers on one site, and the registry `BROWSERS`.

`Browser.perform` checks an action against the page, refuses impossible ones (an unknown id, a disabled control, an
address on another site) and calls the methods that a subclass implements: `load`, `send` and `change`. So all browsers
accept the same actions and differ only in how they carry them out. `Browser.tab` takes a snapshot and `Browser.restore`
restores it; the state of the site is not part of a snapshot. Of several tabs, one is active; others are snapshots.
Pages in frames are part of the page, as `page_frames` says; `back` passes over pages that were left within a frame.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar
from urllib.parse import unquote

from ....errors import shorten
from ....registry import Registry
from .accessibility import Control, Page, Value, frame_of
from .commands import Command
from .control_actions import ACTIONS, target_frame
from .forms import FormRequest, resolve
from .keyboard import press_key, type_text
from .layout import Box
from .observations import WINDOW
from .stored_files import StoredFile, add_file, find_file
from .tab import Tab

# Maximum number of pages that `back` can return to, and of open tabs.
MOST_HISTORY, MOST_TABS = 50, 8


class BrowserFailure(RuntimeError):
    """Failure of the browser or the site that the agent did not cause."""


@dataclass(eq=False, repr=False)
class Browser:
    """Base of browsers. A subclass implements `load`, `send`, `change` and, if it holds resources, `close`.

    Args:
        site: a WSGI application, a `WebSite`.
        lines: lines of a page shown at once; a scroll moves by two thirds of them.
    """

    site: Any
    lines: int = WINDOW
    page: Page = field(init=False)
    path: str = field(init=False, default="/")
    edits: dict[int, Value] = field(init=False, default_factory=dict)
    scrolled: int = field(init=False, default=0)
    sent: bool = field(init=False, default=False)
    history: list[tuple[str, bool]] = field(init=False, default_factory=list)
    future: list[tuple[str, bool]] = field(init=False, default_factory=list)
    focused: int = field(init=False, default=0)
    selected: bool = field(init=False, default=False)
    others: tuple[Tab, ...] = field(init=False, default=())
    place: int = field(init=False, default=0)
    name: str = field(init=False, default="")
    files: tuple[StoredFile, ...] = field(init=False, default=())
    opened: str = field(init=False, default="")
    # The address of the site without a path, and whether `picture` and `boxes` are implemented.
    origin = "http://site.invalid"
    has_pictures: ClassVar[bool] = False
    has_boxes: ClassVar[bool] = False

    @classmethod
    def check(cls) -> None:
        """Raise InputError or MissingExtra if the browser cannot be started."""

    # Implemented by subclasses. Methods that change the page must update `page`, `path`, `edits` and `sent`.

    def load(self, path: str) -> None:
        """Load the page at a path."""
        raise NotImplementedError

    def send(self, request: FormRequest, form: Any, button: Control | None, key: Control | None) -> None:
        """Send a form by a click on ``button``, or by pressing Enter in the control ``key`` if that is given.
        ``request`` is the request that results."""
        raise NotImplementedError

    def follow(self, control: Control, path: str) -> None:
        """Follow the link ``control``, which leads to ``path``, in its frame or in the tab."""
        raise NotImplementedError

    def fetch(self, path: str) -> tuple[int, str]:
        """Return status and text of the answer to a request for ``path``, without leaving the page."""
        raise NotImplementedError

    def change(self, control: Control, value: Value) -> None:
        """Set the value of a control. For a radio button, clear the other buttons of its group; a field for files takes
        the name of one of ``files``."""
        raise NotImplementedError

    def operate(self, control: Control | None, event: str) -> None:
        """Apply an event of `widgets` to a control; without a control, the event "tick"."""
        raise NotImplementedError

    def reset(self, button: Control, controls: list[Control]) -> None:
        """Set all ``controls`` of a form back to their values in the document, by a click on its reset ``button``."""
        raise NotImplementedError

    def cookies(self) -> tuple[tuple[str, str], ...]:
        """Return the cookies of the site, as (name, value)."""
        raise NotImplementedError

    def restore(self, tab: Tab) -> None:
        """Restore a snapshot that `tab` returned."""
        raise NotImplementedError

    def clear_cookies(self) -> None:
        """Delete all cookies."""
        raise NotImplementedError

    def picture(self) -> Any:
        """Return a screenshot of the viewport, uint8[height, width, 3]."""
        raise NotImplementedError

    def boxes(self) -> tuple[Box, ...]:
        """Return the box of each control of the page, with the viewport at the first line shown."""
        raise NotImplementedError

    def control_at(self, x: float, y: float) -> Control | None:
        """Return the control that a click at a point of the viewport, in pixels, would reach."""
        raise NotImplementedError

    def drag(self, x: float, y: float, to_x: float, to_y: float) -> str | None:
        """Drag the card of a board at a point of the viewport to another point, in pixels. Return an error or None."""
        raise NotImplementedError

    def close(self) -> None:
        """Release the browser's resources."""

    def start_closing(self) -> Any:
        """Start `close` without waiting for its end; called when the environment is garbage-collected."""

    # Common to all browsers.

    def open(self, path: str = "/") -> None:
        """Open a page in a new tab, and close all others."""
        self.history, self.future, self.others, self.place, self.name = [], [], (), 0, ""
        self.leave(lambda: self.load(path), keep=False)

    def tab(self) -> Tab:
        """Return a snapshot."""
        around = {"others": self.others, "place": self.place, "files": self.files, "opened": self.opened}
        return replace(self._active_tab(), cookies=self.cookies(), **around)

    def _active_tab(self) -> Tab:
        edits, past, future = tuple(sorted(self.edits.items())), tuple(self.history), tuple(self.future)
        html, focused = self.page.html, self.focused
        return Tab(
            *(self.path, html, edits, self.scrolled, self.sent, past, (), future, focused, self.selected),
            name=self.name,
        )

    def set_surroundings(self, tab: Tab) -> None:
        """Set what a snapshot holds beside page, values and cookies; part of `restore`."""
        self.scrolled, self.history, self.future = tab.scrolled, list(tab.history), list(tab.future)
        self.focused, self.selected, self.others, self.place = tab.focused, tab.selected, tab.others, tab.place
        self.files, self.opened, self.name = tab.files, tab.opened, tab.name

    def perform(self, command: Command) -> str | None:
        """Carry out an action. Return None, or one sentence that says why the action is impossible and so was not done.

        Raises:
            BrowserFailure: the browser or the site failed.
        """
        before, self.opened = self.opened, ""
        error = self.carry_out(command)
        if error:
            self.opened = before
        if error is None and self.page.has_toast:
            self.operate(None, "tick")
        if self.scrolled >= len(self.page.lines):
            self.scrolled = 0
        return error

    def carry_out(self, command: Command) -> str | None:
        """Do what `perform` does, but for what comes after an action: toasts that vanish."""
        match command.verb:
            case "scroll":
                return self._scroll(command.text)
            case "back":
                return self._go_through(self.history, self.future, "back")
            case "forward":
                return self._go_through(self.future, self.history, "forward")
            case "new_tab" | "tab" | "close_tab":
                return self._change_tab(command.verb, int(command.text or 0))
            case "key" | "write":
                control = self.page.controls[self.focused - 1] if self.focused else None
                return (type_text if command.verb == "write" else press_key)(self, control, command.text)
            case "click_at" | "dblclick_at" | "drag_at" | "upload_at":
                if not self.has_boxes:
                    instead = {"drag_at": "drag [ID] [ID]", "upload_at": 'upload [ID] "name"'}
                    other = instead.get(command.verb, "click [ID]")
                    return f"{command.verb} needs a page with a layout (backend='chromium'); use {other}."
                if command.verb == "drag_at":
                    return self.drag(*map(float, command.text.split()))
                x, y, *name = command.text.split(" ", 2)
                control = self.control_at(float(x), float(y))
                if control is None:
                    self.focused = 0
                    return "There is no field for files at this point." if name else None
                return self.carry_out(Command(command.verb.removesuffix("_at"), control.number, "".join(name)))
            case "open_file":
                found = find_file(self.files, command.text)
                if isinstance(found, str):
                    return found
                self.opened = found.name
                return None
            case "wait":
                return None
            case "goto":
                if re.match(r"[/\\]{2}|[a-z][a-z0-9+.-]*:", command.text.strip(), re.IGNORECASE):
                    return "goto takes a path of this site, such as /, and no address elsewhere."
                return self.visit(None, command.text)
        if not 1 <= command.number <= len(self.page.controls):
            return f"There is no control [{command.number}] here; ids go from 1 to {len(self.page.controls)}."
        control = self.page.controls[command.number - 1]
        if control.disabled:
            return f"Control [{control.number}] is disabled."
        if control.role == "unsupported":
            return f"Control [{control.number}] is a {control.kind}, which cannot be used here."
        before = self.focused, self.selected
        if command.verb != "hover":
            is_kept = self.selected and command.verb == "press" and self.focused == control.number
            self.focused, self.selected = control.number, is_kept
        error = ACTIONS[command.verb](self, control, command.text)
        if error:
            self.focused, self.selected = before
        return error

    def _scroll(self, direction: str) -> str | None:
        last = max(0, len(self.page.lines) - 1)
        place = self.scrolled + (1 if direction == "down" else -1) * (2 * self.lines // 3)
        if not 0 <= place <= last:
            place = 0 if place < 0 else self.scrolled
        if place == self.scrolled:
            return f"The page does not go on {'below' if direction == 'down' else 'above'}."
        self.scrolled = place
        return None

    def _go_through(self, pages: list[tuple[str, bool]], others: list[tuple[str, bool]], way: str) -> str | None:
        """Load the last page of ``pages``, and add the present one to ``others``."""
        if not pages:
            return f"There is no page to go {way} to."
        path, sent = pages[-1]
        if sent:
            return "The page there is the answer to a form, which would be sent again; use a link or goto."
        before = (self.path, self.sent)
        self.leave(lambda: self.load(path), keep=False)
        pages.pop()
        others.append(before)
        return None

    def _change_tab(self, verb: str, place: int) -> str | None:
        """Open a new tab at the start page, focus the tab with index ``place``, or close the active one."""
        if verb == "new_tab":
            return self.open_tab("/")
        tabs = [*self.others[: self.place], self._active_tab(), *self.others[self.place :]]
        if verb == "close_tab":
            if len(tabs) == 1:
                return "This is the only tab, which cannot be closed."
            del tabs[self.place]
            place = len(tabs) - 1
        elif place == self.place:
            return None
        if not 0 <= place < len(tabs):
            return f"There is no tab {place}; the tabs go from 0 to {len(tabs) - 1}."
        focused = tabs.pop(place)
        kept = {"cookies": self.cookies(), "files": self.files}
        self.restore(replace(focused, others=tuple(tabs), place=place, **kept))
        return None

    def open_tab(self, address: str, element: Any = None, name: str = "") -> str | None:
        """Open the page at an address, to which ``element`` leads if given, and go there: in the tab with this window
        name, if there is one, or else in a new tab, which gets the name. Return an error or None."""
        path = self.path_of(address, element)
        if path is None:
            return f"{shorten(address, 80)!r} is no page of this site."
        tabs = [*self.others[: self.place], self._active_tab(), *self.others[self.place :]]
        place = next((place for place, one in enumerate(tabs) if name and one.name == name), None)
        if place is not None:
            if place != self.place:
                self._change_tab("tab", place)
            self.leave(lambda: self.load(path))
            return None
        if len(tabs) >= MOST_TABS:
            return f"{len(tabs)} tabs are open, and no more can be; close one."
        self.open(path)
        self.others, self.place, self.name = tuple(tabs), len(tabs), name
        return None

    def download(self, path: str, name: str) -> str | None:
        """Keep what is at a path as a file, under ``name`` or, if that is "", the last part of the path. Return an
        error or None."""
        status, text = self.fetch(path)
        if status != 200:
            return f"The site has no file there; its answer has the status {status}."
        files = add_file(self.files, path, name, text)
        if isinstance(files, str):
            return files
        self.files = files
        return None

    def visit(self, control: Control | None, address: str) -> str | None:
        """Load the page at an address of the site, by following the link ``control`` if given. Return an error or
        None."""
        element = None if control is None else control.element
        path = self.path_of(address, element)
        if path is None:
            return f"{shorten(address, 80)!r} is no page of this site."
        if control is None:
            self.leave(lambda: self.load(path))
        else:
            self.leave(lambda: self.follow(control, path), frame=target_frame(element))
        return None

    def base_of(self, element: Any) -> str:
        """Return the path of the page that an element is on: that of its frame, or else of the tab."""
        frame = None if element is None else frame_of(element)
        return self.path if frame is None else frame.get("src")

    def path_of(self, address: str, element: Any = None, base: str = "") -> str | None:
        """Return path and query of an address, which may be relative to the page of ``element``, or at the path
        ``base``; None if the address is no page of this site."""
        try:
            url = resolve(self.origin + (base or self.base_of(element)), address)
        except ValueError:
            return None
        if not url.startswith(f"{self.origin}/"):
            return None
        path = url.removeprefix(self.origin)
        return None if unquote(path).startswith(ASSETS) else path

    def leave(self, go: Callable[[], None], keep: bool = True, frame: Any = None) -> None:
        """Leave the page, or that of a ``frame``, by calling ``go``. With ``keep``, add the page to the history if the
        address changes."""
        before = (self.path, self.sent)
        go()
        self.scrolled = 0 if frame is None else self.scrolled
        self.focused, self.selected = 0, False
        if keep:
            self.future = []
        if keep and self.path != before[0]:
            self.history = [*self.history[1 - MOST_HISTORY :], before]


# Paths that begin with this one are no pages, but style sheets and the like.
ASSETS = "/static/"

BROWSERS: Registry[type[Browser]] = Registry("backend", group="palaestra.browsers")
BROWSERS.add("inprocess", "palaestra.envs.web.browsers.in_process:InProcessBrowser")
BROWSERS.add("chromium", "palaestra.envs.web.browsers.chromium:ChromiumBrowser")
