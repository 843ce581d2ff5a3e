"""The streams of a container as the engine passes them on: frames of `inside.frames` within the engine's own frames."""

from __future__ import annotations

import socket
import time
from typing import Any

from .inside.frames import FRAME, REPORT

_REPORT_BYTES = 1 << 19
_CHUNK = 1 << 16
# A frame of the engine: the length of its header in bytes, and the header's first byte for standard output.
_HEAD = 8
_OUTPUT = 1


class ContainerStream:
    """The standard input and the two outputs of a container. The engine wraps every piece of output in a frame.

    Every call raises TimeoutError after ``deadline`` (`time.monotonic`), and EOFError once the container has ended.
    """

    def __init__(self, attached: Any):
        self._attached = attached
        self._socket: socket.socket = getattr(attached, "_sock", attached)
        self._received, self._output = bytearray(), bytearray()
        self.errors = b""
        self.deadline = 0.0

    def write(self, data: bytes) -> None:
        self._wait()
        self._socket.sendall(data)

    def report(self, found: list[bytearray], most: list[int]) -> bytes:
        """Receive the next report, and the output of the channels before it.

        Args:
            found: for each channel the bytes received so far; new bytes are appended.
            most: the maximum number of bytes of each channel.

        Raises:
            ValueError: a channel has more bytes than allowed, or there is no such channel.
        """
        while True:
            channel, size = FRAME.unpack(self._read(FRAME.size))
            if channel == REPORT and size <= _REPORT_BYTES:
                return self._read(size)
            if not REPORT < channel <= len(found) or len(found[channel - 1]) + size > most[channel - 1]:
                raise ValueError(f"{size} bytes of channel {channel} are too many")
            found[channel - 1] += self._read(size)

    def close(self) -> None:
        self._attached.close()
        self._socket.close()

    def _read(self, size: int) -> bytes:
        while len(self._output) < size:
            self._receive()
        data = bytes(self._output[:size])
        del self._output[:size]
        return data

    def _receive(self) -> None:
        """Receive some bytes, and take the payload out of the engine's frames that are complete."""
        self._wait()
        data = self._socket.recv(_CHUNK)
        if not data:
            raise EOFError("the container ended")
        self._received += data
        while len(self._received) >= _HEAD:
            end = _HEAD + int.from_bytes(self._received[4:_HEAD], "big")
            if len(self._received) < end:
                return
            if self._received[0] == _OUTPUT:
                self._output += self._received[_HEAD:end]
            else:
                self.errors = (self.errors + self._received[_HEAD:end])[-_REPORT_BYTES:]
            del self._received[:end]

    def _wait(self) -> None:
        seconds = self.deadline - time.monotonic()
        if seconds <= 0:
            raise TimeoutError
        self._socket.settimeout(seconds)
