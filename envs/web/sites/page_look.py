"""Pages as they look: one document with the site's style sheets in it, which needs no site and runs no script.

Replays show it in a frame. The control that an action is about is marked.
"""

from __future__ import annotations

from collections.abc import Sequence

from lxml import etree  # type: ignore[attr-defined]

from ..browsers.accessibility import CONTROLS, Value, encode_document, parse_document
from ..browsers.commands import Command, read_command
from ..browsers.page_cache import parse_page
from ..browsers.tab import Tab
from ..browsers.widgets import write_value
from .site import read_asset

MARK = "acted-on"
"""Id of the marked control; `agents/replay.js` scrolls to it."""
_STYLE = f"#{MARK} {{ outline: 3px solid #d6006c; outline-offset: 3px; scroll-margin: 6rem }}"


def draw_tab(tab: Tab, action: str = "") -> str:
    """Return the page of a browser as a document, with the control marked that an action is about."""
    command = read_command(action)
    return draw_page(tab.html, tab.edits, command.number if isinstance(command, Command) else 0)


def draw_page(html: str, edits: Sequence[tuple[int, Value]] = (), number: int = 0) -> str:
    """Return a document that looks as a page does in a browser.

    Args:
        html: the page.
        edits: pairs (number of a control, value) of the controls whose value differs from the document's.
        number: the number of the control to mark; 0: none.
    """
    page, root = parse_page(html), parse_document(encode_document(html))
    elements = list(root.iter(*CONTROLS))
    for place, value in edits:
        control = page.controls[place - 1]
        element = elements[control.place]
        if control.role == "file":
            # Browsers show no name of a file that a document states.
            element.tail = f" {value} {element.tail or ''}"
        else:
            write_value(element, value)
    if 1 <= number <= len(page.controls):
        elements[page.controls[number - 1].place].set("id", MARK)
    for one in list(root.iter("link", "script", "base")):
        style = etree.Element("style")
        style.tail = one.tail
        if one.get("rel") == "stylesheet":
            style.text = read_asset(one.get("href") or "")
        one.getparent().replace(one, style)
    etree.SubElement(root if root.find("head") is None else root.find("head"), "style").text = _STYLE
    return etree.tostring(root, method="html", encoding="unicode", doctype="<!doctype html>")
