"""Parser of commands in a reply, in any spelling: ``search[...]``, ``<open>...</open>``, ``next()``, ``Answer: X``."""

from __future__ import annotations

import json
import re
from contextlib import suppress

from ....rewards.answers import readings
from ....rewards.answers.formats import enclosed_contents

# Characters read at the end of a reply, and maximum length of an argument.
_READ, _MOST = 20_000, 4_200
_NAMES = ("search", "open", "next", "answer")
_LEAD = r"(?:(?:next )?(?:action|command|step)(?: \d+)?: *|(?:i will|i'll|let me|let us|now|then|first),? +)?"
_BRACKETS = re.compile(
    rf"{_LEAD}({'|'.join(_NAMES)}) *(?:\[([^\]\n]{{0,4200}}?)\]+|\(([^\n]{{0,400}})\))\.?", re.IGNORECASE
)
_TAGS = re.compile(r"<(search|open|next)>((?:(?!</?\1).){0,400})</\1>", re.IGNORECASE | re.DOTALL)
_CALL = re.compile(r"<tool_call>(.{0,4200}?)</tool_call>", re.DOTALL)
_PLAIN = re.compile(rf"{_LEAD}(?:(search|open|answer)(?: *: *| +)(\S.*)|(next)(?: (?:page|part))?)", re.IGNORECASE)
_STATED = re.compile(
    r"(?:(?:so|thus|therefore|hence),? )?(?:the |my )?(?:final |right |correct )?answer(?: is:?|:) *(?!not\b)(\S.*)",
    re.IGNORECASE,
)
_MARKS = " \t\r\n*`_\"'$"
_PART = re.compile(r"(.*?)[ ,|#]*\bpart (\d{1,3})", re.IGNORECASE | re.DOTALL)


def read_command(action: str) -> tuple[str, str] | None:
    """Return (command, argument) of a reply; None if the reply has no command.

    The last call in tags or in a ``<tool_call>`` counts if no answer in tags or in a box follows it. Otherwise the
    command is read at the place where `rewards.answers.readings` finds the answer of a reply, or else from the last
    line that is a command. Text in ``<answer></answer>`` or in a box counts as the command "answer".
    """
    text = action[-_READ:]
    called = _find_call(text)
    enclosed = enclosed_contents(text)
    if called is not None and (enclosed is None or text.rfind("</answer>") < called[0] > text.rfind("\\boxed{")):
        return called[1], called[2]
    for reading in readings(text):
        if found := _BRACKETS.fullmatch(reading):
            return found[1].lower(), _strip(found[2] if found[2] is not None else found[3])
    if enclosed is not None and enclosed[0][-1]:
        return "answer", _strip("; ".join(enclosed[0]))
    lines = [line.strip(_MARKS) for line in text.strip().split("\n")[-200:]]
    if plain := _PLAIN.fullmatch(lines[-1][:_MOST]):
        return (plain[1] or plain[3]).lower(), _strip(plain[2] or "")
    if stated := _STATED.fullmatch(lines[-1][:_MOST]):
        return "answer", _strip(stated[1])
    for line in reversed(lines):
        if found := _BRACKETS.fullmatch(line[:_MOST]):
            return found[1].lower(), _strip(found[2] if found[2] is not None else found[3])
    return None


def _find_call(text: str) -> tuple[int, str, str] | None:
    """Return (end position, name, argument) of the last call in tags or in JSON; None if there is none."""
    found = [(match.end(), match[1].lower(), _strip(match[2])) for match in _TAGS.finditer(text)]
    for match in _CALL.finditer(text):
        with suppress(ValueError, TypeError, KeyError, AttributeError, RecursionError):
            call = json.loads(match[1])
            values = [str(value) for value in call.get("arguments", {}).values()]
            if call["name"] in _NAMES:
                found.append((match.end(), call["name"], _strip(values[0] if values else "")))
    return max(found, default=None)


def _strip(argument: str) -> str:
    return argument.strip(_MARKS).lstrip("[")[:_MOST]


def split_part(argument: str) -> tuple[str, int]:
    """Split off the requested part: "Oskvale, part 2" becomes ("Oskvale", 2). The default is part 1."""
    found = _PART.fullmatch(argument)
    return (found[1].strip(), max(int(found[2]), 1)) if found and found[1].strip() else (argument, 1)
