"""Observations of a page, as a window of lines: accessibility tree, controls only, simplified HTML, or the document.

``OBSERVATIONS["tree"](page, edits)`` returns the lines. Controls have the same ids in all kinds of observation.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from html import escape
from typing import Any

from ....errors import shorten
from .accessibility import FRAME, LONGEST, MOST_OPTIONS, Control, Edits, Page, PageLine, Value

# Default number of lines shown at once.
WINDOW = 60


def quote(text: str) -> str:
    """Return text of a page in quotation marks on one line, shortened to `LONGEST` characters."""
    return _quote(text if len(text) <= LONGEST else shorten(text, LONGEST))


# Cached, as most texts occur on many pages.
@functools.lru_cache(maxsize=8_192)
def _quote(text: str) -> str:
    plain = " ".join(text.split())
    if "\\" in plain or '"' in plain:
        plain = plain.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{plain}"'


def describe_tree(page: Page, edits: Edits) -> list[str]:
    """Return one line for each control, landmark, heading and piece of text, indented by landmarks."""
    return _describe(page, edits, _line_of_tree)


def _describe(page: Page, edits: Edits, write: Callable[[Page, PageLine, Edits], str]) -> list[str]:
    """Return the lines of a page: cached ones without edits, and newly written ones for edited controls."""
    plain = page.descriptions.get(write)
    if plain is None:
        plain = page.descriptions[write] = [write(page, line, {}) for line in page.lines]
    if not edits:
        return plain
    return [
        write(page, line, edits) if line.control is not None and line.control.number in edits else text
        for line, text in zip(page.lines, plain, strict=True)
    ]


def describe_controls(page: Page, edits: Edits) -> list[str]:
    """Return the lines of `describe_tree`, without indentation, for controls and messages; "" for every other line."""
    lines = zip(page.lines, describe_tree(page, edits), strict=True)
    return [
        text.lstrip() if line.control is not None or line.role in ("alert", "status") else "" for line, text in lines
    ]


def _line_of_tree(page: Page, line: PageLine, edits: Edits) -> str:
    control = line.control
    if control is None:
        return _write_line(line.depth, 0, line.role, line.name)
    return _write_line(line.depth, control.number, line.role, line.name) + _states(page, control, edits)


# Cached, as many pages of a site begin alike.
@functools.lru_cache(maxsize=16_384)
def _write_line(depth: int, number: int, role: str, name: str) -> str:
    """Return a line of the tree without states; ``number`` is the id of a control, or 0."""
    place = f"{'  ' * depth}[{number}] " if number else "  " * depth
    return f"{place}{role} {quote(name)}" if name or number else f"{place}{role}"


def value_of(control: Control, edits: Edits) -> Value:
    """Return the present value of a control: the one in ``edits``, or else the default of the HTML."""
    return edits[control.number] if control.number in edits else control.default()


def _states(page: Page, control: Control, edits: Edits) -> str:
    element, role, states = control.element, control.role, ""
    if role in ("link", "button", "unsupported"):
        if page.has_current and element.get("aria-current"):
            states = " current"
    else:
        value = value_of(control, edits)
        if role in ("checkbox", "radio"):
            states = " checked" if value else " unchecked"
        elif isinstance(value, tuple):
            chosen = ", ".join(quote(control.options[place]) for place in value if place < len(control.options))
            others = ", ".join(map(quote, control.options[:MOST_OPTIONS]))
            states = f" value={chosen or quote('')} options: {others}"
        else:
            states = f" value={quote(str(value))}"
        if element.get("aria-invalid") == "true":
            states += f" invalid: {quote(page.description_of(element))}"
    states += page.states_of(control)
    return f"{states} disabled" if control.disabled else states


def describe_html(page: Page, edits: Edits) -> list[str]:
    """Return the lines of `describe_tree` as HTML elements; landmarks have no closing tag."""
    return _describe(page, edits, _line_of_html)


_TAGS = {
    "banner": "header",
    "navigation": "nav",
    "contentinfo": "footer",
    "complementary": "aside",
    "region": "section",
}
_TAGS |= {
    "frame": "iframe",
    "group": "fieldset",
    "search": "search",
    "heading": "h2",
    "text": "p",
    "alert": "p",
    "status": "p",
}


def _line_of_html(page: Page, line: PageLine, edits: Edits) -> str:
    margin, name, control = "  " * line.depth, escape(shorten(line.name, LONGEST)), line.control
    if control is None:
        tag = _TAGS.get(line.role, line.role)
        if line.role in ("heading", "text", "alert", "status"):
            role = f' role="{line.role}"' if line.role in ("alert", "status") else ""
            return f"{margin}<{tag}{role}>{name}</{tag}>"
        return f'{margin}<{tag} name="{name}">' if name else f"{margin}<{tag}>"
    off = " disabled" if control.disabled else ""
    role = "" if line.role == control.role else f' role="{line.role}"'
    off = f"{role}{page.states_of(control)}{off}"
    if control.role in ("link", "button", "unsupported"):
        tag = "a" if control.role == "link" else "button"
        return f'{margin}<{tag} id="{control.number}"{off}>{name}</{tag}>'
    value, begin = value_of(control, edits), f'id="{control.number}" name="{name}"{off}'
    if isinstance(value, tuple):
        options = "".join(
            f"<option{' selected' if place in value else ''}>{escape(text)}</option>"
            for place, text in enumerate(control.options[:MOST_OPTIONS])
        )
        return f"{margin}<select {begin}>{options}</select>"
    if line.role in ("checkbox", "radio"):
        return f'{margin}<input type="{line.role}" {begin}{" checked" if value else ""}>'
    shown = escape(" ".join(shorten(str(value), LONGEST).split()))
    return f'{margin}<input type="{control.kind}" {begin} value="{shown}">'


# Elements that the document is shown without, elements without an end tag, attributes without a value, and elements
# that begin a new piece.
_LEFT_OUT = frozenset({"head", "title", "link", "meta", "script", "style", "template", "svg"})
_VOID = frozenset({"area", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"})
_BARE = frozenset({"checked", "selected", "disabled", "required", "multiple", "readonly", "hidden", "novalidate"})
_PIECES = frozenset({"div", "form", FRAME, "li", "p", "tr", "td", "th", "section", "nav", "h1", "h2", "h3", "article"})


def describe_dom(page: Page, edits: Edits) -> list[str]:
    """Return the document's HTML, with the ids of controls as ``bid`` and with present values, without head, scripts,
    styles and comments. It is cut before controls, so that each line holds what the line of `describe_tree` shows."""
    if not edits and describe_dom in page.descriptions:
        return page.descriptions[describe_dom]
    parts = _pieces_of(page, edits)
    starts = [place for place, line in enumerate(page.lines) if line.control is not None]
    lines = [""] * len(page.lines)
    # Between two controls, the pieces are spread over the lines.
    for part, first, end in zip(parts, [0, *starts], [*starts, len(lines)], strict=True) if lines else ():
        for place, piece in enumerate(part):
            lines[min(first + place * max(end - first, 1) // len(part), len(lines) - 1)] += piece
    if not edits:
        page.descriptions[describe_dom] = lines
    return lines


def _pieces_of(page: Page, edits: Edits) -> list[list[str]]:
    """Return the document's HTML in pieces: a list for the part before the first control, and one from each control to
    the next."""
    controls = {control.element: control for control in page.controls}
    parts: list[list[str]] = [[""]]
    chosen: set[Any] = set()

    def write(element: Any) -> None:
        tag, control = element.tag, controls.get(element)
        if control is not None:
            parts.append([""])
        elif tag in _PIECES:
            parts[-1].append("")
        attributes = {name: " ".join(value.split()) for name, value in element.attrib.items()}
        text = element.text
        if control is not None and control.number in edits:
            value = edits[control.number]
            if isinstance(value, tuple):
                chosen.update(option for place, option in enumerate(element.iter("option")) if place in value)
            elif isinstance(value, str) and tag == "textarea":
                text = value
            else:
                attributes |= {"checked": ""} if value is True else {"value": value} if isinstance(value, str) else {}
            if value is False:
                attributes.pop("checked", None)
        parent = element.getparent() if tag == "option" else None
        if parent is not None and parent in controls and controls[parent].number in edits:
            attributes.pop("selected", None)
            attributes |= {"selected": ""} if element in chosen else {}
        shown = "".join(f" {one}" if one in _BARE else f' {one}="{escape(value)}"' for one, value in attributes.items())
        bid = "" if control is None else f' bid="{control.number}"'
        tag = "iframe" if tag == FRAME else tag
        parts[-1][-1] += f"<{tag}{bid}{shown}>{_plain(text)}"
        for child in element:
            if isinstance(child.tag, str) and child.tag not in _LEFT_OUT:
                write(child)
            parts[-1][-1] += _plain(child.tail)
        if tag not in _VOID:
            parts[-1][-1] += f"</{tag}>"

    write(page.root)
    return parts


def _plain(text: str | None) -> str:
    """Return text as HTML on one line, with single spaces."""
    return re.sub(r"\s+", " ", escape(text)) if text else ""


OBSERVATIONS: dict[str, Callable[[Page, Edits], list[str]]] = {
    "tree": describe_tree,
    "controls": describe_controls,
    "html": describe_html,
    "dom": describe_dom,
}


def show_window(lines: list[str], first: int, number: int) -> str:
    """Return ``number`` lines from index ``first`` on, without empty ones, and a note on their range if the page has
    more lines."""
    shown = "\n".join(filter(None, lines[first : first + number]))
    if len(lines) <= number:
        return shown
    return f"{shown}\n(lines {first + 1} to {min(first + number, len(lines))} of {len(lines)}; scroll down, scroll up)"
