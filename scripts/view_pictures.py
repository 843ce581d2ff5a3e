"""Pictures in episodes: arrays of pixels in JSON, ``[height][width][3]`` numbers from 0 to 255, become PNG as text.

The encoder needs nothing beside the standard library, as a page of episodes is often made where Pillow is missing.
"""

from __future__ import annotations

import base64
import struct
import zlib
from typing import Any

PREFIX = "data:image/png;base64,"
SMALLEST = 16
"""Least height and width of a picture in pixels. Smaller arrays are codes of cells, as in gridworlds."""


def encode_pictures(value: Any) -> Any:
    """Return JSON data in which every array of pixels is replaced by a text that begins with `PREFIX`."""
    if isinstance(value, dict):
        return {key: encode_pictures(item) for key, item in value.items()}
    if not isinstance(value, list):
        return value
    if _has_shape_of_picture(value):
        rows = _pack_rows(value)
        if rows is not None:
            return PREFIX + base64.b64encode(encode_png(rows, len(value[0]))).decode()
        return value
    return [encode_pictures(item) for item in value]


def _has_shape_of_picture(value: list[Any]) -> bool:
    if len(value) < SMALLEST or not all(isinstance(row, list) and len(row) >= SMALLEST for row in value):
        return False
    width = len(value[0])
    return all(len(row) == width and all(isinstance(one, list) and len(one) == 3 for one in row) for row in value)


def _pack_rows(value: list[Any]) -> list[bytes] | None:
    """Return each row as bytes; None if a number is no byte."""
    try:
        return [bytes(channel for pixel in row for channel in pixel) for row in value]
    except (TypeError, ValueError):
        return None


def encode_png(rows: list[bytes], width: int) -> bytes:
    """Encode rows of RGB pixels, three bytes each, as PNG."""

    def part(kind: bytes, content: bytes) -> bytes:
        check = struct.pack(">I", zlib.crc32(kind + content))
        return struct.pack(">I", len(content)) + kind + content + check

    header = struct.pack(">IIBBBBB", width, len(rows), 8, 2, 0, 0, 0)
    pixels = zlib.compress(b"".join(b"\0" + row for row in rows), 9)
    return b"\x89PNG\r\n\x1a\n" + part(b"IHDR", header) + part(b"IDAT", pixels) + part(b"IEND", b"")
