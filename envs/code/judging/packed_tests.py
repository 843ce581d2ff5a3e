"""Tests as LiveCodeBench packs them: text of JSON, or a pickled string of it within zlib within base64."""

from __future__ import annotations

import base64
import binascii
import pickletools
import zlib

from ...datasets.layouts import UnusableRecord

_MOST_BYTES = 1 << 28
_TEXTS = ("SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8")
_HARMLESS = ("PROTO", "FRAME", "MEMOIZE", "BINPUT", "LONG_BINPUT", "STOP")


def unpacked(text: str) -> str:
    """The JSON in ``text``.

    Raises:
        LeftOut: it is not packed so, or holds more than 256 MiB.
    """
    if text.lstrip()[:1] in ("[", "{"):
        return text
    try:
        unpack = zlib.decompressobj()
        data = unpack.decompress(base64.b64decode(text, validate=True), _MOST_BYTES)
        if unpack.unconsumed_tail or not unpack.eof:
            raise UnusableRecord(f"the tests that are not shown have more than {_MOST_BYTES >> 20} MiB, or are cut off")
        return data.decode() if data[:1] in b"[{" else _pickled_text(data)
    except (binascii.Error, zlib.error, UnicodeDecodeError) as error:
        raise UnusableRecord(f"the tests that are not shown are neither JSON nor packed JSON ({error})") from None


def _pickled_text(data: bytes) -> str:
    """The one string that a pickle holds. It is read as a list of instructions, none of which is carried out.

    Raises:
        LeftOut: it holds something else.
    """
    texts, others = [], set()
    try:
        for instruction, argument, _ in pickletools.genops(data):
            if instruction.name in _TEXTS:
                texts.append(argument)
            elif instruction.name not in _HARMLESS:
                others.add(instruction.name)
    except (ValueError, UnicodeDecodeError, IndexError) as error:
        raise UnusableRecord(f"the tests that are not shown are no pickle ({error})") from None
    if others or len(texts) != 1:
        raise UnusableRecord(
            "the pickle of the tests that are not shown holds more than one text, which is never loaded"
        )
    return str(texts[0])
