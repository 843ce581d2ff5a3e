"""Hints: beginnings of worked solutions that do not give the answer away.

The last step of a worked solution is the answer, and the step before it mostly states the result, so that a share of
the steps could be a copy of the answer. A hint below the whole solution therefore ends before the first place where the
answer stands.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Sequence

from ..errors import InputError, MissingExtra
from ..rewards import verify
from ..rewards.answers import extract

_MARK = re.compile(r"=|≈|:|->|→|⇒|\b(?:is|are|gives|leaves|makes|so|or)\b")
"""Sign or word before the result of a step."""
_WORK = re.compile(r"\d.*[-+*/^\\]|[-+*/^\\].*\d")
"""Numbers and a sign of an operation."""
_PRODUCT = re.compile(r"[*+^]|\)\s*\(|\d\s*-\s*\d")
"""Operations that an answer asks for in its form, such as factors."""
_STATED = re.compile(r"\b(?:answer|result|solution)\b[^=:]*?(?:\bis\b|=|:)\s*(.+)", re.IGNORECASE)
"""A sentence that states the answer."""
_PIECE = re.compile(r"\s*(?:\w+(?:[.,]\w+)*|[^\w\s])")
"""A word, a number or a sign, with the blanks before it."""


def hint_text(steps: Sequence[str], share: float, question: str = "") -> str:
    """Cut a hint from a worked solution: its first steps, one a line.

    Of n steps before the answer a share s above 0 gives ceil(s n), but below 1 none from the first that gives the
    answer away. Where that is the very first step, the hint is its first ceil(s p) of the p words and signs before its
    result; where there is no step before the answer, the first round(s c) of its c characters, but never all.

    Args:
        steps: the steps in order, the last one being the answer; at least one.
        share: in [0, 1].
        question: the question. An answer that occurs in the question is given away only by a step with it as result.
    """
    whole, part = cut_steps(steps, share, question)
    return "\n".join(whole) or part


def cut_steps(steps: Sequence[str], share: float, question: str = "") -> tuple[Sequence[str], str]:
    """Return the hint as the steps shown whole, or, if there are none, the beginning of the first step."""
    *working, answer = steps
    if share <= 0 or share >= 1:
        return ([], "") if share <= 0 else (steps, "")
    if not working:
        return [], answer[: min(round(share * len(answer)), len(answer) - 1)]
    free = count_free_steps(working, answer, question)
    if free:
        return working[: min(free, math.ceil(share * len(working) - 1e-9))], ""
    # The words and signs of the step before its first result; all but the last of a step without any.
    step = working[0]
    ends = [mark.start() for mark in _MARK.finditer(step)]
    ends += [match.start() for form in _forms(answer) for match in _find(form, step)]
    pieces = _PIECE.findall(step[: min(ends)]) if ends else _PIECE.findall(step)[:-1]
    return [], "".join(pieces[: math.ceil(share * len(pieces) - 1e-9)]).rstrip()


def count_free_steps(working: Sequence[str], answer: str, question: str = "") -> int:
    """Count the steps before the first one that gives the answer away, which is the last one if no other does.

    Args:
        working: the steps before the answer; at least one.
        question: see `hint_text`.
    """
    forms = _forms(answer)
    known = any(_find(form, question) for form in forms)
    for number, step in enumerate(working[:-1]):
        found = [match for form in forms for match in _find(form, step)]
        if any(not known or _is_result(step[: match.start()]) for match in found) or _lists(step, answer):
            return number
        result = _MARK.split(step)[-1].strip(" .$")
        if _is_equal(result, answer) and not _find(result, question):
            return number
    return len(working) - 1


def stands_in(answer: str, text: str) -> bool:
    """Return True if the answer stands in a text, not as a part of a longer word or number."""
    return any(_find(form, text) for form in _forms(answer))


def _forms(answer: str) -> list[str]:
    """Return the forms of an answer: unchanged, extracted from a sentence that states it, and the arguments of a
    call."""
    whole = answer.strip()
    read = (extract(whole, "any") or "").strip()
    call = re.fullmatch(r"[A-Za-z_]\w*\(([^()]*)\)", whole)
    stated = _STATED.search(whole)
    forms = (whole, read, call[1] if call else "", stated[1].strip(" .$*") if stated else "")
    return [form for form in dict.fromkeys(forms) if form]


def _find(form: str, text: str) -> list[re.Match[str]]:
    """Find where a form of the answer stands in a text, letters of either case."""
    pattern = r"\s+".join(re.escape(word) for word in form.split())
    return list(re.finditer(rf"(?<![\w.]){pattern}(?!\w|[.,]\d)", text, re.IGNORECASE)) if pattern else []


def _lists(step: str, answer: str) -> bool:
    """True if all elements of an answer that has several are results in a step."""
    elements = [part.strip() for part in re.split(r"[,;]", answer.strip(" ()[]{}"))]
    return len(elements) > 1 and all(
        any(_is_result(step[: match.start()]) for match in _find(element, step)) for element in elements
    )


def _is_result(before: str) -> bool:
    """True if the text before a value ends with a mark of results."""
    marks = list(_MARK.finditer(before))
    return bool(marks) and not before[marks[-1].end() :].strip(" $\\({[")


@functools.lru_cache(maxsize=4096)
def _is_equal(expression: str, answer: str) -> bool:
    """True if an expression that could be worked out further has the value of the answer."""
    if not _WORK.search(expression) or len(expression) > 200 or _PRODUCT.search(answer) or not re.search(r"\d", answer):
        return False
    try:
        return verify("math", expression, answer).success
    except (InputError, MissingExtra):  # an answer that is no mathematics, or no reader of it
        return False
