"""What agents put around an answer: the marks of Markdown, and the label under which the examples show outputs."""

from __future__ import annotations

_MARKS = " \t\r\n`*$\"'"


def unlabelled(answer: str) -> str:
    """An answer without the marks of code, bold type or formulas around it, a full stop after it, and the label
    "Output:" before it."""
    text = answer.strip(_MARKS).removesuffix(".").strip(_MARKS)
    if text[:6].lower() != "output":
        return text
    text = text[6:].lstrip(" \t*")
    for mark in (":", "=", "->"):
        text = text.removeprefix(mark).lstrip(_MARKS)
    return text
