"""Parser of actions written as calls of BrowserGym's high-level actions, so that its agents can act here unchanged.

``fill('12', 'text')`` and ``send_msg_to_user('42')`` are read into the commands of `commands`; the ids of our
observations are the bids, which in frames need no prefix. A call is parsed as Python, its arguments as literals, and
nothing is evaluated. Actions that hold a key or a mouse button are refused with the names of those that work.
"""

from __future__ import annotations

import ast
import inspect
import re
import warnings
from collections.abc import Callable, Mapping
from typing import Any

MOST_CHARACTERS = 8_000
# Names that `commands` reads as well, with arguments in other spellings, such as fill(7, text).
_OWN = frozenset({"click", "fill", "check", "uncheck", "hover", "focus", "press", "scroll", "goto"})
_SHAPE = re.compile(r"([a-z_]+)\s*\(.*\)\s*;?", re.DOTALL)
_BID = re.compile(r"\[?\s*([0-9]{1,6})\s*\]?")
Parts = tuple[str, Any, Any]
"""Verb, bid (None: no control) and text of a command."""


class BadCall(ValueError):
    """Error for a call that cannot be done; the message is one sentence for the agent."""


def _require_left(button: str, modifiers: Any = ()) -> None:
    if button != "left" or modifiers:
        raise BadCall("Only clicks with the left button and without further keys can be done here.")


def _click(bid: Any, button: str = "left", modifiers: Any = ()) -> Parts:
    _require_left(button, modifiers)
    return "click", bid, ""


def _dblclick(bid: Any, button: str = "left", modifiers: Any = ()) -> Parts:
    _require_left(button, modifiers)
    return "dblclick", bid, ""


def _mouse_click(x: float, y: float, button: str = "left") -> Parts:
    _require_left(button)
    return "click_at", None, f"{x} {y}"


def _mouse_dblclick(x: float, y: float, button: str = "left") -> Parts:
    _require_left(button)
    return "dblclick_at", None, f"{x} {y}"


def _upload_file(bid: Any, file: Any) -> Parts:
    return "upload", bid, _require_one(file)


def _mouse_upload_file(x: float, y: float, file: Any) -> Parts:
    return "upload_at", None, f"{x} {y} {_require_one(file)}"


def _require_one(file: Any) -> Any:
    several = list(file) if isinstance(file, (list, tuple)) else [file]
    if len(several) != 1:
        raise BadCall("A field takes one file here.")
    return several[0]


def _select_option(bid: Any, options: Any) -> Parts:
    several = list(options) if isinstance(options, (list, tuple)) else [options]
    return "select", bid, several[0] if len(several) == 1 else ", ".join(map(str, several))


def _scroll(delta_x: float, delta_y: float) -> Parts:
    if isinstance(delta_y, (str, bool)) or not delta_y:
        raise BadCall("Pages scroll up and down here: delta_y must be a number above or below 0.")
    return "scroll", None, "down" if delta_y > 0 else "up"


CALLS: Mapping[str, Callable[..., Parts]] = {
    "click": _click,
    "dblclick": _dblclick,
    "fill": lambda bid, value, enable_autocomplete_menu=False: ("fill", bid, value),
    "clear": lambda bid: ("fill", bid, ""),
    "select_option": _select_option,
    "check": lambda bid: ("check", bid, ""),
    "uncheck": lambda bid: ("uncheck", bid, ""),
    "upload_file": _upload_file,
    "drag_and_drop": lambda from_bid, to_bid: ("drag", from_bid, str(to_bid)),
    "hover": lambda bid: ("hover", bid, ""),
    "focus": lambda bid: ("focus", bid, ""),
    "press": lambda bid, key_comb: ("press", bid, "Space" if key_comb == " " else key_comb),
    "scroll": _scroll,
    "scroll_at": lambda x, y, dx, dy: _scroll(dx, dy),
    "goto": lambda url: ("goto", None, url),
    "go_back": lambda: ("back", None, ""),
    "go_forward": lambda: ("forward", None, ""),
    "new_tab": lambda: ("new_tab", None, ""),
    "tab_focus": lambda index: ("tab", None, index),
    "tab_close": lambda: ("close_tab", None, ""),
    "keyboard_press": lambda key: ("key", None, key),
    "keyboard_type": lambda text: ("write", None, text),
    "keyboard_insert_text": lambda text: ("write", None, text),
    "mouse_click": _mouse_click,
    "mouse_dblclick": _mouse_dblclick,
    "mouse_drag_and_drop": lambda from_x, from_y, to_x, to_y: ("drag_at", None, f"{from_x} {from_y} {to_x} {to_y}"),
    "mouse_upload_file": _mouse_upload_file,
    # Pages do not react to where the mouse is.
    "mouse_move": lambda x, y: ("wait", None, ""),
    "noop": lambda wait_ms=1000: ("wait", None, ""),
    "send_msg_to_user": lambda text: ("answer", None, text),
    "report_infeasible": lambda reason: ("infeasible", None, reason),
}
"""Name of a high-level action -> function with its parameters that returns the parts of a command."""
REFUSED = frozenset({"keyboard_up", "keyboard_down", "mouse_up", "mouse_down"})
"""Names of high-level actions that cannot be done here."""


def read_call(action: str) -> tuple[str, int, str] | None:
    """Return (verb, number of the control or 0, text) of a command written as a call; None for any other action, also
    for a call of another form, such as ``scroll(down)``.

    Raises:
        BadCall: the call is one of a high-level action, but cannot be done.
    """
    shape = _SHAPE.fullmatch(action) if len(action) <= MOST_CHARACTERS else None
    if shape is None:
        return None
    name = shape[1]
    if name in REFUSED:
        raise BadCall(f"{name} cannot be done here; of these actions the following can: {', '.join(CALLS)}.")
    if name not in CALLS:
        return None
    try:
        with warnings.catch_warnings():
            # Unknown escapes, such as in '\d', stand for themselves.
            warnings.simplefilter("ignore")
            call: Any = ast.parse(action.rstrip("; \t\r\n"), mode="eval").body
        values = [ast.literal_eval(value) for value in call.args]
        named = {one.arg: ast.literal_eval(one.value) for one in call.keywords}
        bound = inspect.signature(CALLS[name]).bind(*values, **named)
    except (SyntaxError, ValueError, TypeError, AttributeError, RecursionError, MemoryError):
        if name in _OWN:
            return None
        raise BadCall(f"{name} is called as {name}{inspect.signature(CALLS[name])}, with literal values.") from None
    verb, bid, text = CALLS[name](*bound.args, **bound.kwargs)
    if isinstance(text, bool) or not isinstance(text, (str, int, float)):
        raise BadCall(f"{name} takes a text, not {type(text).__name__}.")
    place = None if bid is None else _BID.fullmatch(str(bid).strip())
    if bid is not None and place is None:
        raise BadCall(f"{name} needs the id of a control, such as {name}('3').")
    return verb, int(place[1]) if place else 0, str(text)
