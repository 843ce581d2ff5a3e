"""Files that are complete or untouched: what is read while a run writes, or after a kill, is never half a file."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from pathlib import Path


def write_atomically(path: str | Path, text: str | Iterable[str]) -> Path:
    """Write UTF-8 text (or pieces of it, in turn) to ``path``, making its folder; the path.

    A temporary file beside it takes its place at the end. Where anything fails before, ``path`` is as it was and
    nothing else is left.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("w", encoding="utf-8", newline="") as stream:
            stream.writelines([text] if isinstance(text, str) else text)
        if path.exists():
            shutil.copymode(path, temporary)
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    return path
