"""Start a command in a user namespace that has a second, powerless user where the caller is root.

    python -m inside.launch GROUP COMMAND...

Its descriptor is put in place of the word NAMESPACE in COMMAND, which is bubblewrap's. No
further user namespace can be made inside. GROUP is the file by which a process comes into
the sandbox's control group, or empty where there is none.
"""

from __future__ import annotations

import contextlib
import os
import resource
import sys

from . import kernel

# The user as which programs run where the caller is root: inside, and on the machine.
INSIDE, OUTSIDE = 1000, 2_000_000_000
_THREAD_STACK = 2 << 20


def main() -> None:
    if sys.argv[1]:
        # Who may make a group may not always enter it; the sandbox does without.
        with contextlib.suppress(OSError):
            write(sys.argv[1], "0")
    # Among the first to go when memory runs out, but behind the programs.
    with contextlib.suppress(OSError):
        write("/proc/self/oom_score_adj", "900")
    # The stack that threads of programs have unless they say otherwise.
    resource.setrlimit(resource.RLIMIT_STACK, (_THREAD_STACK, resource.getrlimit(resource.RLIMIT_STACK)[1]))
    namespace = make_namespace()
    os.set_inheritable(namespace, True)
    command = [str(namespace) if word == "NAMESPACE" else word for word in sys.argv[2:]]
    os.execvp(command[0], command)


def make_namespace() -> int:
    """A descriptor of a fresh user namespace."""
    (made_out, made_in), (mapped_out, mapped_in) = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        kernel.unshare(kernel.NEW_USER)
        os.write(made_in, b".")
        os.read(mapped_out, 1)
        # Where this file cannot be written, the filter of system calls stands alone.
        with contextlib.suppress(OSError):
            write("/proc/sys/user/max_user_namespaces", "0")
        os.write(made_in, b".")
        os.read(mapped_out, 1)
        os._exit(0)
    os.close(made_in)
    if not os.read(made_out, 1):
        os.waitpid(child, 0)
        sys.exit("unprivileged user namespaces are not allowed on this machine")
    user, group = os.getuid(), os.getgid()
    # In a container without so many users, root has but itself to be.
    if user == 0 and is_mapped("uid", OUTSIDE) and is_mapped("gid", OUTSIDE):
        write(f"/proc/{child}/uid_map", f"0 0 1\n{INSIDE} {OUTSIDE} 1")
        write(f"/proc/{child}/gid_map", f"0 0 1\n{INSIDE} {OUTSIDE} 1")
    else:
        write(f"/proc/{child}/setgroups", "deny")
        write(f"/proc/{child}/uid_map", f"{INSIDE} {user} 1")
        write(f"/proc/{child}/gid_map", f"{INSIDE} {group} 1")
    os.write(mapped_in, b".")
    os.read(made_out, 1)
    namespace = os.open(f"/proc/{child}/ns/user", os.O_RDONLY)
    os.write(mapped_in, b".")
    os.waitpid(child, 0)
    for descriptor in (made_out, mapped_out, mapped_in):
        os.close(descriptor)
    return namespace


def is_mapped(kind: str, number: int) -> bool:
    """Whether there is a user ("uid") or group ("gid") of this number in this process's namespace."""
    with open(f"/proc/self/{kind}_map", encoding="ascii") as file:
        ranges = [list(map(int, line.split())) for line in file]
    return any(first <= number < first + count for first, _, count in ranges)


def write(path: str, text: str) -> None:
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


if __name__ == "__main__":
    main()
