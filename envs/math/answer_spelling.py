r"""Removal of the words and signs that people write around an answer, before a verifier reads it.

"The answer is **-42**." becomes ``-42``, ``$x = -\frac{7}{3}$`` becomes ``-7/3``. Nothing is computed, and unknown
notation stays as it is, for the reader to reject. Everything is linear in the length of the text.
"""

from __future__ import annotations

import re
from fractions import Fraction

from ...rewards import Verdict, verify
from ...rewards.answers import bare
from ...rewards.answers.phrases import is_denied
from ...rewards.verifiers.number import parse_number
from ...rewards.verifiers.sequence import ListError, split_elements
from ..question import Question, Task

_MARKS = " \t\r\n*`$"
# Everything up to the last word that introduces an answer, or to the last word before a colon.
_LEAD = re.compile(r".*(?:\b(?:is|are|be|equals)\b|[A-Za-z*]:)", re.DOTALL)
# Everything up to the last equals sign that is not part of another sign.
_SIDE = re.compile(r".*(?<![<>!:])=", re.DOTALL)
_SIGNS = {
    **dict.fromkeys(("**", "$", "`", "~", "\\(", "\\)", "\\[", "\\]", "\\ ", "\\;"), " "),
    **dict.fromkeys(("\\left", "\\right", "\\,", "\\!"), ""),
    **dict.fromkeys(("\\approx", "\u2248", "\\equiv", "\u2261"), "="),
    **{"{,}": ",", "\\{": "{", "\\}": "}", "\u2212": "-", "\u2013": "-"},
}
_SIGN = re.compile("|".join(map(re.escape, sorted(_SIGNS, key=len, reverse=True))))
_FRACTION = re.compile(r"\\[dt]?frac ?(\{ ?[+-]?[0-9]+ ?\}|[0-9]) ?(\{ ?[0-9]+ ?\}|[0-9])")
_TEXT = re.compile(r"\\(?:text|mathrm)\{([^{}\\]*)\}")
# A sign before a number is part of the number, as lists of numbers contain no sums.
_LOOSE = re.compile(r"([+-])[ \t]+(?=[0-9.])")
_BRACKETED = re.compile(r"([+-]?)\(([^()]*)\)")
_THOUSANDS = re.compile(r"[+-]?[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?")
# The name of a point, or nothing.
_NAMES = re.compile(r"(?:\([a-z, ]*\))?")
# A number with the things that are counted.
_COUNTED = re.compile(r"([+-]?[0-9,]+) +([a-z]+)(?: of [a-z]+)?")
_JOINED = re.compile(r",? (?:and|or) |[ \t]*[,;]?[ \t]*\n\s*|[ \t]*;[ \t]*")


def strip_statement(answer: str, equated: bool = True) -> str:
    """Remove the sentence around ``answer``, its left side where ``equated`` and it is an equation, and marks around
    it. Sentences that deny an answer stay as they are."""
    text = bare(answer)
    for pattern in (_LEAD, _SIDE) if equated else (_LEAD,):
        if (before := pattern.match(text)) and not is_denied(before[0]):
            text = bare(text[before.end() :])
    return text.strip(_MARKS)


def replace_notation(answer: str) -> str:
    """Replace the notation of LaTeX and print in ``answer``, a number or a list of numbers, by plain signs."""
    text = _SIGN.sub(lambda sign: _SIGNS[sign[0]], answer)
    text = _FRACTION.sub(lambda fraction: "/".join(part.strip("{ }") for part in fraction.groups()), text)
    return _LOOSE.sub(r"\1", _TEXT.sub(r"\1", text))


def extract_number(answer: str) -> str:
    """Return the number in ``answer`` as the verifiers "integer" and "number" read it: without brackets around it and
    without commas between thousands."""
    text = strip_statement(replace_notation(answer))
    if bracketed := _BRACKETED.fullmatch(text):
        text = bracketed[1] + bracketed[2].strip()
    return text.replace(",", "") if _THOUSANDS.fullmatch(text) else text


def extract_numbers(answer: str) -> list[tuple[str, Fraction]] | None:
    """Return the numbers that ``answer`` lists, each with the name before it or "": ``x = 1, y = 2``, ``(1, 2)``, ``1
    and 2``. A name for all of them, as in ``(x, y) = (1, 2)``, is dropped. Return None where it is no list of
    numbers."""
    text = strip_statement(replace_notation(answer), equated=False)
    head, _, tail = text.rpartition("=")
    if _NAMES.fullmatch(head.strip()) or tail.lstrip().startswith(("(", "[", "{")):
        text = tail
    try:
        parts = split_elements(_JOINED.sub(", ", text))
    except ListError:
        return None
    found = []
    for part in parts:
        name, _, value = part.rpartition("=")
        exact = parse_number(value)
        if exact is None:
            return None
        found.append((name.strip(), exact))
    return found


def extract_numbers_in_order(answer: str, names: str) -> list[Fraction] | None:
    """Return one number for each of ``names``, given in this order or each with its name; None where they are not."""
    found = extract_numbers(answer) or []
    given = [name for name, _ in found]
    if len(found) == len(names) and not any(given):
        return [value for _, value in found]
    if sorted(given) != sorted(names):
        return None
    return [value for _, value in sorted(found, key=lambda pair: names.index(pair[0]))]


class NumberQuestion(Question):
    """Base of the families with one number as answer, read by the verifier "integer" or "number". The noun that the
    question counts may follow the number."""

    def verify(self, task: Task, answer: str) -> Verdict:
        verdict = verify(self.verifier, answer, task.reference)
        # Most answers are plain numbers.
        if not verdict.malformed:
            return verdict
        text = extract_number(answer)
        counted = _COUNTED.fullmatch(text)
        if counted and re.search(f"ow many (?:such |different )?{counted[2]} ", task.prompt):
            text = extract_number(counted[1])
        return verify(self.verifier, text, task.reference)
