"""Hints: beginnings of worked solutions that do not give the answer away.

The last step of a worked solution is the answer, and the step before it usually states the answer too, so that showing
a share of the steps could reveal it. A hint shorter than the whole solution therefore ends before the first place where
the answer occurs.
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
"""A number and an arithmetic sign."""
_PRODUCT = re.compile(r"[*+^]|\)\s*\(|\d\s*-\s*\d")
"""Operations in an answer whose form matters, such as factors: an expression of equal value is not that answer."""
_STATED = re.compile(r"\b(?:answer|result|solution)\b[^=:]*?(?:\bis\b|=|:)\s*(.+)", re.IGNORECASE)
"""A sentence that states the answer."""
_PIECE = re.compile(r"\s*(?:\w+(?:[.,]\w+)*|[^\w\s])")
"""A word, a number or a sign, with the blanks before it."""


def hint_text(steps: Sequence[str], share: float, question: str = "") -> str:
    """Return the first steps of a worked solution as a hint, one step per line.

    A share of 0 gives no hint, a share of 1 the whole solution, answer included. Of n steps before the answer, a share
    s between 0 and 1 shows the first ceil(s n), but no step from the first one on that reveals the answer. If the very
    first step reveals the answer, the hint is the beginning of this step: ceil(s p) of the p words and signs before its
    result. If the solution is the answer alone, the hint is the first round(s c) of its c characters, never all.

    Args:
        steps: the steps in order, the last one being the answer; at least one.
        share: in [0, 1].
        question: the question. If the answer occurs in the question, a step reveals it only by stating it as a result.
    """
    whole, part = cut_steps(steps, share, question)
    return "\n".join(whole) or part


def cut_steps(steps: Sequence[str], share: float, question: str = "") -> tuple[Sequence[str], str]:
    """Return a hint as (steps shown whole, beginning of the first step), of which at least one is empty. The arguments
    are those of `hint_text`."""
    *working, answer = steps
    if share <= 0 or share >= 1:
        return ([], "") if share <= 0 else (steps, "")
    if not working:
        return [], answer[: min(round(share * len(answer)), len(answer) - 1)]
    free = count_free_steps(working, answer, question)
    if free:
        return working[: min(free, math.ceil(share * len(working) - 1e-9))], ""
    # The words and signs before the first result of the step; in a step without a result, all but the last one.
    step = working[0]
    ends = [mark.start() for mark in _MARK.finditer(step)]
    ends += [match.start() for form in _forms(answer) for match in _find(form, step)]
    pieces = _PIECE.findall(step[: min(ends)]) if ends else _PIECE.findall(step)[:-1]
    return [], "".join(pieces[: math.ceil(share * len(pieces) - 1e-9)]).rstrip()


def count_free_steps(working: Sequence[str], answer: str, question: str = "") -> int:
    """Count the steps before the first one that reveals the answer. The last step always counts as revealing it.

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
    """Return True if the answer occurs in a text as a whole, not as a part of a longer word or number."""
    return any(_find(form, text) for form in _forms(answer))


def _forms(answer: str) -> list[str]:
    """Return the forms in which an answer may occur: unchanged, as `extract` reads it, the arguments of a call, and
    the end of a sentence such as "the answer is 4"."""
    whole = answer.strip()
    read = (extract(whole, "any") or "").strip()
    call = re.fullmatch(r"[A-Za-z_]\w*\(([^()]*)\)", whole)
    stated = _STATED.search(whole)
    forms = (whole, read, call[1] if call else "", stated[1].strip(" .$*") if stated else "")
    return [form for form in dict.fromkeys(forms) if form]


def _find(form: str, text: str) -> list[re.Match[str]]:
    """Return the places where a form of the answer occurs in a text, ignoring case."""
    pattern = r"\s+".join(re.escape(word) for word in form.split())
    return list(re.finditer(rf"(?<![\w.]){pattern}(?!\w|[.,]\d)", text, re.IGNORECASE)) if pattern else []


def _lists(step: str, answer: str) -> bool:
    """Return True if the answer has several elements, separated by commas, and the step states each as a result."""
    elements = [part.strip() for part in re.split(r"[,;]", answer.strip(" ()[]{}"))]
    return len(elements) > 1 and all(
        any(_is_result(step[: match.start()]) for match in _find(element, step)) for element in elements
    )


def _is_result(before: str) -> bool:
    """Return True if the text before a value ends with a sign or word that announces a result (`_MARK`)."""
    marks = list(_MARK.finditer(before))
    return bool(marks) and not before[marks[-1].end() :].strip(" $\\({[")


@functools.lru_cache(maxsize=4096)
def _is_equal(expression: str, answer: str) -> bool:
    """Return True if an arithmetic expression that is not fully worked out has the value of the answer."""
    if not _WORK.search(expression) or len(expression) > 200 or _PRODUCT.search(answer) or not re.search(r"\d", answer):
        return False
    try:
        return verify("math", expression, answer).success
    except (InputError, MissingExtra):  # the answer is no mathematics, or the package that parses it is missing
        return False
