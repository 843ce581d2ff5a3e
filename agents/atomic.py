"""Atomic writing of files: a reader never sees half a file, also while a run writes or after it was killed."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from pathlib import Path


def write_atomically(path: str | Path, text: str | Iterable[str]) -> Path:
    """Write UTF-8 text (or pieces of it, in turn) to ``path``, make its folder, and return the path.

    The text goes to a temporary file in the same folder, which replaces ``path`` at the end. If anything fails before,
    ``path`` is unchanged and the temporary file is removed.
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
