"""Widgets of pages: menus, dialogs, tabs and the like, each declared once as rules from events to effects.

The whole state of a widget is in the document, in the attributes of WAI-ARIA, ``hidden`` and the values of fields.
`run_event` applies the rules to a document for the in-process browser; `write_script` returns the script that applies
the same rules in a real browser. Nothing depends on time: what vanishes does so after a number of actions.

A widget is an element with ``data-widget``, and its parts are the elements within it with ``data-part``; both may name
several widgets and parts, separated by spaces.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from lxml import etree  # type: ignore[attr-defined]

Effect = tuple[Any, ...]
"""Name of an operation in `OPERATIONS`, its target, and arguments. Targets are "self" (the element of the event),
"controlled" (the element that ``aria-controls`` of self names) or a part of the widget, which stands for all of them.
"""
_CLOSE_MENU: tuple[Effect, ...] = (("set", "button", "aria-expanded", "false"), ("set", "list", "hidden", ""))
_CLOSE_LIST: tuple[Effect, ...] = (("set", "field", "aria-expanded", "false"), ("set", "list", "hidden", ""))
_CLOSE_DIALOG: tuple[Effect, ...] = (("set", "dialog", "hidden", ""), ("free", "dialog"))
_CLOSE_GRID: tuple[Effect, ...] = (("set", "open", "aria-expanded", "false"), ("set", "grid", "hidden", ""))

RULES: dict[tuple[str, str, str], tuple[Effect, ...]] = {
    ("menu", "click", "button"): (
        ("flip", "self", "aria-expanded", "true", "false"),
        ("flip", "list", "hidden", None, ""),
    ),
    ("menu", "click", "item"): _CLOSE_MENU,
    ("menu", "Escape", "item"): _CLOSE_MENU,
    ("menu", "Escape", "button"): _CLOSE_MENU,
    ("dialog", "click", "open"): (("set", "controlled", "hidden", None), ("trap", "controlled")),
    ("dialog", "click", "close"): _CLOSE_DIALOG,
    ("dialog", "Escape", "close"): _CLOSE_DIALOG,
    ("tabs", "click", "tab"): (
        ("set", "tab", "aria-selected", "false"),
        ("set", "self", "aria-selected", "true"),
        ("set", "panel", "hidden", ""),
        ("set", "controlled", "hidden", None),
    ),
    ("accordion", "click", "header"): (
        ("flip", "self", "aria-expanded", "true", "false"),
        ("flip", "controlled", "hidden", None, ""),
    ),
    ("combobox", "input", "field"): (
        ("set", "list", "hidden", None),
        ("set", "field", "aria-expanded", "true"),
        ("filter", "option"),
    ),
    ("combobox", "Enter", "field"): (("click", "option"),),
    ("combobox", "Escape", "field"): _CLOSE_LIST,
    ("combobox", "click", "option"): (("write", "field", "{text}"), *_CLOSE_LIST),
    ("datepicker", "click", "open"): (
        ("flip", "self", "aria-expanded", "true", "false"),
        ("flip", "grid", "hidden", None, ""),
    ),
    ("datepicker", "click", "previous"): (("step", "month", -1),),
    ("datepicker", "click", "next"): (("step", "month", 1),),
    ("datepicker", "click", "day"): (("write", "field", "{data}"), *_CLOSE_GRID),
    ("datepicker", "Escape", "day"): _CLOSE_GRID,
    ("table", "click", "column"): (("sort", "row"),),
    ("more", "click", "more"): (("reveal", "row", 5),),
    ("toast", "click", "show"): (("set", "controlled", "hidden", None), ("set", "controlled", "data-left", "2")),
    ("toast", "click", "undo"): (("set", "toast", "hidden", ""), ("set", "toast", "data-left", None)),
    ("editor", "click", "bold"): (("write", "field", "**{field}**"),),
    ("editor", "click", "quote"): (("write", "field", "> {field}"),),
    # The browser opens the tab: see `control_actions.click`.
    ("window", "click", "open"): (("window", "self"),),
    ("board", "click", "grab"): (
        ("set", "grab", "aria-pressed", "false"),
        ("set", "self", "aria-pressed", "true"),
        ("set", "drop", "hidden", None),
    ),
    ("board", "click", "drop"): (
        ("move", "card"),
        ("set", "grab", "aria-pressed", "false"),
        ("set", "drop", "hidden", ""),
    ),
}
"""(widget, event, part) -> effects. Events are "click", "input" (a field has another value) and keys."""

_SCRIPT = Path(__file__).with_name("widgets.js")
# Characters that a document cannot hold.
_IMPOSSIBLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
# The element that stands for a frame (`accessibility.FRAME`), and elements that only a head has.
_FRAME, _HEAD = "page-frame", ("title", "meta", "link", "script", "style")
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?")


@functools.cache
def write_script() -> str:
    """Return the script that a page with widgets loads."""
    rules = {" ".join(key): effects for key, effects in RULES.items()}
    return _SCRIPT.read_text(encoding="utf-8").replace("RULES_OF_WIDGETS", json.dumps(rules, indent=1))


def find_effects(element: Any, event: str) -> list[Effect]:
    """Return the effects of an event on an element, which are those of the nearest part."""
    part = _nearest(element, "data-part")
    root = _nearest(part, "data-widget")
    if part is None or root is None:
        return []
    names = (
        (widget, event, one) for widget in root.get("data-widget").split() for one in part.get("data-part").split()
    )
    return [effect for name in names for effect in RULES.get(name, ())]


@functools.lru_cache(maxsize=256)
def run_event(html: str, event: str, place: int, values: tuple[tuple[int, Any], ...]) -> str:
    """Return the document after an event. Cached, as pages and actions recur.

    Args:
        html: the document.
        event: "tick", which is the end of an action, or an event of `RULES`.
        place: `Control.place` of the element of the event; -1 for "tick".
        values: pairs (place, value) of the fields whose values differ from the document's; they become the document's.
    """
    from .accessibility import CONTROLS, encode_document, parse_document

    root = parse_document(encode_document(html))
    controls = list(root.iter(*CONTROLS))
    for number, value in values:
        write_value(controls[number], value)
    if event == "tick":
        for toast in root.xpath("//*[@data-left]"):
            left = int(toast.get("data-left")) - 1
            if left > 0:
                toast.set("data-left", str(left))
            else:
                del toast.attrib["data-left"]
                toast.set("hidden", "")
    else:
        _run(controls[place], event)
    return etree.tostring(root, method="html", encoding="unicode", doctype="<!doctype html>")


def _run(element: Any, event: str) -> None:
    for name, target, *arguments in find_effects(element, event):
        part = _nearest(element, "data-part")
        OPERATIONS[name](part, _find(part, target), *arguments)


def _nearest(element: Any, attribute: str) -> Any:
    while element is not None and element.get(attribute) is None:
        # A frame is a document of its own.
        element = None if element.tag == _FRAME else element.getparent()
    return element


def _document_of(element: Any) -> Any:
    """Return the frame that an element is in, or None."""
    return next(element.iterancestors(_FRAME), None)


def _parts(root: Any, name: str) -> Iterator[Any]:
    for element in root.iter("*"):
        if name in (element.get("data-part") or "").split() and _nearest(element, "data-widget") is root:
            yield element


def _find(part: Any, target: str) -> list[Any]:
    if target == "self":
        return [part]
    if target == "controlled":
        found = part.getroottree().xpath("//*[@id=$id]", id=part.get("aria-controls"))
        return [one for one in found if _document_of(one) is _document_of(part)][:1]
    return list(_parts(_nearest(part, "data-widget"), target))


def _text(element: Any) -> str:
    return " ".join("".join(element.itertext()).split())


def _value(element: Any) -> str:
    return (element.text or "").removeprefix("\n") if element.tag == "textarea" else element.get("value") or ""


def write_value(element: Any, value: Any) -> None:
    """Make a value of a control the document's."""
    if isinstance(value, bool):
        _set(None, [element], "checked", "" if value else None)
    elif isinstance(value, tuple):
        for place, option in enumerate(element.iter("option")):
            _set(None, [option], "selected", "" if place in value else None)
    elif element.tag == "textarea":
        element.text = f"\n{_IMPOSSIBLE.sub('', value)}"
    else:
        element.set("value", _IMPOSSIBLE.sub("", value))


# Operations: function of (element of the event, targets, further arguments). Each has its twin in the script.


def _set(part: Any, targets: list[Any], attribute: str, value: str | None) -> None:
    for one in targets:
        if value is None:
            one.attrib.pop(attribute, None)
        else:
            one.set(attribute, value)


def _flip(part: Any, targets: list[Any], attribute: str, first: str | None, second: str | None) -> None:
    for one in targets:
        _set(part, [one], attribute, second if one.get(attribute) == first else first)


def _write(part: Any, targets: list[Any], form: str) -> None:
    for one in targets:
        words = {"text": _text(part), "data": part.get("data-value") or "", "field": _value(one)}
        write_value(one, form.format_map(words))


def _filter(part: Any, targets: list[Any]) -> None:
    wanted = _value(part).strip().lower()
    for one in targets:
        _set(part, [one], "hidden", None if wanted in _text(one).lower() else "")


def _click(part: Any, targets: list[Any]) -> None:
    for one in [one for one in targets if one.get("hidden") is None][:1]:
        _run(one, "click")


def _trap(part: Any, targets: list[Any]) -> None:
    for one in targets:
        while (parent := one.getparent()) is not None and one.tag not in ("body", _FRAME):
            # A frame holds the elements of the head, too.
            others = [other for other in parent.iterchildren("*") if other is not one and other.tag not in _HEAD]
            _set(part, others, "inert", "")
            one = parent


def _free(part: Any, targets: list[Any]) -> None:
    found = part.getroottree().xpath("//*[@inert]")
    _set(part, [one for one in found if _document_of(one) is _document_of(part)], "inert", None)


def _step(part: Any, targets: list[Any], by: int) -> None:
    shown = next((place for place, one in enumerate(targets) if one.get("hidden") is None), 0)
    if 0 <= shown + by < len(targets):
        _set(part, targets, "hidden", "")
        _set(part, [targets[shown + by]], "hidden", None)


def _sort(part: Any, targets: list[Any]) -> None:
    head = next(part.iterancestors("th"))
    falls = head.get("aria-sort") == "ascending"
    _set(part, list(head.getparent()), "aria-sort", None)
    head.set("aria-sort", "descending" if falls else "ascending")
    column, shown = list(head.getparent()).index(head), sum(one.get("hidden") is None for one in targets)
    keys: list[Any] = [one[column].get("data-value") or _text(one[column]).lower() for one in targets]
    if all(_NUMBER.fullmatch(key) for key in keys):
        keys = [float(key) for key in keys]
    order = sorted(range(len(targets)), key=keys.__getitem__, reverse=falls)
    for place, number in enumerate(order):
        targets[number].getparent().append(targets[number])
        _set(part, [targets[number]], "hidden", None if place < shown else "")


def _reveal(part: Any, targets: list[Any], number: int) -> None:
    left = [one for one in targets if one.get("hidden") is not None]
    _set(part, left[:number], "hidden", None)
    if len(left) <= number:
        part.set("hidden", "")


def _move(part: Any, targets: list[Any]) -> None:
    for card in targets:
        if any(one.get("aria-pressed") == "true" for one in card.iter("button")):
            next(part.iterancestors("section")).append(card)
            write_value(next(card.iter("input")), part.get("data-value"))


OPERATIONS: dict[str, Callable[..., None]] = {
    **{"set": _set, "flip": _flip, "write": _write, "filter": _filter, "click": _click, "trap": _trap, "free": _free},
    **{"step": _step, "sort": _sort, "reveal": _reveal, "move": _move, "window": lambda *_: None},
}
