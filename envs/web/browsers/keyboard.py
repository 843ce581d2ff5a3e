"""Keys pressed and text typed in the focused control, for all browsers alike.

Only what a page can react to is carried out: keys that activate, move the focus, edit the end of a text or choose
another option. The caret stays at the end of a text, and a line that was reached by Tab, or a text selected
by Control+a, is replaced.
"""

from __future__ import annotations

import math
from typing import Any

from .accessibility import Control
from .commands import Command
from .forms import form_of
from .observations import value_of
from .widgets import find_effects

NO_FOCUS = "No control has the focus; use focus [ID] or click [ID] first."
_TEXTUAL = ("textbox", "searchbox", "spinbutton")
_MOVES = {"Tab": 1, "Shift+Tab": -1}
_COMMANDS = {
    "PageDown": Command("scroll", 0, "down"),
    "PageUp": Command("scroll", 0, "up"),
    "Alt+ArrowLeft": Command("back"),
    "Alt+ArrowRight": Command("forward"),
}
# Direction of each arrow in a list of options or a group of radio buttons.
_ARROWS = {"ArrowDown": 1, "ArrowRight": 1, "ArrowUp": -1, "ArrowLeft": -1}


def press_key(browser: Any, control: Control | None, key: str) -> str | None:
    """Press a key of `commands.KEYS`, or a character, in a control. Return an error or None, as `Browser.perform` does.

    Args:
        browser: the `Browser`.
        control: the control with the focus, or None.
        key: the key.
    """
    if key in _COMMANDS:
        return browser.carry_out(_COMMANDS[key])
    if key in _MOVES:
        return _move_focus(browser, _MOVES[key])
    if key == "Escape" and _close_widget(browser):
        return None
    if control is None:
        return NO_FOCUS
    if key in ("Enter", "Space"):
        return browser.carry_out(Command("press", control.number, key))
    if key in _ARROWS or key in ("Home", "End"):
        return _choose(browser, control, key)
    if control.role not in _TEXTUAL or key == "Escape":
        return None
    if key == "Control+a":
        browser.selected = True
        return None
    if key == "Delete" and not browser.selected:
        return None
    if key in ("Backspace", "Delete"):
        text = "" if browser.selected else str(value_of(control, browser.edits))[:-1]
        return browser.carry_out(Command("fill", control.number, text))
    return type_text(browser, control, key)


def type_text(browser: Any, control: Control | None, text: str) -> str | None:
    """Type a text at the end of a field, or in place of its selected text; a newline in a field of one line presses
    Enter, and what follows it is lost. Return an error or None."""
    if control is None:
        return NO_FOCUS
    before = "" if browser.selected else str(value_of(control, browser.edits))
    typed, enter, _ = (text, "", "") if control.kind == "textarea" else text.partition("\n")
    error = browser.carry_out(Command("fill", control.number, before + typed)) if typed else None
    return browser.carry_out(Command("press", control.number, "Enter")) if enter and not error else error


def _move_focus(browser: Any, by: int) -> None:
    """Move the focus to the next control that can have it, around the page. The text of a line there is selected."""
    usable = [one for one in browser.page.controls if not one.disabled and one.role != "unsupported"]
    if usable:
        ahead = [one for one in usable if (one.number - browser.focused) * by > 0] or usable
        control = ahead[0] if by > 0 else ahead[-1]
        browser.focused, browser.selected = control.number, control.role in _TEXTUAL and control.kind != "textarea"


def _close_widget(browser: Any) -> bool:
    """Close the first open menu, dialog or list of the page, wherever the focus is. Return False if there is none."""
    if not browser.page.has_widgets:
        return False
    for control in browser.page.controls:
        if control.element.get("aria-expanded") in (None, "true") and find_effects(control.element, "Escape"):
            browser.operate(control, "Escape")
            browser.focused, browser.selected = 0, False
            return True
    return False


def _choose(browser: Any, control: Control, key: str) -> str | None:
    """Choose another option of a list, another radio button of a group, or the next number."""
    by = _ARROWS.get(key, 0)
    if control.role == "combobox":
        options = list(control.element.iter("option"))
        usable = [place for place, option in enumerate(options) if option.get("disabled") is None]
        present = max(value_of(control, browser.edits), default=-1)  # type: ignore[type-var,arg-type]
        ahead = [place for place in usable if (place - present) * by > 0]
        found = {"Home": usable[:1], "End": usable[-1:]}.get(key, ahead[:1] if by > 0 else ahead[-1:])
        if found and found != [present]:
            browser.change(control, tuple(found))
    elif control.role == "radio" and by:
        name, form = control.element.get("name"), form_of(browser.page, control.element)
        group = [
            one
            for one in browser.page.controls
            if one.role == "radio" and not one.disabled and one.element.get("name") == name
            if form_of(browser.page, one.element) is form
        ]
        other = group[(group.index(control) + by) % len(group)]
        browser.carry_out(Command("check", other.number))
    elif control.kind == "number" and key in ("ArrowUp", "ArrowDown"):
        low, high, step = (
            float(control.element.get(name) or default)
            for name, default in (("min", -math.inf), ("max", math.inf), ("step", 1))
        )
        value = float(str(value_of(control, browser.edits) or 0)) - by * step
        value = min(max(value, low), high)
        browser.change(control, str(int(value)) if value.is_integer() else str(value))
    elif control.role in _TEXTUAL:
        if key != "End":
            return f"{key} moves the caret, which stays at the end of a text here; use fill."
        browser.selected = False
    return None
