"""The warm interpreter of the sandbox: forks each run into namespaces of its own, watches it, and reports.

    python -m inside.zygote FD

FD is a socket to the caller. Of each request this process reads only the limits; the program and its input are in a
file that the run alone opens, so that no run finds anything of another in its memory.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import select
import signal
import socket
import sys
import time

from . import kernel, program

# The user as which programs run where this one is root.
_USER = 1000
_TICK = 0.01
_CHUNK = 1 << 16
_PAGE = os.sysconf("SC_PAGE_SIZE")


def main() -> None:
    control = socket.socket(fileno=int(sys.argv[1]))
    filters = sys.stdin.buffer.read()
    os.dup2(os.open("/dev/null", os.O_RDONLY), 0)
    # Programs get no /proc; this process keeps its own through a descriptor.
    processes = os.open("/proc", os.O_RDONLY | os.O_DIRECTORY)
    kernel.unmount("/proc")
    disks = {folder: Disk(folder) for folder in ("/tmp", "/dev/shm")}
    gc.collect()
    gc.freeze()
    control.sendall(b"\n")
    while True:
        header, descriptors, _, _ = socket.recv_fds(control, _CHUNK, 1)
        if not header:
            return
        limits = json.loads(header)
        for disk in disks.values():
            disk.prepare(f"size={int(limits['disk_mb'])}m,nr_inodes={int(limits['files'])}")
        report, streams = supervise(limits, descriptors[0], filters, control, processes)
        report["sizes"] = [len(stream) for stream in streams]
        control.sendall(json.dumps(report).encode() + b"\n" + b"".join(streams))
        for disk in disks.values():
            disk.clean()


class Disk:
    """A folder that is empty for every run. Mounting is slow, so it is done anew only after a run that used it."""

    def __init__(self, folder: str):
        self.folder = folder
        self.options = ""
        self.mounted = False
        self.fresh: tuple[int, ...] = ()

    def prepare(self, options: str) -> None:
        if self.mounted and options == self.options and self._look() == self.fresh:
            return
        if self.mounted:
            kernel.unmount(self.folder)
        kernel.mount("tmpfs", self.folder, f"mode=1777,{options}")
        self.options, self.mounted, self.fresh = options, True, self._look()

    def clean(self) -> None:
        """Let go of what a run left, rather than keep it until the next one."""
        if self._look() != self.fresh:
            self.prepare(self.options)

    def _look(self) -> tuple[int, ...]:
        found = os.stat(self.folder)
        return found.st_mode, found.st_mtime_ns, found.st_ctime_ns, found.st_uid, found.st_dev


def supervise(
    limits: dict[str, float], payload: int, filters: bytes, control: socket.socket, processes: int
) -> tuple[dict[str, object], list[bytes]]:
    """Run a program; how it ended, and what it wrote to its output, its error output and its channel for values."""
    pipes = [os.pipe() for _ in range(3)]
    begun = time.monotonic()
    # System V's objects outlive processes; where the filter refuses them, the slow namespace for them is spared.
    child = kernel.fork_into(kernel.NEW_PID if filters else kernel.NEW_PID | kernel.NEW_IPC)
    if child == 0:
        try:
            control.close()
            os.close(processes)
            for inside, _ in pipes:
                os.close(inside)
            restrict(limits, filters, pipes[0][1], pipes[1][1])
            program.run(payload, pipes[2][1])
        finally:
            os._exit(70)
    os.close(payload)
    for _, outside in pipes:
        os.close(outside)
    run = Run(limits, child, [inside for inside, _ in pipes], processes, begun + limits["seconds"])
    reason = run.watch(control)
    # With its first process, all of a namespace ends.
    os.kill(child, signal.SIGKILL)
    _, status, usage = os.wait4(child, 0)
    seconds = time.monotonic() - begun
    report: dict[str, object] = {"reason": reason or run.drain(), "seconds": seconds, "peak": usage.ru_maxrss}
    report["code"] = None if report["reason"] else os.waitstatus_to_exitcode(status)
    for pipe in run.pipes:
        os.close(pipe)
    return report, [b"".join(parts) for parts in run.found]


class Run:
    """A program at work, and what came through its pipes."""

    def __init__(self, limits: dict[str, float], child: int, pipes: list[int], processes: int, deadline: float):
        self.child, self.pipes, self.processes, self.deadline = child, pipes, processes, deadline
        self.memory = limits["memory_mb"] * 2**20
        self.left = [int(limits[name]) for name in ("output_bytes", "output_bytes", "value_bytes")]
        self.found: list[list[bytes]] = [[] for _ in pipes]

    def watch(self, control: socket.socket) -> str:
        """Wait until the program ends, and say "", or until it must be ended, and say why."""
        poll = select.poll()
        places = {pipe: place for place, pipe in enumerate(self.pipes)}
        end = os.pidfd_open(self.child)
        for descriptor in (end, control.fileno(), *self.pipes):
            poll.register(descriptor, select.POLLIN)
        try:
            while True:
                left = self.deadline - time.monotonic()
                if left <= 0:
                    return "time"
                events = dict(poll.poll(1000 * min(_TICK, left)))
                if control.fileno() in events:
                    os._exit(0)  # the caller is gone, or speaks out of turn
                for descriptor in events.keys() & places.keys():
                    if not self.read(places[descriptor]):
                        poll.unregister(descriptor)
                    elif self.left[places[descriptor]] < 0:
                        return "output"
                if end in events:
                    return ""
                if not events and self.resident() > self.memory:
                    return "memory"
        finally:
            os.close(end)

    def read(self, place: int) -> int:
        """Bytes that were there to be read; 0 at the end of a pipe."""
        data = os.read(self.pipes[place], _CHUNK)
        self.found[place].append(data[: max(self.left[place], 0)])
        self.left[place] -= len(data)
        return len(data)

    def drain(self) -> str:
        """Read what is left in the pipes of a program that has ended."""
        for place in range(len(self.pipes)):
            while self.left[place] >= 0 and self.read(place):
                pass
        return "output" if min(self.left) < 0 else ""

    def resident(self) -> int:
        """Bytes of memory of all processes of the run beyond what they share with this one."""
        known = {str(os.getpid()), "1"}
        names = [name for name in os.listdir(self.processes) if name.isdigit() and name not in known]
        shared = self.pages(str(os.getpid()))
        return _PAGE * sum([max(0, self.pages(name) - shared) for name in names])

    def pages(self, name: str) -> int:
        try:
            file = os.open(f"{name}/statm", os.O_RDONLY, dir_fd=self.processes)
        except OSError:
            return 0  # it has just ended
        try:
            return int(os.read(file, 200).split()[1])
        except (OSError, IndexError):
            return 0
        finally:
            os.close(file)


def restrict(limits: dict[str, float], filters: bytes, output: int, errors: int) -> None:
    """Make this process the program's: its user, limits, output and nothing else."""
    memory = int(limits["memory_mb"] * 2**20)
    for kind, limit in (
        (resource.RLIMIT_DATA, memory),
        (resource.RLIMIT_AS, memory + (1 << 30)),
        (resource.RLIMIT_CPU, int(limits["seconds"]) + 2),
        (resource.RLIMIT_FSIZE, int(limits["disk_mb"] * 2**20)),
        (resource.RLIMIT_NOFILE, int(limits["files"])),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_MSGQUEUE, 0),
        (resource.RLIMIT_NPROC, int(limits["processes"])),
    ):
        resource.setrlimit(kind, (limit, limit))
    os.setsid()
    os.chdir("/tmp")
    if os.getuid() == 0:
        os.setgroups([])
        os.setresgid(_USER, _USER, _USER)
        os.setresuid(_USER, _USER, _USER)
    kernel.drop_privileges()
    os.dup2(output, 1)
    os.dup2(errors, 2)
    os.close(output)
    os.close(errors)
    if filters:
        kernel.filter_calls(filters)


if __name__ == "__main__":
    main()
