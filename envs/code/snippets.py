"""Scripts of the user's own: read from files, run once each in the sandbox, and curated (CodeBoost, arXiv 2508.05242).

Scripts that mention time, chance or input are dropped, and so are those that write nothing, write too much, take too
long or write something else when they run again. Of the rest, the largest set may be kept of which no two are alike.
"""

from __future__ import annotations

import functools
import json
import logging
import re
from pathlib import Path
from typing import NamedTuple

from ...errors import InputError
from ..curation import most_different
from ..sandbox import Limits, run

LIMITS = Limits(seconds=2.0)
MOST_CHARACTERS = 4_000
"""Most characters of a script, and of what it writes."""
_UNREPEATABLE = re.compile(
    r"\b(time|datetime|random|randint|shuffle|secrets|uuid\d?|urandom|perf_counter|hash|input|stdin|environ|getpid)\b"
)
_log = logging.getLogger(__name__)


class Snippet(NamedTuple):
    """A script, and the text that it writes to each stream, as (name, text) pairs."""

    source: str
    streams: tuple[tuple[str, str], ...]


def read_snippets(path: str | Path) -> list[str]:
    """Read the scripts in a folder of ``.py`` files (subfolders included), or in a file of JSON lines with "code".

    Raises:
        InputError: there is no such folder or file, or a line has no "code".
    """
    path = Path(path)
    if path.is_dir():
        return [file.read_text(encoding="utf-8") for file in sorted(path.rglob("*.py"))]
    try:
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
        return [str(row["code"]) for row in rows]
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise InputError(
            f"snippets={str(path)!r} must be a folder of Python files, or a file of JSON lines with 'code' ({error})."
        ) from None


def is_repeatable(source: str) -> bool:
    """Return True if a script mentions neither time, nor chance, nor input."""
    return _UNREPEATABLE.search(source) is None


@functools.lru_cache(maxsize=8)
def load_snippets(path: str, distinct: float = 1.0) -> tuple[Snippet, ...]:
    """Read, run and curate scripts.

    Args:
        path: see `read_snippets`.
        distinct: see `curation.most_different`; 1 keeps all but copies.

    Raises:
        InputError: see `read_snippets`; or no script is left.
        MachineryError: this machine cannot run programs.
    """
    texts = list(dict.fromkeys(text.strip() for text in read_snippets(path)))
    found = [snippet for text in texts if (snippet := _run_twice(text)) is not None]
    if distinct < 1.0 and found:
        found = [found[i] for i in most_different([snippet.source for snippet in found], distinct)]
    if not found:
        raise InputError(
            f"snippets={path!r} has {len(texts)} scripts, and none can be asked about: they must write something "
            f"within {LIMITS.seconds:g} s, the same each time, without time, chance and input."
        )
    _log.info("%d of %d scripts of %s are asked about", len(found), len(texts), path)
    return tuple(found)


def _run_twice(source: str) -> Snippet | None:
    """Run a script twice. Return None unless it can be asked about."""
    if not source or len(source) > MOST_CHARACTERS or not is_repeatable(source):
        return None
    first = run(source, limits=LIMITS)
    streams = tuple((name, getattr(first, name).rstrip("\n")) for name in ("stdout", "stderr"))
    written = sum(len(text) for _, text in streams)
    if not first.valid or first.reason != "exit" or not 0 < written <= MOST_CHARACTERS:
        return None
    second = run(source, limits=LIMITS)
    return Snippet(source, streams) if (first.stdout, first.stderr) == (second.stdout, second.stderr) else None
