"""The living processes of a group and of a parent, read from /proc."""

from __future__ import annotations

import contextlib
from pathlib import Path


def members(group: int) -> list[int]:
    """The living processes of a process group."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, _, of = stat.read_text().rpartition(")")[2].split()[:3]
            if int(of) == group and state != "Z":
                found.append(int(stat.parent.name))
    return sorted(found)


def children(pid: int) -> list[int]:
    return [int(child) for path in Path(f"/proc/{pid}/task").glob("*/children") for child in path.read_text().split()]
