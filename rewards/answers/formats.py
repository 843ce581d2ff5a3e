r"""Answer formats: in a box, between tags, on the last line, or the whole reply."""

from __future__ import annotations

import re

from ...errors import unknown_name

FORMATS = ("any", "boxed", "tag", "last_line", "whole")

# The sentence that requests each format, appended to the prompt.
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
_MOST_BOXES, _WIDEST_GAP = 64, 80
# Separators allowed between boxes of one answer: "and", commas, dollar signs, line ends, "y = ", "(b)", "- ".
_BETWEEN = re.compile(
    r"(?:\s|[$,;&]|\\[()\[\],;]|\\(?:quad|qquad)|\\text\{ ?(?:and|or) ?\}|\b(?:and|or)\b|[-*+] "
    r"|[A-Za-z](?:_\{?[0-9]\}?)? ?=|\([a-z0-9]\))*"
)


def check_format(answer_format: str) -> str:
    """Return ``answer_format`` if it is one of `FORMATS`. Raises InputError otherwise."""
    if answer_format not in FORMATS:
        raise unknown_name("answer format", str(answer_format), FORMATS)
    return answer_format


def enclosed_contents(text: str, answer_format: str = "any") -> tuple[list[str], int] | None:
    """Return the stripped contents of the last box or tag of ``text`` and its end position; None without box and tag.

    Neighbouring boxes, or tags, form one answer if only a comma, a word such as "and", or a value's name separates
    them: ``x = \\boxed{1}$ and $y = \\boxed{2}`` gives ["1", "2"].

    Args:
        text: what the agent wrote.
        answer_format: "boxed" looks for boxes alone, "tag" for tags alone, "any" for whichever ends later.
    """
    # Most answers hold neither marker and skip both scans.
    box = _last_box(text) if answer_format != "tag" and _BOX in text else None
    tag = _last_tag(text) if answer_format != "boxed" and _CLOSE in text else None
    best = max((found for found in (box, tag) if found is not None), default=None)
    if best is None:
        return None
    last, opening, closing = (_last_box, _BOX, "}") if best == box else (_last_tag, _OPEN, _CLOSE)
    end, contents = best[0] + len(closing), [text[best[1] : best[0]].strip()]
    while len(contents) < _MOST_BOXES:
        before = text[: best[1] - len(opening)]
        # A gap between two boxes is short, so that all of them are found in one pass.
        closer = before.rfind(closing, max(0, len(before) - _WIDEST_GAP))
        if closer < 0 or not _BETWEEN.fullmatch(before[closer + len(closing) :]):
            break
        found = last(before[: closer + len(closing)])
        if found is None or found[0] != closer:
            break
        best = found
        contents.insert(0, text[best[1] : best[0]].strip())
    return contents, end


def present(answer: str, answer_format: str = "any") -> str:
    """Write ``answer`` in the form that ``answer_format`` requires, so that `extract` returns it."""
    return _TEMPLATES.get(answer_format, "%s").replace("%s", answer)


def _last_box(text: str) -> tuple[int, int] | None:
    """Return (end, start) of the content of the last box with balanced braces (the innermost), or None."""
    end = text.rfind("}")
    start = text.rfind(_BOX, 0, end) + len(_BOX) if end >= 0 else 0
    inside = text[start:end]
    if start >= len(_BOX) and "{" not in inside and "}" not in inside:
        return end, start
    # One pass from the right: a closing brace waits for the brace that opens it.
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
    """Return (end, start) of the content between the last closing tag and the opening tag before it, or None."""
    end = text.rfind(_CLOSE)
    start = text.rfind(_OPEN, 0, end) if end >= 0 else -1
    return (end, start + len(_OPEN)) if start >= 0 else None
