"""Checks of a built site: every link and anchor has a target, and no page loads anything over the network."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADS = {**dict.fromkeys(("script", "img", "iframe", "source", "video", "audio"), "src"), "link": "href"}
"""Element that loads something when the page opens -> its attribute with the address."""
QUIET = {"canonical", "alternate", "prev", "next", "author", "edit"}


@dataclass
class _Links(HTMLParser):
    """Collects the links, loaded files and anchors of a page."""

    targets: list[str] = field(default_factory=list)
    loads: list[str] = field(default_factory=list)
    anchors: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.anchors |= {values[name] for name in ("id", "name") if values.get(name)}
        place = LOADS.get(tag)
        if tag == "a" and "href" in values:
            self.targets.append(values["href"])
        elif place and place in values and not (tag == "link" and QUIET & set(values.get("rel", "").split())):
            self.loads.append(values[place])


def find_faults(site: Path) -> Iterator[str]:
    """Yield a sentence for each broken link, missing anchor and file that is loaded over the network."""
    pages = {path.resolve(): _Links() for path in sorted(site.rglob("*.html"))}
    for path, links in pages.items():
        links.feed(path.read_text(encoding="utf-8"))
    for path, links in pages.items():
        name = path.relative_to(site.resolve())
        for target in links.loads:
            if urlsplit(target).scheme in ("http", "https") or target.startswith("//"):
                yield f"{name} loads {target} over the network"
        for target in (*links.targets, *links.loads):
            fault = _fault(target, path, links, pages, site.resolve())
            if fault and name.name != "404.html":  # its links start at the root of a server
                yield f"{name} links to {target}, {fault}"


def _fault(target: str, path: Path, links: _Links, pages: dict[Path, _Links], site: Path) -> str:
    parts = urlsplit(target)
    if parts.scheme or target.startswith("//"):
        return ""
    found = path
    if parts.path:
        found = (path.parent / unquote(parts.path)).resolve()
        found = found / "index.html" if found.is_dir() else found
        if not found.is_file() or not found.is_relative_to(site):
            return "which does not exist"
    anchor = unquote(parts.fragment)
    if anchor and found in pages and not anchor.startswith(":~:") and anchor not in pages[found].anchors:
        return f"where nothing is named {anchor}"
    return ""
