"""A control group for a sandbox, where this process may make one: the kernel's own bound of all memory that is held for
a sandbox's programs, pages of processes and files, buffers, tables and descriptions alike.

Either generation of control groups will do, and no privilege beyond that of writing to a group that this process is in,
or to the one above it. Where none can be made, nothing is: what counts the memory of programs is the supervisor
(`inside.watch`), and the group is the wall behind it. A group ends with its sandbox; where a process is killed before
it can remove one, that stays, empty, until the next one is made beside it.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import time
from pathlib import Path

# What bounds the memory of a group, what tells of those that were ended for it, and how much it holds.
_FILES = {
    "cgroup2": ("memory.max", "memory.events", "memory.current"),
    "cgroup": ("memory.limit_in_bytes", "memory.oom_control", "memory.usage_in_bytes"),
}
_PREFIX = "palaestra"
# What the processes of a group may take to be gone when they have ended, seconds.
_GONE, _NAP = 1.0, 0.01
_NUMBERS = itertools.count()


class ControlGroup:
    """A group that has no process yet.

    Args:
        folder: of the group.
        files: names of the files in it that `descriptors` opens.
    """

    def __init__(self, folder: Path, files: tuple[str, str, str]):
        self.folder, self.files = folder, files

    @property
    def entrance(self) -> Path:
        """Whatever writes 0 to this file is in the group, and so are the processes that come from it."""
        return self.folder / "cgroup.procs"

    def descriptors(self) -> list[int]:
        """Open files, for writing the bound of memory, for reading how many processes were ended for it, and for
        reading how much there is."""
        ways = (os.O_WRONLY, os.O_RDONLY, os.O_RDONLY)
        return [os.open(self.folder / name, way) for name, way in zip(self.files, ways)]

    def remove(self) -> None:
        """Remove the group, the processes of which have ended."""
        until = time.monotonic() + _GONE
        while True:
            try:
                os.rmdir(self.folder)
                return
            except FileNotFoundError:
                return
            except OSError:
                if time.monotonic() > until:
                    return
                time.sleep(_NAP)


def make_group() -> ControlGroup | None:
    """A fresh group; None where this process cannot make one in which memory is counted."""
    for folder, kind in _candidates():
        made = folder / f"{_PREFIX}-{os.getpid()}-{_begun(os.getpid())}-{next(_NUMBERS)}"
        try:
            _remove_abandoned(folder)
            made.mkdir()
        except OSError:
            continue
        group = ControlGroup(made, _FILES[kind])
        # What would go to the disk instead is kept from there, where that can be said.
        for name in ("memory.swap.max", "memory.swappiness"):
            with contextlib.suppress(OSError):
                (made / name).write_text("0")
        if all(os.access(made / name, os.R_OK if place else os.W_OK) for place, name in enumerate(group.files)):
            return group
        group.remove()
    return None


def _candidates() -> list[tuple[Path, str]]:
    """Groups in which one might be made, and their kinds: the one that this process is in, and the one above."""
    try:
        lines = Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines()
        mounts = [line.split() for line in Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines()]
    except OSError:
        return []
    own: dict[str, str] = {}
    for line in lines:
        number, controllers, path = line.split(":", 2)
        if "memory" in controllers.split(","):
            own["cgroup"] = path
        elif number == "0":
            own["cgroup2"] = path
    found = []
    for words in mounts:
        # Behind "-": the kind, the source, and the options of the file system.
        kind, _, options = words[words.index("-") + 1 :][:3]
        if kind not in own or (kind == "cgroup" and "memory" not in options.split(",")):
            continue
        within = os.path.relpath(own[kind], words[3])
        if within != ".." and not within.startswith("../"):
            folder = Path(words[4], within)
            found += [(folder, kind), *([(folder.parent, kind)] if within != "." else [])]
    return found


def _remove_abandoned(folder: Path) -> None:
    """Remove the groups of processes that were killed before they could."""
    for place in folder.glob(f"{_PREFIX}-*-*-*"):
        process, begun = place.name.split("-")[1:3]
        if process.isdecimal() and _begun(int(process)) != begun:
            with contextlib.suppress(OSError):
                place.rmdir()


def _begun(process: int) -> str:
    """When a process began; "" where there is none."""
    try:
        # After the name, which may hold anything, in parentheses.
        return Path(f"/proc/{process}/stat").read_text(errors="replace").rpartition(")")[2].split()[19]
    except OSError:
        return ""
