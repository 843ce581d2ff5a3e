"""Control group of a sandbox: the kernel's limit on all memory held for the sandbox's programs, which are pages of
processes and files, buffers and kernel tables.

Control groups v1 and v2 both work; the only privilege needed is to write to the group of this process or to its parent
group. If no group can be made, the sandbox runs without it: the supervisor (`inside.watch`) counts the memory of
programs, and the group is a second limit behind it. A group ends with its sandbox. If a process is killed before it can
remove its group, the empty group stays until the next group is made in the same parent.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import time
from pathlib import Path

# Files of a group: the memory limit, the count of processes killed for lack of memory, and the memory in use.
_FILES = {
    "cgroup2": ("memory.max", "memory.events", "memory.current"),
    "cgroup": ("memory.limit_in_bytes", "memory.oom_control", "memory.usage_in_bytes"),
}
_PREFIX = "palaestra"
# Time for the processes of a group to disappear after their end, and between two attempts to remove it, seconds.
_GONE, _NAP = 1.0, 0.01
_NUMBERS = itertools.count()


class ControlGroup:
    """A control group, without processes when it is made.

    Args:
        folder: the folder of the group.
        files: the names of the files in it that `descriptors` opens.
    """

    def __init__(self, folder: Path, files: tuple[str, str, str]):
        self.folder, self.files = folder, files

    @property
    def entrance(self) -> Path:
        """The file to which a process writes 0 to enter the group, together with all its later children."""
        return self.folder / "cgroup.procs"

    def descriptors(self) -> list[int]:
        """Return open descriptors of the group's files: the memory limit (for writing), the count of killed processes
        and the memory in use (for reading)."""
        ways = (os.O_WRONLY, os.O_RDONLY, os.O_RDONLY)
        return [os.open(self.folder / name, way) for name, way in zip(self.files, ways)]

    def remove(self) -> None:
        """Remove the group once its processes have ended; give up after one second."""
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
    """Make a new group. Return None if this process cannot make one that counts memory."""
    for folder, kind in _candidates():
        path = folder / f"{_PREFIX}-{os.getpid()}-{_start_time(os.getpid())}-{next(_NUMBERS)}"
        try:
            _remove_abandoned(folder)
            path.mkdir()
        except OSError:
            continue
        group = ControlGroup(path, _FILES[kind])
        # Disable swap if possible, because swapped memory would not count.
        for name in ("memory.swap.max", "memory.swappiness"):
            with contextlib.suppress(OSError):
                (path / name).write_text("0")
        if all(os.access(path / name, os.R_OK if place else os.W_OK) for place, name in enumerate(group.files)):
            return group
        group.remove()
    return None


def _candidates() -> list[tuple[Path, str]]:
    """List the possible parents of a new group, with their kinds: this process's group, and the parent of that
    group."""
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
    """Return the start time of a process, in ticks since boot; "" if it does not exist."""
    try:
        # The fields after the process's name, which is in parentheses and may hold any character.
        return Path(f"/proc/{process}/stat").read_text(errors="replace").rpartition(")")[2].split()[19]
    except OSError:
        return ""
