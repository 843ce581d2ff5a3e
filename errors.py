"""The two errors that are the user's to mend, each one sentence that names the value received and the remedy.

Everything else that is raised is a defect of ours. The command line turns both into exit code 2.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class InputError(ValueError):
    """What the caller passed cannot be used; nothing was written. The message states the value and the remedy."""


class MissingExtra(ImportError):
    """An optional dependency is absent; the message is the install command that brings it."""

    def __init__(self, feature: str, extra: str):
        super().__init__(f"{feature} needs the extra [{extra}]: pip install 'palaestra[{extra}]'.", name=extra)


def shorten(text: str, most: int = 60) -> str:
    """Cut a text for a message to at most so many characters, with three dots at the end."""
    return text if len(text) <= most else text[: most - 3] + "..."


def unknown_name(kind: str, received: str, known: Iterable[str]) -> InputError:
    """The error for a name that is not registered, with the nearest known names (or all of them where none is near)."""
    names = sorted(known)
    close = difflib.get_close_matches(received, names, n=3, cutoff=0.5) or names
    if not close:
        return InputError(f"unknown {kind} {received!r}; none is registered.")
    return InputError(f"unknown {kind} {received!r}; did you mean {', '.join(map(repr, close))}?")
