"""``palaestra view``: write the episodes of runs and evaluations as one page to filter, search and read.

The page needs no network. It filters by environment, outcome, difficulty, turns, tokens, cost, reward terms and any
text, sorts, and shows each conversation with pictures, rewards, their terms, errors, feedback and the reference;
several plays of one task also side by side. --follow keeps an open page up to date while episodes are being played.
Texts longer than --longest are cut and episodes beyond --most are left out; the page says so.

examples:
  palaestra view runs/first
  palaestra eval palaestra/Wordle-v0 --agent random --out played.jsonl --replay replays && palaestra view played.jsonl
  palaestra view played.jsonl.partial --serve
  palaestra view runs/first --follow
  palaestra view first.jsonl second.jsonl --out both.html
  palaestra view played --serve --port 8080
"""

from __future__ import annotations

import html
import json
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qs, quote

import tyro

from ..agents.atomic import check_output, write_atomically
from ..agents.pages import hash_source, read_style
from ..errors import InputError
from .view_episodes import (
    EpisodeCollection,
    EpisodeFile,
    EpisodeReader,
    find_files,
    format_news,
    iterate_page_data,
)
from .view_server import PageServer

TEMPLATE, SCRIPT = (Path(__file__).with_name(name) for name in ("view.html", "view.js"))
SHORTEST = 100
"""Smallest value of --longest."""


@dataclass(frozen=True)
class ViewOptions:
    path: tyro.conf.Positional[tuple[Path, ...]] = ()
    """Folders of runs, files of palaestra eval --out (also unfinished ones, OUT.partial), or folders of such files."""
    out: Path | None = None
    """File for the page; by default episodes.html in the first folder, or NAME.episodes.html beside the first file."""
    serve: bool = False
    """Serve the page to this machine until Ctrl-C; a reload shows changes of the files."""
    follow: bool = False
    """Like --serve, and the open page shows new episodes as they are written; the run may have none yet."""
    port: int = 0
    """Port for --serve and --follow; 0 takes a free one."""
    longest: int = 200_000
    """Longest text in characters; the middle of a longer one is left out."""
    most: int = 20_000
    """Most episodes in the page."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    options = tyro.cli(ViewOptions, args=argv, prog="palaestra view", description=__doc__)
    if not options.path:
        raise InputError("give the folder of a run, or a file of palaestra eval --out.")
    if options.longest < SHORTEST or options.most < 1:
        name, least = ("longest", SHORTEST) if options.longest < SHORTEST else ("most", 1)
        raise InputError(f"--{name} must be at least {least}, not {getattr(options, name)}.")
    out = options.out or default_out(options.path[0])
    check_output(out, "--out")
    if not options.serve and not options.follow:
        page, said = make_page(find_files(options.path), lambda path: link_from(out.parent, path), options)
        write_atomically(out, page)
        print(f"{out}: {said}, {len(page) / 1e6:.1f} MB")
        return 0
    server = PageServer(options.port)
    if options.follow:
        follow(server, options)
        return 0

    def make() -> str:
        files = find_files(options.path)
        page, _ = make_page(files, server.link, options)
        write_atomically(out, make_page(files, lambda path: link_from(out.parent, path), options)[0])
        return page

    server.serve(make, lambda: [file.path for file in find_files(options.path)])
    return 0


def follow(server: PageServer, options: ViewOptions) -> None:
    """Serve a page that shows new episodes of growing files, until Ctrl-C. Nothing is written."""
    readers: list[EpisodeReader] = []

    def read() -> EpisodeCollection:
        files = find_files(options.path, growing=True)
        if not readers or readers[-1].is_outdated():
            readers.append(EpisodeReader(server.link, options.longest, options.most))
        readers[-1].read(files)
        return readers[-1].made

    def tell(query: str) -> str:
        made, asked = read(), parse_qs(query)
        reader, chunks = (int(asked.get(name, ["0"])[0]) for name in ("reader", "chunks"))
        return json.dumps({"reload": True}) if reader != len(readers) else format_news(made, chunks)

    def make() -> str:
        made = read()
        return fill_page(made, follow=len(readers))

    server.serve(make, lambda: [file.path for file in find_files(options.path, growing=True)], tell)


def default_out(path: Path) -> Path:
    """Return the default of --out for the first path."""
    if path.is_dir():
        return path / "episodes.html"
    return path.with_name(f"{path.name.removesuffix('.partial').removesuffix('.jsonl')}.episodes.html")


def link_from(folder: Path, path: Path) -> str:
    """Return the URL of a file relative to a page in ``folder``."""
    return quote(os.path.relpath(path.resolve(), folder.resolve()))


def make_page(files: Sequence[EpisodeFile], link: Callable[[Path], str], options: ViewOptions) -> tuple[str, str]:
    """Make the page with the episodes of ``files``.

    Args:
        link: returns the URL of a replay or a report.
        options: limits of the page.

    Returns:
        The HTML, and a short description of the content.

    Raises:
        InputError: the files have no episode, or a line is no episode.
    """
    reader = EpisodeReader(link, options.longest, options.most)
    reader.read(files)
    made = reader.made
    if not made.entries:
        raise InputError(f"{', '.join(str(file.path) for file in files)} holds no episode yet; look again later.")
    return fill_page(made), "; ".join([f"{len(made.entries):,} episodes", *made.notes])


def fill_page(made: EpisodeCollection, follow: int = 0) -> str:
    """Return the HTML of the page.

    Args:
        follow: number of the reader whose news the page asks for; 0 if it asks for nothing.
    """
    script = SCRIPT.read_text(encoding="utf-8")
    names = [file["name"] for file in made.files]
    values = {
        "title": html.escape(", ".join(names[:3]) + (" …" if len(names) > 3 else "")),
        "style": read_style(),
        "script": script,
        "policy": hash_source(script) + ("; connect-src 'self'" if follow else ""),
        "data": "".join(iterate_page_data(made, follow)),
    }
    # One pass, so that nothing in a value is taken for a placeholder.
    page = re.sub(r"{{ (\w+) }}", lambda place: values[place[1]], TEMPLATE.read_text(encoding="utf-8"))
    return page.encode("utf-8", "backslashreplace").decode("utf-8")
