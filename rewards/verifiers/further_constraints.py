"""Kinds of constraints beyond IFEval's, for the verifier "constraints": `FURTHER_KINDS`.

TÜLU 3 (arXiv 2411.15124, Section 2.2) tests instruction following on kinds of constraints that training has not seen,
so more kinds are needed than IFEval has. All read only letters, marks, words, sentences and lines.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from .languages import share_of_language
from .text import normalise
from .text_parts import count_phrase, count_words, lines_of, paragraphs_of, sentences_of, words_of

Check = Callable[[str, Mapping[str, Any]], bool]

MIN_SHARE = 0.5
"""Least share of the words (or letters) that must be of a language."""

_NUMBER = re.compile(r"(?<![\w.,])\d+(?:[.,]\d+)*(?!\w)")
_QUOTATION = re.compile(r"\"[^\"\n]{1,500}\"|“[^“”\n]{1,500}”")
_BRACKETS = re.compile(r"\([^()\n]{1,500}\)")
_EMOJI = re.compile("[\u2600-\u27bf\U0001f300-\U0001faff]")
_HASHTAG = re.compile(r"(?<![\w#])#\w*[^\W\d]\w*")
_ITEM = re.compile(r"[ \t]*\d{1,4}[.)][ \t]+\S")
_HEADING = re.compile(r"#{1,6} \S")
_LABEL = re.compile(r"[^\s:][^:\n]{0,60}:\s+\S")
_TAG = re.compile(r"[A-Za-z][\w-]{0,40}")
_INITIAL = re.compile(r"[^\W_]")


def _lengths(words: Sequence[str]) -> list[int]:
    return [len(word) for word in words] or [0]


def _is_palindrome(word: str) -> bool:
    word = word.lower()
    return len(word) > 2 and word.isalpha() and word == word[::-1]


# Kind -> count of a text, bounded by "min" and "max".
COUNTS: dict[str, Callable[[str], int]] = {
    "unique-words": lambda text: len(set(map(str.lower, words_of(text)))),
    "questions": lambda text: len(re.findall(r"(?<![?？])[?？]", text)),
    "exclamations": lambda text: len(re.findall(r"(?<![!！])[!！]", text)),
    "numbers": lambda text: len(_NUMBER.findall(text)),
    "commas": lambda text: sum(map(text.count, ",，、")),
    "quotations": lambda text: len(_QUOTATION.findall(text)),
    "brackets": lambda text: len(_BRACKETS.findall(text)),
    "emoji": lambda text: len(_EMOJI.findall(text)),
    "hashtags": lambda text: len(_HASHTAG.findall(text)),
    "hyphenated-words": lambda text: sum("-" in word for word in words_of(text)),
    "palindromes": lambda text: sum(map(_is_palindrome, words_of(text))),
    "numbered-items": lambda text: sum(_ITEM.match(line) is not None for line in text.splitlines()),
    "headings": lambda text: sum(_HEADING.match(line) is not None for line in text.splitlines()),
    "table-rows": lambda text: sum(len(line) > 2 and line[0] == line[-1] == "|" for line in lines_of(text)),
    "code-blocks": lambda text: sum(line.startswith("```") for line in lines_of(text)) // 2,
    "longest-word": lambda text: max(_lengths(words_of(text))),
    "shortest-word": lambda text: min(_lengths(words_of(text))),
    "repeats": lambda text: max(Counter(map(str.lower, words_of(text))).values(), default=0),
}

# Kind -> a count of each part of a text, all of which are bounded by "min" and "max".
COUNTS_OF_PARTS: dict[str, Callable[[str], list[int]]] = {
    "sentence-words": lambda text: [count_words(sentence) for sentence in sentences_of(text)],
    "paragraph-sentences": lambda text: [len(sentences_of(paragraph)) for paragraph in paragraphs_of(text)],
    "line-characters": lambda text: _lengths(lines_of(text)),
    "columns": lambda text: [line.count(",") + 1 for line in lines_of(text)],
}


def _is_sorted(text: str) -> bool:
    lines = [line.casefold() for line in lines_of(text)]
    return len(lines) > 1 and lines == sorted(lines)


def _grow(lengths: Sequence[int]) -> bool:
    return len(lengths) > 1 and all(one < two for one, two in pairwise(lengths))


def _is_chained(text: str) -> bool:
    sentences = [words_of(sentence.lower()) for sentence in sentences_of(text)]
    return len(sentences) > 1 and all(one[-1] == two[0] for one, two in pairwise(sentences))


def _is_framed(text: str) -> bool:
    sentences = [words_of(sentence.lower()) for sentence in sentences_of(text)]
    return len(sentences) > 2 and sentences[0] == sentences[-1]


def _is_title_case(text: str) -> bool:
    initials = [word[0] for word in words_of(text) if word[0].isalpha()]
    return bool(initials) and not any(map(str.islower, initials))


# Kind -> check without parameters.
PLAIN: dict[str, Callable[[str], bool]] = {
    "sorted-lines": _is_sorted,
    "growing-lines": lambda text: _grow(_lengths(lines_of(text))),
    "growing-sentences": lambda text: _grow([count_words(sentence) for sentence in sentences_of(text)]),
    "chained-sentences": _is_chained,
    "framed": _is_framed,
    "title-case": _is_title_case,
    "labelled-lines": lambda text: all(_LABEL.match(line) for line in lines_of(text)),
}


def _every(parts: Callable[[str], Sequence[str]], fits: Callable[[str, str], bool]) -> Check:
    """Return the check that every part of a text fits the constraint's "text"."""
    return lambda text, given: bool(found := parts(text)) and all(fits(part, given["text"]) for part in found)


def _first_word_is(sentence: str, wanted: str) -> bool:
    return words_of(sentence)[0].casefold() == wanted.strip().casefold()


def _spells(text: str, wanted: str) -> bool:
    initials = [found[0] for line in lines_of(text) if (found := _INITIAL.search(line))]
    return "".join(initials).casefold() == "".join(_INITIAL.findall(wanted)).casefold()


def _is_tagged(text: str, tag: str) -> bool:
    text = text.strip()
    return bool(_TAG.fullmatch(tag)) and text.startswith(f"<{tag}>") and text.endswith(f"</{tag}>")


def _in_order(text: str, phrases: Sequence[str]) -> bool:
    rest = normalise(text)
    for phrase in phrases:
        found = re.search(rf"(?<!\w){re.escape(normalise(phrase))}(?!\w)", rest)
        if found is None:
            return False
        rest = rest[found.end() :]
    return True


# Kind -> check with the parameter "text".
OF_TEXT: dict[str, Check] = {
    "acrostic": lambda text, given: _spells(text, given["text"]),
    "sentence-starts": _every(sentences_of, _first_word_is),
    "initials": _every(words_of, lambda word, letter: word.casefold().startswith(letter.casefold())),
    "line-starts": _every(lines_of, str.startswith),
    "line-ends": _every(lines_of, str.endswith),
    "tagged": lambda text, given: _is_tagged(text, given["text"]),
    "language": lambda text, given: share_of_language(text, given["text"]) >= MIN_SHARE,
}


def _word_is(text: str, given: Mapping[str, Any]) -> bool:
    words = words_of(text)
    return len(words) >= given["word"] and words[given["word"] - 1].casefold() == given["text"].casefold()


def _is_within(count: int, given: Mapping[str, Any]) -> bool:
    return given.get("min", 0) <= count <= given.get("max", count)


FURTHER_KINDS: dict[str, tuple[Check, frozenset[str]]] = {
    **{
        name: (lambda text, given, count=count: _is_within(count(text), given), frozenset({"min", "max"}))
        for name, count in COUNTS.items()
    },
    **{
        name: (
            lambda text, given, count=count: all(_is_within(number, given) for number in count(text) or [0]),
            frozenset({"min", "max"}),
        )
        for name, count in COUNTS_OF_PARTS.items()
    },
    **{name: (lambda text, given, check=check: check(text), frozenset()) for name, check in PLAIN.items()},
    **{name: (check, frozenset({"text"})) for name, check in OF_TEXT.items()},
    "word": (_word_is, frozenset({"text", "word"})),
    "in-order": (lambda text, given: _in_order(text, given["texts"]), frozenset({"texts"})),
    "together": (
        lambda text, given: any(all(count_phrase(s, one) for one in given["texts"]) for s in sentences_of(text)),
        frozenset({"texts"}),
    ),
}
"""Kind -> (check of a text, names of its parameters)."""
