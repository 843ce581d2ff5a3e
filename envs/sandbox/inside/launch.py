"""Start a command in a user namespace; if the caller is root, the namespace has a second, unprivileged user.

    python -m inside.launch GROUP COMMAND...

COMMAND is the bubblewrap command; its word NAMESPACE is replaced by the descriptor of the namespace. No further user
namespace can be made inside. GROUP is the file through which a process enters the sandbox's control group, or empty
without a group.
"""

from __future__ import annotations

import contextlib
import os
import resource
import sys

from . import kernel

# The user of programs if the caller is root: its id inside the namespace, and on the machine.
INSIDE, OUTSIDE = 1000, 2_000_000_000
_THREAD_STACK = 2 << 20


def main() -> None:
    if sys.argv[1]:
        # Permission to make a group may not include entering it; then the sandbox runs without one.
        with contextlib.suppress(OSError):
            write(sys.argv[1], "0")
    # When memory runs out, kill this process early, but after the programs.
    with contextlib.suppress(OSError):
        write("/proc/self/oom_score_adj", "900")
    # The default stack of threads of programs.
    resource.setrlimit(resource.RLIMIT_STACK, (_THREAD_STACK, resource.getrlimit(resource.RLIMIT_STACK)[1]))
    namespace = make_namespace()
    os.set_inheritable(namespace, True)
    command = [str(namespace) if word == "NAMESPACE" else word for word in sys.argv[2:]]
    os.execvp(command[0], command)


def make_namespace() -> int:
    """Make a new user namespace, and return a descriptor of it."""
    (made_out, made_in), (mapped_out, mapped_in) = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        kernel.unshare(kernel.NEW_USER)
        os.write(made_in, b".")
        os.read(mapped_out, 1)
        # If this file cannot be written, only the system-call filter forbids further namespaces.
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
    # In a container that maps too few users, programs run as root's own user.
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
    """Return True if a user ("uid") or group ("gid") of this number exists in this process's namespace."""
    with open(f"/proc/self/{kind}_map", encoding="ascii") as file:
        ranges = [list(map(int, line.split())) for line in file]
    return any(first <= number < first + count for first, _, count in ranges)


def write(path: str, text: str) -> None:
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


if __name__ == "__main__":
    main()
