r"""From what an agent wrote to the answer it gives: one extractor for every family that reads text.

A format says how lenient the reading is. The last answer counts, so that an agent may correct itself but cannot list
several. All scans are linear in the length of the text, use no backtracking pattern, and never fail.
"""

from __future__ import annotations

import re

from ..errors import unknown_name

FORMATS = ("any", "boxed", "tag", "last_line", "whole")

# What the prompt appends, so that it always says what form the answer takes.
REQUESTS = {
    "any": "",
    "boxed": " Put the answer in \\boxed{}.",
    "tag": " Put the answer in <answer></answer>.",
    "last_line": " Put the answer alone on the last line.",
    "whole": "",
}

_TEMPLATES = {"boxed": "\\boxed{%s}", "tag": "<answer>%s</answer>"}
_BOX = "\\boxed{"
_OPEN, _CLOSE = "<answer>", "</answer>"
# Lines that end a block and say nothing.
_FENCES = frozenset({"```", "~~~", "$$", "\\]"})

# Layers that are taken off, each by one look at the ends of the text.
_MOST = 8
_PAIRS = (
    *(("**", "**"), ("$$", "$$"), ("$", "$"), ("`", "`"), ('"', '"'), ("'", "'"), (r"\(", r"\)"), (r"\[", r"\]")),
    *((rf"\{name}{{", "}") for name in ("boxed", "text", "texttt", "textbf", "mathrm", "mathtt", "mathbf")),
)
_LABEL = re.compile(
    r"(?:#{1,6} )?(?P<bold>\*\*)?(?:(?:so|thus|therefore|hence),? )?(?:(?:the|my|a|one) )?"
    r"(?:(?:final|correct|next|shortest) )?"
    r"(?:answer|solution|output|result|guess|moves?|action|plan|path|way|expression|letter|word|code)"
    r"(?(bold)(?::\*\*|\*\*:|\*\* (?:is|are):?)|(?::| is:?| are:?))\s+",
    re.IGNORECASE,
)
# One of these ends every text in a pair of marks, or with a full stop.
_ENDS = frozenset("*$`\"')]}.")


def checked_format(answer_format: str) -> str:
    """``answer_format``, if it is one of `FORMATS`. Raises InputError otherwise."""
    if answer_format not in FORMATS:
        raise unknown_name("answer format", str(answer_format), FORMATS)
    return answer_format


def extract(text: str, answer_format: str = "any") -> str | None:
    """The answer in ``text``, stripped of white space, or None where the format finds none.

    Args:
        text: what the agent wrote.
        answer_format: "boxed": the content of the last ``\\boxed{...}`` with balanced braces. "tag": the content of the
            last ``<answer>...</answer>``. "last_line": the last line that is not blank. "any": whichever of box and tag
            ends later, or else the last line. "whole": all of the text.
    """
    if answer_format == "whole":
        return text.strip() or None
    if answer_format == "last_line":
        return _last_line(text)
    # Most answers are short and plain; this spares them both scans.
    box = _last_box(text) if answer_format != "tag" and _BOX in text else None
    tag = _last_tag(text) if answer_format != "boxed" and _CLOSE in text else None
    best = max((found for found in (box, tag) if found is not None), default=None)
    if best is not None:
        return text[best[1] : best[0]].strip() or None
    return _last_line(text) if answer_format == "any" else None


def present(answer: str, answer_format: str = "any") -> str:
    """``answer`` written the way ``answer_format`` asks for; `extract` reads it back."""
    return _TEMPLATES.get(answer_format, "%s").replace("%s", answer)


def bare(text: str) -> str:
    """``text`` without marks of code, bold type, quotation or formulas around all of it, a label such as "Answer:" or
    "The answer is" before it, a full stop behind it, and white space at its ends."""
    for _ in range(_MOST):
        text = text.strip()
        shorter = text
        # What a label introduces stands behind white space.
        if (" " in text or "\n" in text) and (label := _LABEL.match(text)):
            shorter = text[label.end() :]
        elif text[-1:] in _ENDS:
            shorter = _peeled(text)
        if shorter == text:
            break
        text = shorter
    return text


def _peeled(text: str) -> str:
    for left, right in _PAIRS:
        inner = text[len(left) : -len(right)]
        if inner and left not in inner and text.startswith(left) and text.endswith(right):
            return inner
    return text.removesuffix(".")


def _last_line(text: str) -> str | None:
    """The last line that is neither blank nor the end of a block."""
    for line in reversed(text.replace("\r", "\n").split("\n")):
        line = line.strip()
        if line and line not in _FENCES:
            return line
    return None


def _last_box(text: str) -> tuple[int, int] | None:
    """(end, start) of the content of the last box whose braces balance; the innermost box where they nest."""
    end = text.rfind("}")
    start = text.rfind(_BOX, 0, end) + len(_BOX) if end >= 0 else 0
    inside = text[start:end]
    if start >= len(_BOX) and "{" not in inside and "}" not in inside:
        return end, start
    # From the right, so that each character is looked at once: a brace that closes waits for the one that opens it.
    closers: list[int] = []
    for position in range(len(text) - 1, -1, -1):
        character = text[position]
        if character == "}":
            closers.append(position)
        elif character == "{" and closers:
            closer = closers.pop()
            if text.startswith(_BOX, position - len(_BOX) + 1) and position >= len(_BOX) - 1:
                return closer, position + 1
    return None


def _last_tag(text: str) -> tuple[int, int] | None:
    """(end, start) of the content between the last closing tag and the opening tag nearest before it."""
    end = text.rfind(_CLOSE)
    start = text.rfind(_OPEN, 0, end) if end >= 0 else -1
    return (end, start + len(_OPEN)) if start >= 0 else None
