"""Commands in a reply, however they are written: ``search[...]``, ``<open>...</open>``, ``next()``, "Answer: ..." """

from __future__ import annotations

import json
import re
from contextlib import suppress

# The end of a reply that is read, and the longest argument.
_READ, _MOST = 20_000, 4_200
_BRACKETS = re.compile(r"\b(search|open|next|answer)\s*(?:\[([^\]\n]{0,4200})\]|\(([^()\n]{0,400})\))", re.IGNORECASE)
_TAGS = re.compile(r"<(search|open|next|answer)>((?:(?!</?\1).){0,4200})</\1>", re.IGNORECASE | re.DOTALL)
_CALL = re.compile(r"<tool_call>(.{0,4200}?)</tool_call>", re.DOTALL)
_BOX = re.compile(r"\\boxed\{([^{}]{0,4200})\}")
_PLAIN = re.compile(
    r"(?:action: *)?(?:(search|open|answer)(?: *: *| +)(\S.*)|(next)(?: (?:page|part))?)", re.IGNORECASE
)
_STATED = re.compile(
    r"(?:(?:so|thus|therefore|hence),? )?(?:the |my )?(?:final |right |correct )?answer(?: is:?|:) *(\S.*)",
    re.IGNORECASE,
)
_MARKS = " \t\r\n*`_\"'$"
_PART = re.compile(r"(.*?)[ ,|#]*\bpart (\d{1,3})", re.IGNORECASE | re.DOTALL)


def read_command(action: str) -> tuple[str, str] | None:
    """Return the last command in a reply and its argument; None where there is none.

    A command in brackets, in parentheses or in tags may stand anywhere; so may a ``<tool_call>`` in JSON, and an answer
    in a box. A command in plain words stands on the last line.
    """
    text = action[-_READ:]
    found: list[tuple[int, str, str]] = []
    for match in _BRACKETS.finditer(text):
        found.append((match.end(), match[1], match[2] if match[2] is not None else match[3]))
    for match in _TAGS.finditer(text):
        inside = _BRACKETS.search(match[2])
        found.append((match.end(), *((inside[1], inside[2] or inside[3] or "") if inside else (match[1], match[2]))))
    for match in _CALL.finditer(text):
        with suppress(ValueError, TypeError, KeyError, AttributeError, RecursionError):
            call = json.loads(match[1])
            values = [str(value) for value in call.get("arguments", {}).values()]
            if call["name"] in ("search", "open", "next", "answer"):
                found.append((match.end(), call["name"], values[0] if values else ""))
    if not found:
        found = [(match.end(), "answer", match[1]) for match in _BOX.finditer(text)]
    if found:
        _, name, argument = max(found)
        return name.lower(), argument.strip(_MARKS)[:_MOST]
    last = text.strip().rpartition("\n")[2].strip(_MARKS)[:_MOST]
    if plain := _PLAIN.fullmatch(last):
        return (plain[1] or plain[3]).lower(), (plain[2] or "").strip(_MARKS)
    if stated := _STATED.fullmatch(last):
        return "answer", stated[1].strip(_MARKS)
    return None


def split_part(argument: str) -> tuple[str, int]:
    """Split off the part that is asked for: "Oskvale, part 2" becomes ("Oskvale", 2); 1 where none is named."""
    found = _PART.fullmatch(argument)
    return (found[1].strip(), max(int(found[2]), 1)) if found and found[1].strip() else (argument, 1)
