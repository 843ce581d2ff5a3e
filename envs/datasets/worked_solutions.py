"""Splitting of published worked solutions into steps of one line each."""

from __future__ import annotations

import re

_NOTE = re.compile(r"<<[^<>]*>>")
_PICTURE = re.compile(r"\[asy\].*?\[/asy\]", re.DOTALL)
# Marks that may end a sentence, and marks that open or close mathematics, inside which no sentence ends.
_MARK = re.compile(r"\$\$?|\\\[|\\\]|\\\(|\\\)|\\begin\{|\\end\{|\\.|[.!?](?=\s)")


def remove_notes(line: str) -> str:
    """Remove from a line of a GSM8K solution the calculator notes, and the sub-question that stands before "**"."""
    return " ".join(_NOTE.sub("", line.rpartition(" ** ")[2]).split())


def split_sentences(solution: str) -> list[str]:
    """Return the sentences of a solution in LaTeX, each on one line; a full stop within mathematics does not end
    one."""
    text = " ".join(_PICTURE.sub("", solution).split())
    found, start, depth, dollars = [], 0, 0, False
    for match in _MARK.finditer(text):
        mark = match[0]
        if mark.startswith("$"):
            dollars = not dollars
        elif mark in ("\\[", "\\(", "\\begin{"):
            depth += 1
        elif mark in ("\\]", "\\)", "\\end{"):
            depth = max(depth - 1, 0)
        elif mark in ".!?" and not dollars and not depth:
            found.append(text[start : match.end()].strip())
            start = match.end()
    return [sentence for sentence in (*found, text[start:].strip()) if sentence]
