"""Verifier "constraints": instructions on the form of a text that can be checked without its meaning.

As in IFEval (arXiv 2311.07911), on which TÜLU 3 (arXiv 2411.15124, Section 6) trains with verifiable rewards. A
constraint is data, ``{"kind": "words", "max": 50}``. No kind depends on parts of speech. `KINDS` lists the kinds with
their parameters.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...errors import InputError, unknown_name
from ..verdict import Verdict
from .further_constraints import FURTHER_KINDS
from .json_text import JsonError, parse_json, strip_code_fence
from .languages import LANGUAGES
from .registry import CORRECT, VERIFIERS, rejected
from .text import normalise
from .text_parts import (
    BULLET,
    HIGHLIGHT,
    PLACEHOLDER,
    TITLE,
    count_phrase,
    count_sentences,
    count_words,
    lines_of,
    paragraphs_of,
    words_of,
)

MAX_LENGTH = 200_000
Check = Callable[[str, Mapping[str, Any]], bool]


@VERIFIERS.register("constraints")
def verify_constraints(answer: str, reference: Sequence[Mapping[str, Any]]) -> Verdict:
    """Score the share of the constraints ``reference`` that the text ``answer`` satisfies; success needs all of them.

    Args:
        answer: the text. A blank text is malformed, as it would satisfy many constraints, and so is a text of more
            than 200,000 characters.
        reference: the constraints. Counts take "min", "max" or both: kinds "words" (runs of letters and digits with
            inner apostrophes and hyphens), "sentences" (ended by . ! ? or their full-width forms and white space; words
            after the last end form another), "paragraphs" (separated by blank lines), "lines" (not blank), "bullets"
            (lines that begin with -, * or •), "characters", "placeholders" (``[name]``), "highlights" (``*text*`` and
            ``**text**``), "capital-words" (no small letter), and, of a given "text", "occurrences" (as a whole word or
            phrase, any case), "letters" (anywhere, any case) and "parts" (not blank, separated by the text). Without
            parameters: "lower" and "upper" (no letter of the other case, and at least one that has case), "no-commas",
            "json" (bare or in a code fence), "quoted" (in double quotes), "title" (``<<title>>``). With "texts":
            "keywords" (all occur), "any-of" (one occurs), "forbidden" (none occurs), all as whole words or phrases in
            any case. With "text": "starts-with" and "ends-with" (exactly but for white space at the ends). With "text"
            and "paragraph" (1, 2, ...): "paragraph-starts" (the first word of that paragraph is the text, in any case).

            Beyond IFEval's, counts: "unique-words", "questions" and "exclamations" (runs of their marks), "numbers",
            "commas", "quotations", "brackets" (round ones), "emoji", "hashtags", "hyphenated-words", "palindromes"
            (words of three letters or more), "numbered-items" (lines that begin with 1. or 1)), "headings" (lines that
            begin with #), "table-rows" (lines between bars), "code-blocks" (fenced), "longest-word" and
            "shortest-word" (characters), "repeats" (of the most frequent word). Counts of every part:
            "sentence-words", "paragraph-sentences", "line-characters", "columns" (of lines, separated by commas).
            Without parameters: "sorted-lines" (by the alphabet), "growing-lines" and "growing-sentences" (each longer
            than the one before), "chained-sentences" (each begins with the last word of the one before), "framed" (the
            first sentence is the last one too), "title-case" (no word begins with a small letter), "labelled-lines"
            (each ``label: text``). With "text": "acrostic" (the initials of the lines spell it), "sentence-starts" (the
            first word of each), "initials" (each word begins with it), "line-starts", "line-ends", "tagged" (the whole
            stands in ``<text>...</text>``), "language" (a code of two letters, see `languages`). With "text" and "word"
            (1, 2, ...): "word" (that word is the text, in any case). With "texts": "in-order" (they follow each other)
            and "together" (all in one sentence).

    Raises:
        InputError: no constraint, an unknown kind, or a missing, unknown or unusable parameter.
    """
    constraints = _check_reference(reference)
    if len(answer) > MAX_LENGTH:
        return rejected(f"The text is longer than {MAX_LENGTH:,} characters.")
    if not answer.strip():
        return rejected("The text is empty.")
    broken = [constraint for constraint in constraints if not KINDS[constraint["kind"]][0](answer, constraint)]
    if not broken:
        return CORRECT
    share = 1.0 - len(broken) / len(constraints)
    parameters = ", ".join(f"{name} {value}" for name, value in broken[0].items() if name != "kind")
    described = " ".join(f"{broken[0]['kind']}{': ' if parameters else ''}{parameters}".split())[:150]
    return Verdict(share, False, feedback=f"The text breaks a constraint: {described}.")


def _counts(count: Callable[[str], int]) -> tuple[Check, frozenset[str]]:
    return lambda text, constraint: _within(count(text), constraint), frozenset({"min", "max"})


def _within(count: int, constraint: Mapping[str, Any]) -> bool:
    return constraint.get("min", 0) <= count <= constraint.get("max", count)


def _is_json(text: str) -> bool:
    try:
        parse_json(strip_code_fence(text))
    except JsonError:
        return False
    return True


def _is_quoted(text: str) -> bool:
    text = text.strip()
    return len(text) > 1 and text[0] == text[-1] == '"'


def _plainly(check: Callable[[str], bool]) -> tuple[Check, frozenset[str]]:
    return lambda text, constraint: check(text), frozenset()


def _starts_paragraph(text: str, constraint: Mapping[str, Any]) -> bool:
    paragraphs = paragraphs_of(text)
    words = words_of(paragraphs[constraint["paragraph"] - 1]) if constraint["paragraph"] <= len(paragraphs) else []
    return bool(words) and normalise(words[0]) == normalise(constraint["text"])


def _counts_of(count: Callable[[str, str], int]) -> tuple[Check, frozenset[str]]:
    return lambda text, given: _within(count(text, given["text"]), given), frozenset({"text", "min", "max"})


_TEXT, _TEXTS = frozenset({"text"}), frozenset({"texts"})

# Kind -> (check of a text, names of its parameters).
KINDS: dict[str, tuple[Check, frozenset[str]]] = {
    "words": _counts(count_words),
    "sentences": _counts(count_sentences),
    "paragraphs": _counts(lambda text: len(paragraphs_of(text))),
    "lines": _counts(lambda text: len(lines_of(text))),
    "bullets": _counts(lambda text: len(BULLET.findall(text))),
    "characters": _counts(lambda text: len(text.strip())),
    "placeholders": _counts(lambda text: len(PLACEHOLDER.findall(text))),
    "highlights": _counts(lambda text: len(HIGHLIGHT.findall(text))),
    "capital-words": _counts(lambda text: sum(word.isupper() for word in words_of(text))),
    "occurrences": _counts_of(count_phrase),
    "letters": _counts_of(lambda text, letter: text.lower().count(letter.lower())),
    "parts": _counts_of(lambda text, mark: sum(bool(part.strip(" \t\n*")) for part in text.split(mark))),
    "lower": _plainly(str.islower),
    "upper": _plainly(str.isupper),
    "no-commas": _plainly(lambda text: not any(comma in text for comma in ",，、")),
    "json": _plainly(_is_json),
    "quoted": _plainly(_is_quoted),
    "title": _plainly(lambda text: TITLE.search(text) is not None),
    "keywords": (lambda text, c: all(count_phrase(text, word) for word in c["texts"]), _TEXTS),
    "any-of": (lambda text, c: any(count_phrase(text, word) for word in c["texts"]), _TEXTS),
    "forbidden": (lambda text, c: not any(count_phrase(text, word) for word in c["texts"]), _TEXTS),
    "starts-with": (lambda text, constraint: text.strip().startswith(constraint["text"].strip()), _TEXT),
    "ends-with": (lambda text, constraint: text.strip().endswith(constraint["text"].strip()), _TEXT),
    "paragraph-starts": (_starts_paragraph, frozenset({"text", "paragraph"})),
    **FURTHER_KINDS,
}


def _check_reference(reference: Any) -> list[Mapping[str, Any]]:
    usable = isinstance(reference, (list, tuple)) and reference
    if not usable or not all(isinstance(constraint, Mapping) and "kind" in constraint for constraint in reference):
        raise InputError(
            f"the constraints verifier needs a list such as [{{'kind': 'words', 'max': 50}}] as reference, "
            f"not {reference!r}."
        )
    for constraint in reference:
        _check(constraint)
    return list(reference)


def _check(constraint: Mapping[str, Any]) -> None:
    if not isinstance(constraint["kind"], str) or constraint["kind"] not in KINDS:
        raise unknown_name("kind of constraint", str(constraint["kind"]), KINDS)
    known = KINDS[constraint["kind"]][1]
    given = set(constraint) - {"kind"}
    needed = known - {"min", "max"}
    counted = "min" in known
    if not needed <= given <= known or (counted and not given & {"min", "max"}):
        wanted = sorted(needed) + (["min or max"] if counted else [])
        raise InputError(
            f"a constraint of kind {constraint['kind']!r} needs {', '.join(wanted) or 'no parameter'}, "
            f"not {dict(constraint)!r}."
        )
    for name in given & {"min", "max", "paragraph", "word"}:
        least = int(name in ("paragraph", "word"))
        if isinstance(constraint[name], bool) or not isinstance(constraint[name], int) or constraint[name] < least:
            raise InputError(f"{name} of a constraint must be an int of at least {least}, not {constraint[name]!r}.")
    if constraint.get("min", 0) > constraint.get("max", math.inf):
        raise InputError(f"min of a constraint must not exceed max, as no text could keep {dict(constraint)!r}.")
    texts = constraint.get("texts", [constraint["text"]] if "text" in given else ["x"])
    if not isinstance(texts, (list, tuple)) or not texts or not all(isinstance(t, str) and t.strip() for t in texts):
        raise InputError(f"a constraint's text must not be blank; received {dict(constraint)!r}.")
    if constraint["kind"] == "language" and constraint["text"] not in LANGUAGES:
        raise unknown_name("language", constraint["text"], LANGUAGES)
