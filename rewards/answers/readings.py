"""Readings of a reply: the extraction of answers that all environments, verifiers and rewards share.

The last answer counts, so that an agent can correct itself but cannot list several. Thoughts and closing remarks are
dropped; the last remaining box, tag, block or line holds the answer. The style of that text is unknown, so `readings`
yields several readings of it, the plainest first. The caller takes the first reading in the form that the task
requires, right or wrong.

All scans are linear in the length of the text, and none raises.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from typing import Literal

from . import phrases
from .blocks import is_enumerated, last_block, program_in, rows, rows_below_head, strip_block_marks
from .formats import enclosed_contents
from .marks import bare, holds_no_answer, text_behind_label, without_closing, without_ornaments, without_pointer
from .thoughts import THOUGHTS, without_thoughts

# Layout of a task's answer: one line; several values; several lines; a program; one move of a game; several moves.
Form = Literal["line", "values", "lines", "program", "move", "moves"]
_SEVERAL = ("values", "lines", "moves")

# Limits on the readings of one reply and on the lines that are searched for a label.
MOST_READINGS = 24
_MOST_LINES = 400
_LONGEST_FIRST = 200
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
_CLOSERS = {"```": "```", "~~~": "~~~", "$$": "$$", "\\]": "\\["}


def extract(text: str, answer_format: str = "any", thoughts: Sequence[str] = THOUGHTS) -> str | None:
    """Extract the answer from ``text`` verbatim, stripped of white space; None if there is no answer.

    Args:
        text: a reply.
        answer_format: "boxed": the content of the last ``\\boxed{...}`` with balanced braces. "tag": the content of the
            last ``<answer>...</answer>``. "last_line": the last line that is not blank. "any": whichever of box and tag
            ends later, or else the last line that is not a closing remark. "whole": all of the text.
        thoughts: names of the tags around a thought; all text up to the last closing tag is dropped. A text with an
            unclosed thought has no answer.
    """
    visible = without_thoughts(text, thoughts)
    return None if visible is None else next(_places(visible, answer_format, "line"), None)


def readings(
    text: str,
    answer_format: str = "any",
    form: Form = "line",
    thoughts: Sequence[str] = THOUGHTS,
    marks: bool = False,
) -> Iterator[str]:
    """Yield the readings of the answer in ``text`` without duplicates, the plainest first; nothing without an answer.

    Args:
        text: a reply.
        answer_format: as for `extract`.
        form: layout of the answer. "values" joins several boxes, and joins lines; "lines" reads a last block whole,
            with tables and lists as their rows; "move" and "moves" understand phrases such as "I choose column 4";
            "program" takes all of the text unless ``answer_format`` asks for a box or tag.
        thoughts: as for `extract`.
        marks: keep marks around an answer (bold type, quotation, a full stop), which may belong to it.
    """
    visible = without_thoughts(text, thoughts)
    if visible is None:
        return
    seen: set[str] = set()
    for place in _places(visible, answer_format, form):
        for reading in _spellings(place, form, marks, answer_format in ("any", "boxed", "tag")):
            if reading and reading not in seen:
                seen.add(reading)
                yield reading
                if len(seen) == MOST_READINGS:
                    return


def _places(visible: str, answer_format: str, form: Form) -> Iterator[str]:
    """Yield the texts that may hold the answer, the likeliest first, each stripped."""
    if answer_format == "whole" or (form == "program" and answer_format in ("any", "last_line")):
        if whole := visible.strip():
            yield whole
        return
    if answer_format != "last_line":
        if (enclosed := enclosed_contents(visible, answer_format)) is not None:
            found, end = enclosed
            if answer_format == "any" and (corrected := phrases.stated_value(visible[end:])) is not None:
                yield corrected
            if form in _SEVERAL and len(found) > 1:
                yield ", ".join(found)
            # If the question asks for one value, several different values are no answer: the last one does not count.
            if found[-1] and len(set(found)) == 1:
                yield found[-1]
            return
        if answer_format != "any":
            return
    lines = visible.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    yield from _at_the_end(lines, form, strict=answer_format == "last_line")
    if answer_format == "any":
        yield from _further_up(lines, form)


def _at_the_end(lines: list[str], form: Form, strict: bool) -> Iterator[str]:
    last = len(lines) - 1
    while last >= 0 and (not lines[last].strip() or (not strict and holds_no_answer(lines[last]))):
        last -= 1
    # Skip closing marks of blocks, and blocks without content.
    closer, first = "", 0
    while last >= 0 and lines[last].strip() in _CLOSERS:
        closer = lines[last].strip()
        last -= 1
        while last >= 0 and not lines[last].strip():
            last -= 1
    if last < 0:
        return
    several = form in _SEVERAL and not strict
    if closer or several:
        first = last
        while first > 0:
            before = lines[first - 1]
            if closer:
                goes_on = not before.strip().startswith(_CLOSERS[closer])
            else:
                goes_on = bool(before.strip()) and not before.lstrip().startswith(("```", "~~~", "#"))
            if not goes_on:
                break
            first -= 1
    block = "\n".join(lines[first : last + 1]).strip()
    if several and first < last and not (closer and first == 0):
        yield block
    line = lines[last].strip()
    if line.endswith(":") and last > 0 and not several and not strict:
        return  # a label with nothing behind it, as "A:" would be
    before, sign, behind = line.rpartition("####")
    if sign and behind.strip() and not several and not strict and not phrases.is_denied(" ".join(before.split()[-3:])):
        yield behind.strip()  # GSM8K's sign, at the end of a sentence
    yield line if strict else without_ornaments(without_closing(line)) or line
    if closer and first < last and first > 0 and not several and not strict:
        yield " ".join(block.split("\n"))


def _further_up(lines: list[str], form: Form) -> Iterator[str]:
    """Yield the text after the last label such as "Answer:" (below the label if nothing follows on its line), then the
    last fenced block."""
    for index in range(len(lines) - 1, max(-1, len(lines) - _MOST_LINES), -1):
        behind = text_behind_label(lines[index])
        if behind is None:
            continue
        if behind.strip(" *"):
            behind = without_closing(behind.strip())
            yield behind
            yield behind[: end.start()] if (end := _SENTENCE_END.search(behind)) else behind
        else:
            below = "\n".join(lines[index + 1 :]).strip().split("\n\n")[0]
            if below and form in _SEVERAL:
                yield below
            yield below.partition("\n")[0]
        break
    if form in _SEVERAL:
        # Text after the block that follows "Here is the grid:" can be an explanation of it.
        heads = [index for index in range(len(lines) - 1) if lines[index].rstrip(" *").endswith(":")]
        yield from ["\n".join(lines[heads[-1] + 1 :]).strip().split("\n\n")[0]] if heads else []
    if form in ("move", "moves"):
        # Lines after a decision can be an explanation of it.
        yield from itertools.islice(filter(phrases.states_move, reversed(lines[-_MOST_LINES:])), 1)
    if block := last_block("\n".join(lines)):
        if form in _SEVERAL or "\n" not in block:
            yield block
        yield block.rpartition("\n")[2].strip()
    if form in ("line", "values") and (first := _answer_first(lines)):
        yield first


def _answer_first(lines: list[str]) -> str:
    """Return the first line if it is an answer that the other lines only explain; "" if they offer another answer."""
    text = "\n".join(lines).strip()
    first, _, rest = text.partition("\n")
    first = first.strip()
    if not rest.strip() or len(first) > _LONGEST_FIRST or first in _CLOSERS or holds_no_answer(first):
        return ""
    return first if phrases.states_answer(first) and not phrases.offers_another(rest) else ""


def _spellings(place: str, form: Form, marks: bool, lenient: bool) -> Iterator[str]:
    """Yield spellings of the text ``place``: without marks, as rows, and, if ``lenient``, without the words around a
    value or a move."""
    if form == "program":
        yield place
        return
    place = strip_block_marks(place)
    plain = place if marks else bare(place)
    if "\n" in place and form in _SEVERAL:
        parts = rows(place)
        # Numbers before the rows would be read as part of them.
        if not is_enumerated([line.strip() for line in place.split("\n") if line.strip()]) and len(parts) > 1:
            yield plain
        for joint in ("\n", ", ", " "):
            yield joint.join(parts)
        if headless := rows_below_head(place):
            yield "\n".join(headless)
    yield plain
    if lenient and "\n" not in plain:
        if (led := without_pointer(place)) != place:
            place = led
            yield place if marks else bare(place)
        yield from phrases.moves(place) if form in ("move", "moves") else phrases.values(place)


def readings_up_to(
    limit: int, text: str, answer_format: str, form: Form, thoughts: Sequence[str], marks: bool
) -> tuple[list[str], int]:
    """Return the `readings` of at most ``limit`` characters, and the length of the first longer one or 0."""
    found: list[str] = []
    longest = 0
    for reading in readings(text, answer_format, form, thoughts, marks):
        # If a reply holds a program, only the program counts.
        length = len(program_in(reading)) if form == "program" and len(reading) > limit else len(reading)
        if length <= limit:
            found.append(reading)
        elif not longest:
            longest = length
    return found, longest
