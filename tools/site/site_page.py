"""One generated page: its place in ``docs/reference``, and a function that makes its content on demand."""

from __future__ import annotations

import os.path
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

_CLASS = re.compile(r"(?<!\[)<code>([A-Z]\w+)((?:\.\w+)?)</code>")


@dataclass(frozen=True)
class SiteContent:
    """Markdown of a page, and further files in the same folder (pictures) by name."""

    text: str
    files: dict[str, bytes] = field(default_factory=dict)


@dataclass(frozen=True)
class SitePage:
    """A page whose content is made on demand.

    Attributes:
        path: file under ``docs/reference``, such as "teachers/alp-gmm.md".
        covers: (kind, name) of every registered object that the page describes; kinds as in `palaestra list`.
        make: returns the page's content; all slow work is done here.
    """

    path: str
    covers: tuple[tuple[str, str], ...]
    make: Callable[[], SiteContent]


def write_pages(pages: list[SitePage], folder: Path, classes: Mapping[str, str]) -> None:
    """Write every page and its files under ``folder``, which is created.

    Args:
        classes: name of a class -> its place under ``folder``, to which its name in the pages becomes a link.
    """
    for page in pages:
        content, place = page.make(), folder / page.path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(link_classes(content.text, page.path, classes).rstrip() + "\n", encoding="utf-8")
        for name, data in content.files.items():
            (place.parent / name).write_bytes(data)


def link_classes(text: str, path: str, classes: Mapping[str, str]) -> str:
    """Make names of classes in code, outside headings and blocks, links from the page at ``path``."""

    def link(found: re.Match[str]) -> str:
        target = classes.get(found[1])
        if target is None or target.partition("#")[0] == path:
            return found[0]
        return f"[{found[0]}]({os.path.relpath(target, os.path.dirname(path) or '.')})"

    lines, fenced = [], ""
    for line in text.split("\n"):
        marks = re.match("`{3,}", line)
        if marks and (not fenced or line.startswith(fenced)):
            fenced = "" if fenced else marks[0]
        lines.append(line if fenced or line.startswith("#") else _CLASS.sub(link, line))
    return "\n".join(lines)
