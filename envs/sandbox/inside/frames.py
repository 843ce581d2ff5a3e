"""What a container's first process and its caller must agree on."""

from __future__ import annotations

import struct

# Where programs can write: empty, and of a limited size.
FOLDERS = ("/tmp", "/dev/shm")
# A request is the sizes of its three parts, then these.
REQUEST = struct.Struct("<QQQ")
# What comes back is frames: the channel and the size, then so many bytes. A report ends a run's; the others have the
# standard output, the error output and the values, and a limit each.
FRAME = struct.Struct("<BI")
REPORT, CHANNELS = 0, ("output_bytes", "output_bytes", "value_bytes")
