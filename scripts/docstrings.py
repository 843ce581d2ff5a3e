"""Extraction of the first sentence and the cited paper from docstrings, for the tables of ``palaestra list``."""

from __future__ import annotations

import inspect
import re
import sys
from typing import Any

ARXIV = re.compile(r"arXiv[:\s]\s*(\d{4}\.\d{4,5})")

_ABBREVIATIONS = ("eq.", "eqs.", "sec.", "alg.", "fig.", "app.", "al.", "e.g.", "i.e.", "cf.", "vs.")


def summary(value: Any) -> str:
    """Return the first sentence of a docstring on one line; "" for an object without a docstring."""
    # Not inspect.getdoc, which returns the base class's docstring for a class without one.
    text = inspect.cleandoc(value.__doc__ or "").split("\n\n")[0]
    line = " ".join(text.split()).replace("``", "`")
    for end in re.finditer(r"[.!?]\s", line):
        sentence = line[: end.start() + 1]
        # A full stop within brackets belongs to a citation and ends no sentence.
        if sentence.count("(") <= sentence.count(")") and not sentence.endswith(_ABBREVIATIONS):
            return sentence
    return line


def paper(value: Any) -> str:
    """Return the paper of a method: its ``paper`` attribute, or the first arXiv number in its docstring or its
    module's.
    """
    if value is None:
        return ""
    if isinstance(stated := getattr(value, "paper", None), str) and stated:
        return label_citation(stated)
    return find_citation(value.__doc__) or find_citation(sys.modules[value.__module__].__doc__)


def find_citation(text: str | None) -> str:
    """Return the first arXiv number in a text as ``arXiv 1234.56789``; "" if there is none."""
    found = ARXIV.search(text or "")
    return f"arXiv {found[1]}" if found else ""


def label_citation(text: str) -> str:
    """Put "arXiv" before a bare arXiv number; return any other text unchanged."""
    return f"arXiv {text}" if re.fullmatch(r"\d{4}\.\d{4,5}", text) else text
