"""Verifier "format": a text made of given tags, such as ``<think>…</think><answer>…</answer>``, each once."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ...errors import InputError, unknown_name
from ..verdict import Verdict
from .registry import CORRECT, VERIFIERS

METHODS = ("all", "fraction", "pairs")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")


@VERIFIERS.register("format")
def verify_format(
    answer: str, reference: Sequence[str], *, method: str = "all", outside: bool = False, blank: bool = True
) -> Verdict:
    """Check that ``answer`` consists of the tags ``reference``: in this order, each once, closed, not nested.

    Only tags that the reference names are read, written exactly ``<name>`` and ``</name>``. With every method only a
    text without a fault is a success, and the feedback names the first fault.

    Args:
        answer: text of any length.
        reference: names of the tags in order.
        method: the score of a text with a fault. "all": 0, as for DeepSeek-R1 (arXiv 2501.12948, Section 2.2.2).
            "fraction": the share of the tags that are opened and closed once, after the tags before them in the
            reference are closed; if all tags are right, the remaining fault counts as one more wrong tag. "pairs": from
            counts only, as for Multi-Agent Evolve (arXiv 2510.23595): per tag 1 if it opens and closes once, 0.5
            if it does both equally often, 0 otherwise; the least over the tags.
        outside: allow text other than white space outside the tags.
        blank: allow a tag with nothing but white space inside.

    Raises:
        InputError: not a list of distinct tag names, or an unknown method.
    """
    tags = _check_reference(reference)
    if method not in METHODS:
        raise unknown_name("method of the format verifier", str(method), METHODS)
    fault = first_fault(answer, tags, outside=outside, blank=blank)
    if fault is None:
        return CORRECT
    if method == "all":
        score = 0.0
    elif method == "pairs":
        score = pair_score(answer, tags)
    else:
        # With all tags right, the fault is text outside them or a blank tag.
        share = fraction_right(answer, tags)
        score = share if share < 1.0 else len(tags) / (len(tags) + 1)
    return Verdict(score, False, feedback=fault, malformed=True)


def first_fault(text: str, tags: Sequence[str], *, outside: bool = False, blank: bool = True) -> str | None:
    """Describe the first fault of the tags in one sentence; None without a fault. Options as in `verify_format`."""
    places: list[tuple[int, int]] = []
    end = 0
    for tag in tags:
        opening, closing = f"<{tag}>", f"</{tag}>"
        for mark in (opening, closing):
            if (count := text.count(mark)) != 1:
                return f"{mark} is missing." if count == 0 else f"{mark} occurs {count} times instead of once."
        start = text.index(opening)
        stop = text.index(closing)
        if stop < start:
            return f"{closing} comes before {opening}."
        if start < end:
            return f"{opening} comes before the tags that belong before it."
        if not blank and not text[start + len(opening) : stop].strip():
            return f"There is nothing between {opening} and {closing}."
        end = stop + len(closing)
        places.append((start, end))
    if outside:
        return None
    end = 0
    for tag, (start, after) in zip(tags, places):
        if text[end:start].strip():
            return f"There is text outside the tags, before <{tag}>."
        end = after
    return f"There is text outside the tags, after </{tags[-1]}>." if text[end:].strip() else None


def fraction_right(text: str, tags: Sequence[str]) -> float:
    """Return the share of the tags that open and close exactly once, in that order, after all earlier tags."""
    end = right = 0
    for tag in tags:
        opening, closing = f"<{tag}>", f"</{tag}>"
        start, stop = text.find(opening), text.find(closing)
        once = text.count(opening) == text.count(closing) == 1
        right += once and end <= start < stop
        end = max(end, text.rfind(closing) + len(closing) if stop >= 0 else 0)
    return right / len(tags)


def pair_score(text: str, tags: Sequence[str]) -> float:
    """Return the least score of a tag: 1 if it opens and closes once, 0.5 if equally often but more, 0 otherwise."""
    least = 1.0
    for tag in tags:
        opened = text.count(f"<{tag}>")
        if opened == 0 or opened != text.count(f"</{tag}>"):
            return 0.0
        least = least if opened == 1 else 0.5
    return least


def _check_reference(reference: Sequence[str]) -> list[str]:
    if not isinstance(reference, (list, tuple)) or not reference:
        raise InputError(f"the format verifier needs a list of different tags as reference, not {reference!r}.")
    if not all(isinstance(tag, str) and _NAME.fullmatch(tag) for tag in reference):
        raise InputError(f"a tag must be a name such as 'think'; the reference is {reference!r}.")
    if len(set(reference)) < len(reference):
        raise InputError(f"the format verifier needs a list of different tags as reference, not {reference!r}.")
    return list(reference)
