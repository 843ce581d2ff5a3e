"""One generated page: its place in ``docs/reference``, and a function that makes its content on demand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path


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


def write_pages(pages: list[SitePage], folder: Path) -> None:
    """Write every page and its files under ``folder``, which is created."""
    for page in pages:
        content, place = page.make(), folder / page.path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(content.text.rstrip() + "\n", encoding="utf-8")
        for name, data in content.files.items():
            (place.parent / name).write_bytes(data)
