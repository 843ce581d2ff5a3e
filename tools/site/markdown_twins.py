"""Markdown twins of the built pages, and ``llms.txt``, the list of them for programs that read a site.

Page ``how-to/sql/`` has the twin ``how-to/sql.md``, its source, whose links lead to other twins.
"""

from __future__ import annotations

import os.path
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml

LEAD = "All links lead to Markdown. Single environments, teachers, rewards and recipes are listed in their indexes."


def write_twins(docs: Path, site: Path, config: Path) -> int:
    """Copy every page of ``docs`` into ``site``, link it from its HTML page, and write ``llms.txt``. Return the number
    of twins.

    Args:
        config: ``mkdocs.yml``, whose navigation is that of ``llms.txt``.
    """
    sources = sorted(docs.rglob("*.md"))
    for source in sources:
        name = source.relative_to(docs)
        twin = site / name
        twin.parent.mkdir(parents=True, exist_ok=True)
        twin.write_bytes(source.read_bytes())
        page = twin.parent / "index.html" if name.stem == "index" else twin.with_suffix("") / "index.html"
        link = os.path.relpath(twin, page.parent).replace(os.sep, "/")
        page.write_text(link_twin(page.read_text(encoding="utf-8"), link), encoding="utf-8")
    # The loader of MkDocs' own tags is not needed: this file has none.
    settings = yaml.safe_load(config.read_text(encoding="utf-8"))
    (site / "llms.txt").write_text(list_pages(settings, docs), encoding="utf-8")
    return len(sources)


def link_twin(page: str, link: str) -> str:
    """Add a link to the Markdown twin to the head of an HTML page and to the end of its article."""
    head = f'<link rel="alternate" type="text/markdown" href="{link}">'
    foot = f'<p class="markdown-twin"><a href="{link}">This page as Markdown</a></p>'
    return page.replace("</head>", f"{head}</head>", 1).replace("</article>", f"{foot}</article>", 1)


def list_pages(settings: dict[str, Any], docs: Path) -> str:
    """Return ``llms.txt``: name and purpose of the project, then the pages of each part of the navigation."""
    lines = [f"# {settings['site_name']}", "", f"> {settings['site_description']}", "", LEAD]
    for part in settings["nav"]:
        if isinstance(part, str):
            lines += ["", "## Home", "", _entry("Home", part, docs)]
            continue
        ((title, pages),) = part.items()
        lines += ["", f"## {title}", "", *(_entry(name, path, docs) for name, path in _leaves(pages))]
    return "\n".join(lines) + "\n"


def _leaves(pages: Sequence[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    for page in pages:
        yield from page.items()


def _entry(name: str, path: str, docs: Path) -> str:
    """Return a line of the list: the page's name with its link, and its first sentence."""
    paragraphs = (docs / path).read_text(encoding="utf-8").split("\n\n")
    first = next((text for text in paragraphs if not re.match(r"[#|`!<>-]", text)), "")
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", " ".join(first.split()))
    sentence = re.split(r"(?<=[.?])\s", re.sub(r"</?code>|\*\*", "", plain))[0].removesuffix(":")
    return f"- [{name}]({path}): {sentence}"
