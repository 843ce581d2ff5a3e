"""Constants and formats that a supervisor and its caller must agree on."""

from __future__ import annotations

import struct

# The folders that programs can write to, with limited size, and initially empty except for the program.
FOLDERS = ("/tmp", "/dev/shm")
# The folder of the caller's packages.
PACKAGES = "/packages"
# The file of the program, in the first of the folders.
PROGRAM = "program.py"
# Space for the program's own file beyond the limits of a run: a directory entry, and a page.
OWN_FILES, OWN_BYTES = 1, 4096
# The parts of a job; empty parts have no file, except for the first.
PARTS = ("program", "files", "stdin", "calls")
# The header of a request to a container: the sizes of the limits and parts that follow.
REQUEST = struct.Struct("<QQQQQ")
# The header of a call: its size in bytes, and its seconds.
CALL = struct.Struct("<Qd")
# The header of a frame from a container: the channel, and the size of the payload. A report ends the frames of a run;
# the other channels are the standard output, the error output and the values, with these limits.
FRAME = struct.Struct("<BI")
REPORT, CHANNELS = 0, ("output_bytes", "output_bytes", "value_bytes")
