"""Atomic writing of files: a reader never sees half a file, even while a run writes or after the run was killed.

`check_output` finds out, before anything is computed, whether a path can be written.
"""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path

from ..errors import InputError

# Errors for a file instead of a folder, a folder instead of a file, or a path that cannot be created.
_WRONG_PLACE = (errno.ENOTDIR, errno.EEXIST, errno.EISDIR, errno.ENOENT)


def write_atomically(path: str | Path, text: str | bytes | Iterable[str]) -> Path:
    """Write bytes, or text as UTF-8, to ``path``; make its folder if missing, and return the path.

    The content goes to a temporary file in the same folder, which replaces ``path`` at the end. If anything fails
    before, ``path`` is unchanged and the temporary file is removed. A device or a pipe, such as /dev/stdout, is written
    directly.

    Args:
        text: the content, or an iterable of texts that are written one after the other.

    Raises:
        InputError: no file can be made at this path.
        OSError: writing failed for another reason, such as a full disk.
    """
    path = Path(path)
    pieces = (
        [text] if isinstance(text, bytes) else (each.encode() for each in ([text] if isinstance(text, str) else text))
    )
    if _is_device(path):
        with path.open("wb") as stream:
            stream.writelines(pieces)
        return path
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        stream = temporary.open("wb")
    except OSError as error:
        if error.errno in _WRONG_PLACE:
            check_output(path, "path")
        raise
    try:
        with stream:
            stream.writelines(pieces)
        if path.exists():
            shutil.copymode(path, temporary)
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    return path


def check_output(path: str | Path | None, option: str, *, folder: bool = False) -> None:
    """Check that a file (or, with ``folder``, a folder) can be written at a path; nothing is left behind.

    Args:
        path: the path; None passes.
        option: the option that gave the path, for the error message: "--out".

    Raises:
        InputError: the path cannot be written.
    """
    if path is None:
        return
    path = Path(path)
    try:
        if path.exists() and path.is_dir() != folder:
            wanted, found = ("folder", "file") if folder else ("file", "folder")
            raise InputError(f"{option} must be a {wanted}, but {str(path)!r} is a {found}.")
        if _is_device(path):
            return
        place = path if folder else path.parent
        while not place.exists():
            place = place.parent
        with tempfile.TemporaryFile(dir=place):
            pass
    except OSError as error:
        raise InputError(f"{str(path)!r} cannot be written: {error.strerror}; choose another {option}.") from error


def _is_device(path: Path) -> bool:
    return path.exists() and not path.is_file() and not path.is_dir()
