"""Parts of a text that constraints count: words, sentences, paragraphs, lines, and marks between and around them."""

from __future__ import annotations

import re

from .text import normalise

BULLET = re.compile(r"^[ \t]*[-*•][ \t]+\S", re.MULTILINE)
PLACEHOLDER = re.compile(r"\[[^\[\]\n]{1,200}\]")
HIGHLIGHT = re.compile(r"(?<!\*)(\*{1,2})[^\s*](?:[^*\n]{0,200}[^\s*])?\1(?!\*)")
TITLE = re.compile(r"<<[^<>\n]{0,200}[^\s<>][^<>\n]{0,200}>>")
_WORD = re.compile(r"\w+(?:['’-]\w+)*")
_SENTENCE_END = re.compile(r"(?<![.!?。！？])[.!?。！？]+[\"'”’)\]]*(?:\s|$)")
_BREAK = re.compile(r"\n[ \t]*(?:\n[ \t]*)+")


def words_of(text: str) -> list[str]:
    """List the runs of letters and digits, with inner apostrophes and hyphens."""
    return _WORD.findall(text)


def sentences_of(text: str) -> list[str]:
    """List the parts that contain a word and end in sentence punctuation followed by white space, or at the end of the
    text, without that punctuation."""
    return [part.strip() for part in _SENTENCE_END.split(text) if _WORD.search(part)]


def paragraphs_of(text: str) -> list[str]:
    """List the parts between blank lines, without blank ones."""
    return [part for part in _BREAK.split(text) if part.strip()]


def lines_of(text: str) -> list[str]:
    """List the lines that are not blank, without white space at their ends."""
    return [line.strip() for line in text.splitlines() if line.strip()]


def count_words(text: str) -> int:
    return len(words_of(text))


def count_sentences(text: str) -> int:
    return len(sentences_of(text))


def count_phrase(text: str, phrase: str) -> int:
    """Count how often ``phrase`` occurs as whole words, in any case and with any white space between its words."""
    pattern = rf"(?<!\w){re.escape(normalise(phrase))}(?!\w)"
    return len(re.findall(pattern, normalise(text)))
