"""Files of an episode, downloaded from the site. They are texts in memory, found by name only, so that no action can
read or write a file of the machine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from ....errors import shorten
from .observations import quote

# Most files of an episode, and most characters of one; a server keeps uploads of this size in memory.
MOST_FILES, MOST_CHARACTERS = 20, 60_000
# Most lines of a file that an observation shows.
MOST_LINES = 80


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A text file: name, without a folder, and content."""

    name: str
    text: str


def find_file(files: Sequence[StoredFile], name: str) -> StoredFile | str:
    """Return the file with this name, or an error message of one sentence."""
    found = next((one for one in files if one.name == name.strip()), None)
    if found is not None:
        return found
    known = ", ".join(quote(one.name) for one in files)
    return f"There is no file {shorten(name, 60)!r}; the files are: {known or 'none so far'}."


def add_file(files: Sequence[StoredFile], path: str, name: str, text: str) -> tuple[StoredFile, ...] | str:
    """Return the files with a downloaded one, or an error message of one sentence.

    Args:
        files: the files so far. A name that is taken gets a number, as in browsers.
        path: the address that it comes from; its last part is the name if ``name`` is empty.
        name: the name that the link gives it.
        text: the content.
    """
    if len(text) > MOST_CHARACTERS:
        return f"The file has {len(text)} characters; at most {MOST_CHARACTERS} are kept."
    if len(files) >= MOST_FILES:
        return f"{MOST_FILES} files are kept, and no more can be."
    wanted = name or unquote(path.partition("?")[0])
    plain = " ".join(wanted.replace("\\", "/").rpartition("/")[2].split())[:100] or "download"
    stem, dot, ending = plain.rpartition(".")
    taken, number, kept = {one.name for one in files}, 1, plain
    while kept in taken:
        kept = f"{stem} ({number}).{ending}" if dot else f"{plain} ({number})"
        number += 1
    return (*files, StoredFile(kept, text))


def describe_files(files: Sequence[StoredFile], opened: str) -> str:
    """Return the lines of an observation on the files, with the content of the file named ``opened``; "" if there are
    no files."""
    if not files:
        return ""
    names = ", ".join(quote(one.name) for one in files)
    text = f'Files: {names}; open_file "name" shows one, upload [ID] "name" puts it into a field\n'
    shown: Any = next((one for one in files if one.name == opened), None)
    if shown is None:
        return text
    lines = shown.text.splitlines()
    text += f"File {quote(opened)}:\n" + "".join(f"  {quote(line)}\n" for line in lines[:MOST_LINES])
    return text + (f"  ({len(lines) - MOST_LINES} more lines)\n" if len(lines) > MOST_LINES else "")
