"""A control group for a sandbox, where this process may make one: the kernel's bound of all memory that is held for the
sandbox's programs: pages of processes and files, buffers, tables and descriptions.

Either generation of control groups works, and no privilege is needed but that of writing to the group of this process,
or to the one above it. Where none can be made, the sandbox runs without: the supervisor (`inside.watch`) counts the
memory of programs, and the group is a second bound behind it. A group ends with its sandbox. Where a process is killed
before it can remove its group, the empty group stays until the next one is made next to it.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import time
from pathlib import Path

# Files of a group: the bound of its memory, the count of processes killed for it, and the memory it holds.
_FILES = {
    "cgroup2": ("memory.max", "memory.events", "memory.current"),
    "cgroup": ("memory.limit_in_bytes", "memory.oom_control", "memory.usage_in_bytes"),
}
_PREFIX = "palaestra"
# Time for the processes of a group to disappear after their end, and between two attempts to remove it, seconds.
_GONE, _NAP = 1.0, 0.01
_NUMBERS = itertools.count()


class ControlGroup:
    """A group that has no process yet.

    Args:
        folder: the folder of the group.
        files: the names of the files in it that `descriptors` opens.
    """

    def __init__(self, folder: Path, files: tuple[str, str, str]):
        self.folder, self.files = folder, files

    @property
    def entrance(self) -> Path:
        """The file through which a process enters the group: by writing 0 to it. Its children are then in it, too."""
        return self.folder / "cgroup.procs"

    def descriptors(self) -> list[int]:
        """Open the files of the group: for writing the bound of memory, for reading the count of processes killed for
        it, and for reading the memory held."""
        ways = (os.O_WRONLY, os.O_RDONLY, os.O_RDONLY)
        return [os.open(self.folder / name, way) for name, way in zip(self.files, ways)]

    def remove(self) -> None:
        """Remove the group after its processes have ended."""
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
    """Make a new group. Return None where this process cannot make one in which memory is counted."""
    for folder, kind in _candidates():
        path = folder / f"{_PREFIX}-{os.getpid()}-{_start_time(os.getpid())}-{next(_NUMBERS)}"
        try:
            _remove_abandoned(folder)
            path.mkdir()
        except OSError:
            continue
        group = ControlGroup(path, _FILES[kind])
        # No swap where that can be set, as swapped memory would not count.
        for name in ("memory.swap.max", "memory.swappiness"):
            with contextlib.suppress(OSError):
                (path / name).write_text("0")
        if all(os.access(path / name, os.R_OK if place else os.W_OK) for place, name in enumerate(group.files)):
            return group
        group.remove()
    return None


def _candidates() -> list[tuple[Path, str]]:
    """List the groups in which one might be made, with their kinds: this process's own, and the one above it."""
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
    """Remove the groups of processes that were killed before they could remove them."""
    for place in folder.glob(f"{_PREFIX}-*-*-*"):
        process, begun = place.name.split("-")[1:3]
        if process.isdecimal() and _start_time(int(process)) != begun:
            with contextlib.suppress(OSError):
                place.rmdir()


def _start_time(process: int) -> str:
    """Return the start time of a process, in ticks since boot; "" where there is none."""
    try:
        # The fields behind the name, which may hold anything and stands in parentheses.
        return Path(f"/proc/{process}/stat").read_text(errors="replace").rpartition(")")[2].split()[19]
    except OSError:
        return ""
