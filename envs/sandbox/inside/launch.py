"""Start a command in a user namespace that has a second, powerless user where the caller is root.

    python -m inside.launch COMMAND...

Its descriptor is put in place of the word NAMESPACE in COMMAND, which is bubblewrap's. No
further user namespace can be made inside.
"""

from __future__ import annotations

import os
import sys

from . import kernel

# The user as which programs run where the caller is root: inside, and on the machine.
INSIDE, OUTSIDE = 1000, 2_000_000_000


def main() -> None:
    namespace = make_namespace()
    os.set_inheritable(namespace, True)
    command = [str(namespace) if word == "NAMESPACE" else word for word in sys.argv[1:]]
    os.execvp(command[0], command)


def make_namespace() -> int:
    """A descriptor of a fresh user namespace."""
    (made_out, made_in), (mapped_out, mapped_in) = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        kernel.unshare(kernel.NEW_USER)
        os.write(made_in, b".")
        os.read(mapped_out, 1)
        write("/proc/sys/user/max_user_namespaces", "0")
        os.write(made_in, b".")
        os.read(mapped_out, 1)
        os._exit(0)
    os.close(made_in)
    if not os.read(made_out, 1):
        os.waitpid(child, 0)
        sys.exit("unprivileged user namespaces are not allowed on this machine")
    user, group = os.getuid(), os.getgid()
    if user == 0:
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


def write(path: str, text: str) -> None:
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


if __name__ == "__main__":
    main()
