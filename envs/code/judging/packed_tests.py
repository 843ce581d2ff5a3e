"""Unpacking of LiveCodeBench's hidden tests: JSON, or a pickled string of JSON, compressed by zlib, in base64."""

from __future__ import annotations

import base64
import binascii
import pickletools
import zlib

from ...datasets.layouts import UnusableRecord

_MOST_BYTES = 1 << 28
_TEXTS = ("SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8")
_HARMLESS = ("PROTO", "FRAME", "MEMOIZE", "BINPUT", "LONG_BINPUT", "STOP")


def unpack_tests(text: str) -> str:
    """Return the JSON in ``text``.

    Raises:
        UnusableRecord: the text is not packed in this format, or unpacks to more than 256 MiB.
    """
    if text.lstrip()[:1] in ("[", "{"):
        return text
    try:
        unpack = zlib.decompressobj()
        data = unpack.decompress(base64.b64decode(text, validate=True), _MOST_BYTES)
        if unpack.unconsumed_tail or not unpack.eof:
            raise UnusableRecord(f"the hidden tests have more than {_MOST_BYTES >> 20} MiB, or are cut off")
        return data.decode() if data[:1] in b"[{" else _read_pickled_text(data)
    except (binascii.Error, zlib.error, UnicodeDecodeError) as error:
        raise UnusableRecord(f"the hidden tests are neither JSON nor packed JSON ({error})") from None


def _read_pickled_text(data: bytes) -> str:
    """Return the only string in a pickle. The pickle is read as a list of instructions; no instruction is executed.

    Raises:
        UnusableRecord: the pickle holds anything but one string.
    """
    texts, others = [], set()
    try:
        for instruction, argument, _ in pickletools.genops(data):
            if instruction.name in _TEXTS:
                texts.append(argument)
            elif instruction.name not in _HARMLESS:
                others.add(instruction.name)
    except (ValueError, UnicodeDecodeError, IndexError) as error:
        raise UnusableRecord(f"the hidden tests are no pickle ({error})") from None
    if others or len(texts) != 1:
        raise UnusableRecord("the pickle of the hidden tests holds more than one text, which is never loaded")
    return str(texts[0])
