"""Actions on one control, for all browsers alike: ``ACTIONS[verb](browser, control, text)``.

Each function returns an error of one sentence or None, as `Browser.perform` does. Links and forms lead to another page
of the tab, of the frame that they are in, or of a new tab.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Mapping
from typing import Any

from ....errors import shorten
from .accessibility import FRAME, Control, frame_of
from .forms import controls_of, default_button, find_option, find_value, form_of, send_form
from .keyboard import press_key, type_text
from .observations import value_of
from .stored_files import find_file
from .widgets import find_effects

# A valid floating-point number in HTML; browsers reject all other spellings.
_FLOAT = re.compile(r"-?(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")


def click(browser: Any, control: Control, _: str) -> str | None:
    """Click on a control."""
    element = control.element
    if control.role == "link":
        return _follow(browser, control)
    if control.role in ("checkbox", "radio"):
        value = value_of(control, browser.edits)
        if control.role == "checkbox" or not value:
            browser.change(control, not value)
        return None
    if control.role == "file":
        return f'Control [{control.number}] takes a file; use upload [{control.number}] "name".'
    if control.role == "button":
        form = form_of(browser.page, element)
        if control.kind == "button" and browser.page.has_widgets and (effects := find_effects(element, "click")):
            if ("window", "self") in effects:
                return browser.open_tab(element.get("data-value"), element, element.get("data-window") or "")
            browser.operate(control, "click")
            return None
        if form is not None and control.kind in ("submit", "image"):
            return _submit(browser, form, control, None)
        if form is not None and control.kind == "reset":
            browser.reset(control, controls_of(browser.page, form))
    return None


def _follow(browser: Any, control: Control) -> str | None:
    """Follow a link, in this tab, in its frame or in a new tab; or keep the file that it leads to."""
    element = control.element
    address, target = element.get("href"), element.get("target") or "_self"
    if element.get("download") is not None:
        path = browser.path_of(address, element)
        if path is None:
            return f"{shorten(address, 80)!r} is no file of this site."
        return browser.download(path, element.get("download"))
    if target not in ("_self", "_top", "_parent") and target_frame(element) is None:
        return browser.open_tab(address, element, "" if target == "_blank" else target)
    # A link to a part of the page.
    return None if address.strip().startswith("#") else browser.visit(control, address)


def _double_click(browser: Any, control: Control, _: str) -> str | None:
    """Click twice. Links and buttons lead away with the first click."""
    error = click(browser, control, "")
    return click(browser, control, "") if not error and control.role == "checkbox" else error


def _tick(browser: Any, control: Control, _: str, ticked: bool) -> str | None:
    if control.role not in ("checkbox", "radio"):
        return f"Control [{control.number}] is a {control.role}, which cannot be checked; use click."
    if value_of(control, browser.edits) is ticked:
        return None
    if control.role == "radio" and not ticked:
        return f"Control [{control.number}] is a radio button; check another one of its group."
    return click(browser, control, "")


def _submit(browser: Any, form: Any, button: Control | None, key: Control | None) -> str | None:
    if form.get("target") not in (None, "", "_self", "_top", "_parent") and target_frame(form) is None:
        return "The form opens a new window, which cannot be done here."
    source = {} if button is None else button.element.attrib
    if form.get("novalidate") is None and source.get("formnovalidate") is None:
        wrong = next((one for one in controls_of(browser.page, form) if not _is_valid(browser, one)), None)
        if wrong is not None:
            return f"Control [{wrong.number}] has no valid value, so that the form is not sent."
    try:
        base = browser.origin + browser.base_of(form)
        request = send_form(browser.page, form, button, browser.edits, base, browser.files)
    except ValueError:
        return "The form has no address."
    if browser.path_of(request.url) is None:
        return f"The form goes to {shorten(request.url, 80)!r}, which is no page of this site."
    browser.leave(lambda: browser.send(request, form, button, key), frame=target_frame(form))
    return None


def target_frame(element: Any) -> Any:
    """Return the frame whose page a link or form replaces; None: it replaces the page, or goes to another window."""
    target, frame = element.get("target") or "_self", frame_of(element)
    if target == "_parent":
        return None if frame is None else frame_of(frame)
    if target in ("_self", "_top"):
        return None if target == "_top" else frame
    return next((one for one in element.getroottree().iter(FRAME) if one.get("name") == target), None)


def _is_valid(browser: Any, control: Control) -> bool:
    """Return True if the value of a control satisfies the attributes ``required``, ``min`` and ``max``."""
    value, element = value_of(control, browser.edits), control.element
    if element.get("required") is not None and not control.disabled and control.role not in ("radio", "button"):
        chosen = value if not isinstance(value, tuple) else any(find_value(control, place) for place in value)
        if not chosen:
            return False
    if control.kind == "number" and value:
        low, high = (float(element.get(name) or default) for name, default in (("min", "-inf"), ("max", "inf")))
        return low <= float(str(value)) <= high
    return True


def _fill(browser: Any, control: Control, text: str) -> str | None:
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
    browser.change(control, text[: int(most)] if most.isdigit() else text)
    return None


def _select(browser: Any, control: Control, text: str) -> str | None:
    if control.role not in ("combobox", "listbox"):
        return f"Control [{control.number}] is a {control.role} without options; use click or fill."
    names = re.findall(r'[^",]+', text) if control.role == "listbox" else [text]
    found = [find_option(control, name) for name in names]
    options = list(control.element.iter("option"))
    chosen = [place for place in found if place is not None and options[place].get("disabled") is None]
    if len(chosen) < len(names) or not names:
        listed = shorten(", ".join(control.options), 150)
        return f"Control [{control.number}] has no option {shorten(text, 60)!r}; its options are: {listed}."
    browser.change(control, tuple(sorted(set(chosen))))
    return None


def _upload(browser: Any, control: Control, text: str) -> str | None:
    """Put a file of the episode into a field for files."""
    if control.role != "file":
        return f"Control [{control.number}] is a {control.role}, which takes no file."
    found = find_file(browser.files, text)
    if isinstance(found, str):
        return found
    browser.change(control, found.name)
    return None


def _drag(browser: Any, control: Control, text: str) -> str | None:
    """Drag the card of a board that a control is on to the lane that the control with the id ``text`` is in: grab and
    drop in one action."""
    controls, number = browser.page.controls, int(text.strip("[]"))
    if not 1 <= number <= len(controls):
        return f"There is no control [{number}] here; ids go from 1 to {len(controls)}."
    if control.element.get("data-part") != "grab":
        return f"Control [{control.number}] cannot be dragged; of a board, the buttons of its cards can."
    lane = next(controls[number - 1].element.iterancestors("section"), None)
    lanes = [one for one in browser.page.root.iter("section") if one.find("*[@data-part='drop']") is not None]
    if lane not in lanes:
        return f"Control [{number}] is in no lane of a board."
    browser.operate(control, "click")
    drops = [one for one in browser.page.controls if one.element.get("data-part") == "drop"]
    browser.operate(drops[lanes.index(lane)], "click")
    browser.focused, browser.selected = 0, False
    return None


def _press(browser: Any, control: Control, key: str) -> str | None:
    is_box = control.role in ("checkbox", "radio")
    if browser.page.has_widgets and find_effects(control.element, key):
        browser.operate(control, key)
        return None
    if key not in ("Enter", "Space"):
        return press_key(browser, control, key)
    if control.role in ("combobox", "listbox"):
        return f"Control [{control.number}] is a list; use select."
    if (control.role == "button") or (control.role == "link" and key == "Enter") or (is_box and key == "Space"):
        return click(browser, control, "")
    if control.role == "file":
        return click(browser, control, "")
    if key == "Space":
        return None if control.role == "link" else type_text(browser, control, " ")
    form = form_of(browser.page, control.element)
    if control.kind == "textarea" or form is None:
        return None
    button = default_button(browser.page, form)
    if button is not None:
        return None if button.disabled else _submit(browser, form, button, control)
    fields = [one for one in controls_of(browser.page, form) if one.role in ("textbox", "searchbox", "spinbutton")]
    # Without a button, Enter sends forms of a single field.
    return _submit(browser, form, None, control) if len(fields) <= 1 else None


ACTIONS: Mapping[str, Callable[[Any, Control, str], str | None]] = {
    "click": click,
    "dblclick": _double_click,
    "fill": _fill,
    "select": _select,
    "press": _press,
    "upload": _upload,
    "drag": _drag,
    "check": functools.partial(_tick, ticked=True),
    "uncheck": functools.partial(_tick, ticked=False),
    # Nothing on a page depends on these.
    "hover": lambda browser, control, text: None,
    "focus": lambda browser, control, text: None,
}
