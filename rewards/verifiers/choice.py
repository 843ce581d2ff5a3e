r"""Verifier "choice": the letter of a multiple-choice question, or the text of its option.

If several options are right, an answer must name all of their letters.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence

from ...errors import InputError
from ..answers.numbers import WIDE
from ..verdict import Verdict
from .registry import CORRECT, VERIFIERS, WRONG, rejected
from .text import normalise

MAX_LENGTH = 1_000
MAX_WRAPPERS = 8
_LETTER = re.compile(r"[A-Za-z]")
# Several letters, each set off: "A, C", "(A) and (C)", "A; C".
_LETTERS = re.compile(r"\(?[A-Za-z]\)?(?:(?: ?[,;&] ?(?:and )?| and )\(?[A-Za-z]\)?){1,25}")
_RUN = re.compile(r"[A-Z]{2,26}")
_LABEL = re.compile(r"(?:final[ ]|correct[ ])?(?:answer|option|choice)[ ]?(?::[ ]*|[ ])", re.IGNORECASE)
# A letter set off by a closing parenthesis, a full stop or a colon, then the option's text.
_LETTER_AND_TEXT = re.compile(r"\(?([A-Za-z])(?:[).:]|\)[.:]|\*\*[).:]?| [-\u2013\u2014])[ \t]+(.+)", re.DOTALL)
_PLAIN_WIDTH = str.maketrans(WIDE)
_LATEX = re.compile(r"\\(?:text|textbf|mathrm|mathbf)\{([^{}]*)\}")
_WRAPPERS = (
    *(("**", "**"), ("*", "*"), ("$", "$"), (r"\(", r"\)"), (r"\[", r"\]"), ("(", ")"), ("[", "]"), ("`", "`")),
    *((rf"\{name}{{", "}") for name in ("boxed", "text", "textbf", "mathrm", "mathbf")),
)


@VERIFIERS.register("choice")
def verify_choice(
    answer: str,
    reference: str,
    *,
    options: Mapping[str, str] | Sequence[str] | None = None,
    partial: bool = False,
) -> Verdict:
    r"""Check that ``answer`` names the choice ``reference`` and no other.

    Accepted: the letter in either case, alone or within ``( )``, ``[ ]``, ``** **``, ``$ $``, ``\( \)``, ``\text{}``,
    ``\boxed{}`` and their like, optionally with a closing ``)``, ``.`` or ``:`` after it and one of the labels
    "answer", "final answer", "correct answer", "option", "choice" before it ("Answer: B"). With ``options``, also
    "B) text" with exactly the text of option B, and an option's text alone if no other option has the same text; texts
    are compared as by the verifier "text". Everything else is refused as malformed: sentences, several letters, a
    letter inside a word, letters of other scripts, and "B) text" without ``options``. A single letter names the choice
    of that letter, even if another option has this letter as its text.

    If the reference has several letters ("A, C"), a right answer names the same letters in any order ("C and A", "AC");
    an answer with fewer or other letters is wrong.

    Args:
        answer: the choice, as above.
        reference: the letter, A to Z, alone or in any form of an answer, such as "(C)" or "C."; or several: "A, C",
            "(A) and (C)", "AC" in the order of the alphabet.
        options: text of each choice by letter, or in order from A.
        partial: if several letters are right, score a wrong answer by the intersection over union of the two sets of
            letters (Curr-ReFT, arXiv 2503.07065, section 3.1) instead of 0; it is still not a success.

    Raises:
        InputError: a reference without a letter or with a letter that is not an option, or options that are not text.
    """
    right, texts = _check_arguments(reference, options)
    longest = max(map(len, texts.values()), default=0)
    if len(answer) > longest + MAX_LENGTH:
        return rejected("The answer is far longer than a choice.")
    chosen = _single_letter(answer, texts)
    if chosen is None and len(right) > 1:
        several = _several_letters(_strip_label(answer))
        if several is None:
            return rejected("The answer must be letters, such as A, C.")
    elif chosen is None:
        return rejected("The answer must be one letter, such as B.")
    else:
        several = {chosen}
    if several == right:
        return CORRECT
    if partial and len(right) > 1:
        return Verdict(intersection_over_union(several, right), False, feedback="The answer is not correct.")
    return WRONG


def intersection_over_union(found: Iterable[Hashable], right: Iterable[Hashable]) -> float:
    """Return the intersection over union of two multisets; 1 if both are empty.

    {A, B} and {B, C} give 1/3.
    """
    mine, theirs = Counter(found), Counter(right)
    union = (mine | theirs).total()
    return (mine & theirs).total() / union if union else 1.0


def _single_letter(answer: str, texts: Mapping[str, str]) -> str | None:
    """Return the letter that ``answer`` names, in upper case, or None."""
    whole = normalise(answer)
    answer = _LATEX.sub(r"\1", answer.translate(_PLAIN_WIDTH)).replace("\\ ", " ")
    for text in (answer, _strip_label(answer)):
        bare = _strip_wrappers(text)
        if _LETTER.fullmatch(bare):
            return bare.upper()
        same = [letter for letter, option in texts.items() if normalise(option) in (whole, normalise(bare))]
        if same:
            return same[0] if len(same) == 1 else None
        match = _LETTER_AND_TEXT.fullmatch(bare)
        if match and normalise(texts.get(match[1].upper(), "")) == normalise(match[2]):
            return match[1].upper()
    return None


def _several_letters(text: str) -> set[str] | None:
    """Return the letters of "A, C" or "AC" in upper case; None for other text, such as one that repeats a letter."""
    bare = " ".join(_strip_wrappers(text).split())
    if not _LETTERS.fullmatch(bare) and not _RUN.fullmatch(bare):
        # The removed brackets may have belonged to two letters: "(A) and (C)".
        bare = " ".join(text.split())
    if _LETTERS.fullmatch(bare):
        letters = _LETTER.findall(re.sub(r"\band\b", " ", bare))
    elif _RUN.fullmatch(bare) and "".join(sorted(bare)) == bare:
        letters = list(bare)
    else:
        return None
    found = {letter.upper() for letter in letters}
    return found if len(found) == len(letters) else None


def _strip_label(text: str) -> str:
    text = _strip_wrappers(text)
    match = _LABEL.match(text)
    return text[match.end() :] if match else text


def _strip_wrappers(text: str) -> str:
    """Remove the wrappers around all of ``text``, and closing punctuation after a letter."""
    text = text.strip()
    for _ in range(MAX_WRAPPERS):
        for left, right in _WRAPPERS:
            if len(text) > len(left) + len(right) and text.startswith(left) and text.endswith(right):
                text = text[len(left) : -len(right)].strip()
                break
        else:
            if len(text) == 2 and text[1] in ").:":
                return text[0]
            if len(text) > 2 and text[-1] == "." and text[-2] in ")]}*$":
                text = text[:-1]
                continue
            return text
    return text


def choice_letters(reference: str) -> set[str] | None:
    """Return the letters that a reference names, in upper case ("C" and "(C)" one, "A, C" two); None for other text."""
    if _LETTER.fullmatch(reference.strip()):
        return {reference.strip().upper()}
    if len(reference) > MAX_LENGTH:
        return None
    single = _single_letter(reference, {})
    return {single} if single else _several_letters(_strip_label(reference))


def _check_arguments(
    reference: str, options: Mapping[str, str] | Sequence[str] | None
) -> tuple[set[str], dict[str, str]]:
    """Return the letters of the reference, and a mapping from letter to option text, all letters in upper case."""
    right = choice_letters(reference) if isinstance(reference, str) else None
    if right is None:
        raise InputError(
            'the choice verifier needs a letter from A to Z as reference, or several such as "A, C", '
            f"not {reference!r:.200}."
        )
    if options is None:
        return right, {}
    if not isinstance(options, Mapping):
        if isinstance(options, str) or not isinstance(options, Sequence) or len(options) > 26:
            raise InputError(f"the options of a choice must be at most 26 texts, not {options!r}.")
        options = dict(zip("ABCDEFGHIJKLMNOPQRSTUVWXYZ", options))
    texts = {str(letter).upper(): text for letter, text in options.items()}
    if not all(isinstance(text, str) and _LETTER.fullmatch(letter) for letter, text in texts.items()):
        raise InputError(f"the options of a choice must be texts by letter, not {options!r}.")
    if not right <= texts.keys():
        raise InputError(f"the reference {reference!r} is not among the options {sorted(texts)!r}.")
    return right, texts
