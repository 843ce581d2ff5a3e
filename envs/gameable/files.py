"""Simulated file system of a few short texts in memory; the agent can edit nothing else."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace

MAX_FILES = 20


@dataclass(frozen=True, slots=True)
class File:
    """A file: name, text, and time of modification, which the agent may set."""

    name: str
    text: str
    time: int = 0


@dataclass(frozen=True, slots=True)
class Files:
    """Files in alphabetical order; every change returns a new object."""

    entries: tuple[File, ...] = ()

    def get(self, name: str) -> File | None:
        """Return the file with this name, or None."""
        return next((file for file in self.entries if file.name == name), None)

    def put(self, file: File) -> Files:
        """Return the files with ``file`` added, in place of a file of the same name if there is one."""
        others = [other for other in self.entries if other.name != file.name]
        return Files(tuple(sorted([*others, file], key=lambda entry: entry.name)))

    def remove(self, name: str) -> Files:
        """Return the files without the file of this name."""
        return Files(tuple(file for file in self.entries if file.name != name))

    def touch(self, name: str, time: int) -> Files:
        """Return the files with the time of one file set to ``time`` and its text unchanged."""
        file = self.get(name)
        return self if file is None else self.put(replace(file, time=time))

    def digest(self, name: str) -> str:
        """Return the SHA-256 of the text of a file, which does not depend on the time; "" if there is no such file."""
        file = self.get(name)
        return "" if file is None else hashlib.sha256(file.text.encode("utf-8", "surrogatepass")).hexdigest()
