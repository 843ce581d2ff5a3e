"""`Browser`: base of browsers on one site, and the registry `BROWSERS`.

`Browser.perform` checks an action against the page, refuses impossible ones (an unknown id, a disabled control, an
address on another site) and calls the methods that a subclass implements: `load`, `send` and `change`. So all browsers
accept the same actions and differ only in how they carry them out. `Browser.tab` takes a snapshot and `Browser.restore`
restores it; the state of the site is not part of a snapshot. Of several tabs, one is active; others are snapshots.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar
from urllib.parse import unquote

from ....errors import shorten
from ....registry import Registry
from .accessibility import Control, Page, Value
from .commands import Command
from .forms import FormRequest, controls_of, default_button, find_option, find_value, form_of, resolve, send_form
from .keyboard import press_key, type_text
from .layout import Box
from .observations import WINDOW, value_of
from .tab import Tab
from .widgets import find_effects

# Maximum number of pages that `back` can return to, and of open tabs.
MOST_HISTORY, MOST_TABS = 50, 8
# A valid floating-point number in HTML; browsers reject all other spellings.
_FLOAT = re.compile(r"-?(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")


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
        """Follow the link ``control``, which leads to ``path``."""
        self.load(path)

    def change(self, control: Control, value: Value) -> None:
        """Set the value of a control. For a radio button, clear the other buttons of its group."""
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

    def close(self) -> None:
        """Release the browser's resources."""

    def start_closing(self) -> Any:
        """Start `close` without waiting for its end; called when the environment is garbage-collected."""

    # Common to all browsers.

    def open(self, path: str = "/") -> None:
        """Open a page in a new tab, and close all others."""
        self.history, self.future, self.others, self.place = [], [], (), 0
        self._leave(lambda: self.load(path), keep=False)

    def tab(self) -> Tab:
        """Return a snapshot."""
        return replace(self._active_tab(), cookies=self.cookies(), others=self.others, place=self.place)

    def _active_tab(self) -> Tab:
        edits, past, future = tuple(sorted(self.edits.items())), tuple(self.history), tuple(self.future)
        html, focused = self.page.html, self.focused
        return Tab(self.path, html, edits, self.scrolled, self.sent, past, (), future, focused, self.selected)

    def set_surroundings(self, tab: Tab) -> None:
        """Set what a snapshot holds beside page, values and cookies; part of `restore`."""
        self.scrolled, self.history, self.future = tab.scrolled, list(tab.history), list(tab.future)
        self.focused, self.selected, self.others, self.place = tab.focused, tab.selected, tab.others, tab.place

    def perform(self, command: Command) -> str | None:
        """Carry out an action. Return None, or one sentence that says why the action is impossible and so was not done.

        Raises:
            BrowserFailure: the browser or the site failed.
        """
        error = self.carry_out(command)
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
            case "click_at" | "dblclick_at":
                if not self.has_boxes:
                    return f"{command.verb} needs a page with a layout (backend='chromium'); use click [ID]."
                control = self.control_at(*map(float, command.text.split()))
                if control is None:
                    self.focused = 0
                    return None
                return self.carry_out(Command(command.verb.removesuffix("_at"), control.number))
            case "wait":
                return None
            case "goto":
                if re.match(r"[/\\]{2}|[a-z][a-z0-9+.-]*:", command.text.strip(), re.IGNORECASE):
                    return "goto takes a path of this site, such as /, and no address elsewhere."
                return self._visit(None, command.text)
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
        error = _ACTIONS[command.verb](self, control, command.text)
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
        self._leave(lambda: self.load(path), keep=False)
        pages.pop()
        others.append(before)
        return None

    def _change_tab(self, verb: str, place: int) -> str | None:
        """Open a new tab at the start page, focus the tab with index ``place``, or close the active one."""
        tabs = [*self.others[: self.place], self._active_tab(), *self.others[self.place :]]
        if verb == "new_tab":
            if len(tabs) >= MOST_TABS:
                return f"{len(tabs)} tabs are open, and no more can be; close one."
            self.open()
            self.others, self.place = tuple(tabs), len(tabs)
            return None
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
        self.restore(replace(focused, cookies=self.cookies(), others=tuple(tabs), place=place))
        return None

    def _visit(self, control: Control | None, address: str) -> str | None:
        """Load the page at an address of the site, by following the link ``control`` if given. Return an error or
        None."""
        path = self.path_of(address)
        if path is None:
            return f"{shorten(address, 80)!r} is no page of this site."
        self._leave(lambda: self.load(path) if control is None else self.follow(control, path))
        return None

    def path_of(self, address: str) -> str | None:
        """Return path and query of an address, which may be relative to the present page; None if the address is no
        page of this site."""
        try:
            url = resolve(self.origin + self.path, address)
        except ValueError:
            return None
        if not url.startswith(f"{self.origin}/"):
            return None
        path = url.removeprefix(self.origin)
        return None if unquote(path).startswith(ASSETS) else path

    def _leave(self, go: Callable[[], None], keep: bool = True) -> None:
        """Leave the page by calling ``go``. With ``keep``, add the page to the history if the address changes."""
        before = (self.path, self.sent)
        go()
        self.scrolled, self.focused, self.selected = 0, 0, False
        if keep:
            self.future = []
        if keep and self.path != before[0]:
            self.history = [*self.history[1 - MOST_HISTORY :], before]

    # Actions on controls. Each method returns an error or None, as `perform` does.

    def _click(self, control: Control, _: str) -> str | None:
        element = control.element
        if element.get("target") not in (None, "", "_self") or element.get("download") is not None:
            return f"Control [{control.number}] opens a new window or a file, which cannot be done here."
        if control.role == "link":
            address = element.get("href")
            # A link to a part of the page.
            return None if address.strip().startswith("#") else self._visit(control, address)
        if control.role in ("checkbox", "radio"):
            value = value_of(control, self.edits)
            if control.role == "checkbox" or not value:
                self.change(control, not value)
            return None
        if control.role == "button":
            form = form_of(self.page, element)
            if control.kind == "button" and self.page.has_widgets and find_effects(element, "click"):
                self.operate(control, "click")
                return None
            if form is not None and control.kind in ("submit", "image"):
                return self._submit(form, control, None)
            if form is not None and control.kind == "reset":
                self.reset(control, controls_of(self.page, form))
        return None

    def _double_click(self, control: Control, _: str) -> str | None:
        """Click twice. Links and buttons lead away with the first click."""
        error = self._click(control, "")
        return self._click(control, "") if not error and control.role == "checkbox" else error

    def _tick(self, control: Control, _: str, ticked: bool) -> str | None:
        if control.role not in ("checkbox", "radio"):
            return f"Control [{control.number}] is a {control.role}, which cannot be checked; use click."
        if value_of(control, self.edits) is ticked:
            return None
        if control.role == "radio" and not ticked:
            return f"Control [{control.number}] is a radio button; check another one of its group."
        return self._click(control, "")

    def _submit(self, form: Any, button: Control | None, key: Control | None) -> str | None:
        if form.get("target") not in (None, "", "_self"):
            return "The form opens a new window, which cannot be done here."
        source = {} if button is None else button.element.attrib
        if form.get("novalidate") is None and source.get("formnovalidate") is None:
            wrong = next((one for one in controls_of(self.page, form) if not self._is_valid(one)), None)
            if wrong is not None:
                return f"Control [{wrong.number}] has no valid value, so that the form is not sent."
        try:
            request = send_form(self.page, form, button, self.edits, self.origin + self.path)
        except ValueError:
            return "The form has no address."
        if self.path_of(request.url) is None:
            return f"The form goes to {shorten(request.url, 80)!r}, which is no page of this site."
        self._leave(lambda: self.send(request, form, button, key))
        return None

    def _is_valid(self, control: Control) -> bool:
        """Return True if the value of a control satisfies the attributes ``required``, ``min`` and ``max``."""
        value, element = value_of(control, self.edits), control.element
        if element.get("required") is not None and not control.disabled and control.role not in ("radio", "button"):
            chosen = value if not isinstance(value, tuple) else any(find_value(control, place) for place in value)
            if not chosen:
                return False
        if control.kind == "number" and value:
            low, high = (float(element.get(name) or default) for name, default in (("min", "-inf"), ("max", "inf")))
            return low <= float(str(value)) <= high
        return True

    def _fill(self, control: Control, text: str) -> str | None:
        if control.role not in ("textbox", "searchbox", "spinbutton"):
            return f"Control [{control.number}] is a {control.role}, which takes no text; use click or select."
        if control.element.get("readonly") is not None:
            return f"Control [{control.number}] can be read only."
        if control.kind != "textarea":
            text = text.replace("\n", " ")
        if control.kind in ("email", "url", "number"):
            text = text.strip()
        if control.kind == "number" and text and not (_FLOAT.fullmatch(text) and math.isfinite(float(text))):
            return f"Control [{control.number}] takes a number."
        most = control.element.get("maxlength", "")
        self.change(control, text[: int(most)] if most.isdigit() else text)
        return None

    def _select(self, control: Control, text: str) -> str | None:
        if control.role not in ("combobox", "listbox"):
            return f"Control [{control.number}] is a {control.role} without options; use click or fill."
        names = re.findall(r'[^",]+', text) if control.role == "listbox" else [text]
        found = [find_option(control, name) for name in names]
        options = list(control.element.iter("option"))
        chosen = [place for place in found if place is not None and options[place].get("disabled") is None]
        if len(chosen) < len(names) or not names:
            listed = shorten(", ".join(control.options), 150)
            return f"Control [{control.number}] has no option {shorten(text, 60)!r}; its options are: {listed}."
        self.change(control, tuple(sorted(set(chosen))))
        return None

    def _press(self, control: Control, key: str) -> str | None:
        is_box = control.role in ("checkbox", "radio")
        if self.page.has_widgets and find_effects(control.element, key):
            self.operate(control, key)
            return None
        if key not in ("Enter", "Space"):
            return press_key(self, control, key)
        if control.role in ("combobox", "listbox"):
            return f"Control [{control.number}] is a list; use select."
        if (control.role == "button") or (control.role == "link" and key == "Enter") or (is_box and key == "Space"):
            return self._click(control, "")
        if key == "Space":
            return None if control.role == "link" else type_text(self, control, " ")
        form = form_of(self.page, control.element)
        if control.kind == "textarea" or form is None:
            return None
        button = default_button(self.page, form)
        if button is not None:
            return None if button.disabled else self._submit(form, button, control)
        fields = [one for one in controls_of(self.page, form) if one.role in ("textbox", "searchbox", "spinbutton")]
        # Without a button, Enter sends forms of a single field.
        return self._submit(form, None, control) if len(fields) <= 1 else None


_ACTIONS: Mapping[str, Callable[[Browser, Control, str], str | None]] = {
    "click": Browser._click,
    "dblclick": Browser._double_click,
    "fill": Browser._fill,
    "select": Browser._select,
    "press": Browser._press,
    "check": functools.partial(Browser._tick, ticked=True),
    "uncheck": functools.partial(Browser._tick, ticked=False),
    # Nothing on a page depends on these.
    "hover": lambda browser, control, text: None,
    "focus": lambda browser, control, text: None,
}
# Paths that begin with this one are no pages, but style sheets and the like.
ASSETS = "/static/"

BROWSERS: Registry[type[Browser]] = Registry("backend", group="palaestra.browsers")
BROWSERS.add("inprocess", "palaestra.envs.web.browsers.in_process:InProcessBrowser")
BROWSERS.add("chromium", "palaestra.envs.web.browsers.chromium:ChromiumBrowser")
