"""Markdown from plain values: tables, fenced blocks, and docstrings in Google's style.

Text of docstrings is data: characters that Markdown or HTML would interpret are escaped, names in backticks become
code.
"""

from __future__ import annotations

import html
import inspect
import re
from collections.abc import Iterable, Sequence
from typing import Any

from ...scripts.docstrings import ARXIV

SECTIONS = ("Args", "Attributes", "Returns", "Raises", "Yields", "Note")
_CODE = re.compile(r"``[^`]+``|`[^`]+`")
_ENTRY = re.compile(r"^(\*{0,2}[A-Za-z_][\w.]*(?:, \*{0,2}[A-Za-z_][\w.]*)*): ")


def inline(text: Any) -> str:
    """Return plain text as one line of Markdown: text in backticks becomes code, arXiv numbers become links."""
    line = " ".join(str(text).split())
    parts, end = [], 0
    for found in _CODE.finditer(line):
        parts += [_escape(line[end : found.start()]), code(found[0].strip("`"))]
        end = found.end()
    return "".join([*parts, _escape(line[end:])])


def _escape(text: str) -> str:
    text = re.sub(r"([\\`*_\[\]|])", r"\\\1", html.escape(text, quote=False))
    return ARXIV.sub(r"[arXiv \1](https://arxiv.org/abs/\1)", text)


def code(text: Any) -> str:
    """Return text as inline code, with all characters escaped; "" for blank text."""
    return f"<code>{escape_html(' '.join(str(text).split()))}</code>" if str(text).strip() else ""


def escape_html(text: str) -> str:
    """Escape characters that HTML and Markdown would interpret, as entities."""
    escaped = html.escape(text, quote=False)
    return re.sub(r"[\\`*_\[\]|~^${}]", lambda found: f"&#{ord(found[0])};", escaped)


def fence(text: str, language: str = "text", most: int = 4000) -> str:
    """Return text as a fenced block, cut after ``most`` characters; the fence is longer than any in the text."""
    shown = text if len(text) <= most else f"{text[:most]}\n… ({len(text) - most} more characters)"
    # A lone surrogate or a control character is not allowed in a page.
    shown = re.sub(r"[\x00-\x08\x0b-\x1f\x7f]", "\N{REPLACEMENT CHARACTER}", shown)
    shown = shown.encode("utf-8", "replace").decode("utf-8")
    longest = max((len(run) for run in re.findall("`+", shown)), default=0)
    marks = "`" * max(3, longest + 1)
    return f"{marks}{language}\n{shown.rstrip()}\n{marks}"


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table; cells must be Markdown (see `inline`). "" without rows."""
    lines = [f"| {' | '.join(cell or ' ' for cell in row)} |" for row in rows]
    return "\n".join([f"| {' | '.join(columns)} |", f"|{' --- |' * len(columns)}", *lines]) if lines else ""


def join(*parts: str) -> str:
    """Join blocks with empty lines between them; empty blocks are left out."""
    return "\n\n".join(part for part in parts if part)


def docstring(text: str | None) -> str:
    """Return a docstring as Markdown: paragraphs, indented code, lists, and sections such as ``Args:``."""
    blocks: list[str] = []
    lines = inspect.cleandoc(text or "").splitlines()
    while lines:
        line = lines.pop(0)
        if not line.strip():
            continue
        if line.rstrip(":") in SECTIONS and line.endswith(":"):
            body = _take(lines, lambda following: not following.strip() or following.startswith(" "))
            blocks.append(f"**{line[:-1]}**\n\n{_section(body)}")
        elif line.startswith("    "):
            body = [line, *_take(lines, lambda following: not following.strip() or following.startswith("    "))]
            blocks.append(fence(inspect.cleandoc("\n".join(["", *body]))))
        elif re.match(r"[-*] ", line):
            body = [line, *_take(lines, lambda following: bool(following.strip()))]
            blocks.append("\n".join(f"- {inline(item)}" for item in _items(body)))
        else:
            body = [line, *_take(lines, lambda following: bool(following.strip()) and not following.startswith("    "))]
            blocks.append(inline(" ".join(body)))
    return "\n\n".join(blocks)


def _take(lines: list[str], belongs: Any) -> list[str]:
    taken = []
    while lines and belongs(lines[0]):
        taken.append(lines.pop(0))
    return taken


def _items(lines: Sequence[str]) -> list[str]:
    items: list[str] = []
    for line in lines:
        if re.match(r"[-*] ", line) or not items:
            items.append(line[2:])
        else:
            items[-1] += f" {line.strip()}"
    return items


def _section(lines: Sequence[str]) -> str:
    """Return the entries of a section as a list: ``name: text``, continued on more deeply indented lines."""
    entries: list[str] = []
    for line in inspect.cleandoc("\n".join(["", *lines])).splitlines():
        if not line.strip():
            continue
        if line.startswith(" ") and entries:
            entries[-1] += f" {line.strip()}"
        else:
            entries.append(line.strip())
    shown = []
    for entry in entries:
        name = _ENTRY.match(entry)
        shown.append(f"- {code(name[1])}: {inline(entry[name.end() :])}" if name else f"- {inline(entry)}")
    return "\n".join(shown)
