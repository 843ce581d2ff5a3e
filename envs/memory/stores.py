"""Memory of a core text and two stores of entries, changed by commands of one line each."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

USAGE = (
    "core TEXT: replace the core memory, one short text about the user\n"
    "insert semantic TEXT: add an entry on what lasts\n"
    "insert episodic TEXT: add an entry on what happened on a day\n"
    "update ID TEXT: replace the entry with that id\n"
    "delete ID: remove it\n"
    "nothing: change nothing"
)
_BLOCKS = re.compile(r"```[^\n]*\n(.*?)```", re.DOTALL)
_COMMAND = re.compile(
    r"[-*`\s]*(?:(?P<core>core)\b|insert\s+(?P<store>\w+)|update\s+(?P<update>\w+)|delete\s+(?P<delete>\w+)"
    r"|(?P<nothing>nothing)\b)[:\s]*(?P<text>.*?)[`\s]*",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class MemoryEntry:
    """An entry of the memory; ``written`` is the number of changes to the memory when the entry was last written."""

    id: str
    text: str
    written: int


@dataclass(frozen=True, slots=True)
class MemoryCommand:
    """Command of one line: ``name`` is "core", "insert", "update", "delete" or "nothing"; ``where`` is the store of
    "insert", or the id of the entry of "update" and "delete"; ``text`` is the text to write."""

    name: str
    where: str = ""
    text: str = ""

    @property
    def arguments(self) -> dict[str, str]:
        return {name: value for name, value in (("where", self.where), ("text", self.text)) if value}


@dataclass(frozen=True, slots=True)
class Memory:
    """The memory: the core text, the entries of both stores in the order of insertion, and the number of changes so
    far."""

    core: MemoryEntry = MemoryEntry("core", "", 0)
    entries: tuple[MemoryEntry, ...] = ()
    changes: int = 0

    @property
    def length(self) -> int:
        """Number of characters of all texts."""
        return len(self.core.text) + sum(len(entry.text) for entry in self.entries)

    @property
    def texts(self) -> list[str]:
        """All texts, the newest last."""
        return [entry.text for entry in sorted((self.core, *self.entries), key=lambda entry: entry.written)]

    def show(self) -> str:
        stores = [
            f"{name}:" + ("".join(f"\n  {e.id} {e.text}" for e in self.entries if e.id[0] == name[0]) or " empty")
            for name in ("semantic", "episodic")
        ]
        return "\n".join([f"core: {self.core.text or 'empty'}", *stores])

    def apply(self, command: MemoryCommand, capacity: int) -> tuple[Memory, str | None, str]:
        """Carry out a command.

        Args:
            capacity: most characters of all texts together.

        Returns:
            (memory afterwards, error, store). The error is None, or says why the command failed, which leaves the
            memory unchanged. The store is the one that was written to, or "".
        """
        name, where, text = command.name, command.where.lower(), command.text
        if name == "nothing":
            return self, None, ""
        if name != "delete" and not text:
            return self, f"{name} needs a text", ""
        entry = next((entry for entry in self.entries if entry.id == where), None)
        count = self.changes + 1
        if name == "core":
            after = replace(self, core=MemoryEntry("core", text, count), changes=count)
        elif name == "insert":
            if where not in ("semantic", "episodic"):
                return self, f"there is no store {command.where!r}, only semantic and episodic", ""
            number = 1 + max((int(other.id[1:]) for other in self.entries if other.id[0] == where[0]), default=0)
            after = replace(
                self, entries=(*self.entries, MemoryEntry(f"{where[0]}{number}", text, count)), changes=count
            )
        elif entry is None:
            return self, f"there is no entry {command.where!r}", ""
        else:
            kept = [
                other if other is not entry else MemoryEntry(other.id, text, count)
                for other in self.entries
                if name == "update" or other is not entry
            ]
            after = replace(self, entries=tuple(kept), changes=count)
        if after.length > max(capacity, self.length):
            return self, f"the memory would hold {after.length} characters, of {capacity} that it may", ""
        written = "" if name == "delete" else {"c": "core", "s": "semantic", "e": "episodic"}[(where or "core")[0]]
        return after, None, written


def read_commands(reply: str) -> list[MemoryCommand]:
    """Return the commands of a reply, one per line: of the last code block that has any, or else of the whole reply.
    Other lines are ignored."""
    for text in reversed([reply, *_BLOCKS.findall(reply)]):
        if found := [command for line in text.splitlines() if (command := _read_line(line)) is not None]:
            return found
    return []


def _read_line(line: str) -> MemoryCommand | None:
    match = _COMMAND.fullmatch(line)
    if match is None:
        return None
    text = match["text"].strip()
    if match["nothing"]:
        return None if text.strip(".!") else MemoryCommand("nothing")
    if match["core"]:
        return MemoryCommand("core", "", text)
    name = next(name for name in ("store", "update", "delete") if match[name])
    return MemoryCommand("insert" if name == "store" else name, match[name], text)


def write_command(command: MemoryCommand) -> str:
    """Return the line of a command, in the form that `USAGE` shows."""
    return " ".join(filter(None, (command.name, command.where, command.text)))
