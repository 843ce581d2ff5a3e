"""What a supervisor and its caller must agree on."""

from __future__ import annotations

import struct

# Where programs can write: empty but for the program, and of a limited size.
FOLDERS = ("/tmp", "/dev/shm")
# Where the caller's packages are.
PACKAGES = "/packages"
# The file of the program, in the first of them.
PROGRAM = "program.py"
# What the program's own file may need besides what a run may write: an entry, and a page.
OWN_FILES, OWN_BYTES = 1, 4096
# A job travels in these parts; those that are empty have no file, but for the first one.
PARTS = ("program", "files", "stdin", "calls")
# To a container: the sizes of the limits and of the parts, then these.
REQUEST = struct.Struct("<QQQQQ")
# Before each call: how many bytes it has, and its seconds.
CALL = struct.Struct("<Qd")
# What comes back from a container is frames: the channel and the size, then so many bytes. A report ends a run's; the
# others have the standard output, the error output and the values, and a limit each.
FRAME = struct.Struct("<BI")
REPORT, CHANNELS = 0, ("output_bytes", "output_bytes", "value_bytes")
