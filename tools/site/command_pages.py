"""Page of all commands: the output of ``palaestra COMMAND --help``."""

from __future__ import annotations

import contextlib
import io
import os
import re
from collections.abc import Iterator

from ...scripts.cli import COMMANDS, main
from .markdown_text import fence, inline, join, table
from .site_page import SiteContent, SitePage


def command_pages() -> list[SitePage]:
    """Return the page of commands, in a list."""
    return [SitePage("commands.md", tuple(("commands", name) for name in COMMANDS), _page)]


def _page() -> SiteContent:
    lead = "What each command's `--help` says. `palaestra completion bash` completes commands and names in a shell."
    parts = [
        join(f"## palaestra {name}", f"{inline(text).capitalize()}.", fence(read_help(name), most=40_000))
        for name, (_, text) in COMMANDS.items()
    ]
    rows = [[f"[`palaestra {name}`](#palaestra-{name})", inline(text)] for name, (_, text) in COMMANDS.items()]
    return SiteContent(join("# Commands", lead, table(("command", "does"), rows), *parts))


def read_help(command: str) -> str:
    """Return the ``--help`` text of a command, with all options, without colours, at a width of 100 characters."""
    out = io.StringIO()
    with _columns(100), contextlib.redirect_stdout(out), contextlib.suppress(SystemExit):
        main([command, "--help-all" if command == "train" else "--help"])
    return re.sub(r"\x1b\[[0-9;]*m", "", out.getvalue()).strip()


@contextlib.contextmanager
def _columns(width: int) -> Iterator[None]:
    kept = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = str(width)
    try:
        yield
    finally:
        if kept is None:
            del os.environ["COLUMNS"]
        else:
            os.environ["COLUMNS"] = kept
