"""Frames: pages within a page. The document with its frames filled in is one tree, so that one `Page` shows all of it.

Each ``iframe`` is replaced by an element `FRAME` (parsers take the content of an ``iframe`` for text), which holds the
document of the frame; its ``src`` is the present address there. Frames below the level `DEEPEST` stay empty.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lxml import etree  # type: ignore[attr-defined]

from .accessibility import FRAME, encode_document, parse_document

DEEPEST = 3
"""Most levels of frames within frames that are shown."""
Fetch = Callable[[str, str], tuple[str, str] | None]
"""Function of a value of ``src`` and the path of the page that it is on: (path, document), or None for a frame that
stays empty."""


def fill_frames(html: str, path: str, fetch: Fetch) -> str:
    """Return the document at a path with the contents of its frames."""
    root = parse_document(encode_document(html))
    _fill_all(root, path, fetch, 1)
    return _write(root)


def replace_frame(html: str, place: int, path: str, content: str, fetch: Fetch) -> str:
    """Return a document with another page in the frame with index ``place``."""
    root = parse_document(encode_document(html))
    frame = [*root.iter(FRAME)][place]
    _fill(frame, path, content, fetch, 1 + len([*frame.iterancestors(FRAME)]))
    return _write(root)


def split_frames(html: str) -> dict[str, str]:
    """Return path -> document of the frames that `fill_frames` has filled in, and "" -> the document around them."""
    root, found = parse_document(encode_document(html)), {}
    # Frames within others come first.
    for frame in reversed([*root.iter(FRAME)]):
        parts = [frame.text or "", *(etree.tostring(part, method="html", encoding="unicode") for part in frame)]
        found[frame.get("src") or ""] = f"<!doctype html>{''.join(parts)}"
        frame.tag, frame[:], frame.text = "iframe", [], None
    return {**found, "": _write(root)}


def _fill_all(root: Any, path: str, fetch: Fetch, level: int) -> None:
    for frame in [*root.iter("iframe")]:
        frame.tag = FRAME
        _fill(frame, *((level <= DEEPEST and fetch(frame.get("src") or "", path)) or ("", "")), fetch, level)


def _fill(frame: Any, path: str, html: str, fetch: Fetch, level: int) -> None:
    frame[:], frame.text = [], None
    if not html:
        return
    frame.set("src", path)
    inner = parse_document(encode_document(html))
    _fill_all(inner, path, fetch, level + 1)
    # A head and a body are no part of a body; their contents are.
    for part in inner.iterchildren("head", "body"):
        if len(frame):
            frame[-1].tail = (frame[-1].tail or "") + (part.text or "")
        else:
            frame.text = (frame.text or "") + (part.text or "")
        frame.extend(list(part))


def _write(root: Any) -> str:
    return etree.tostring(root, method="html", encoding="unicode", doctype="<!doctype html>")
