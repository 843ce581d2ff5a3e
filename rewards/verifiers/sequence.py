"""Verifier "list": several answers, in order or in any order, each judged by the verifier `element`.

`split_elements` reads lists for all verifiers, in one pass over the text.
"""

from __future__ import annotations

import inspect
import re
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...errors import InputError
from ..verdict import Verdict
from .registry import CORRECT, VERIFIERS, WRONG, rejected

MAX_LENGTH = 100_000
# Comparison in any order takes time cubic in the number of elements.
MAX_ELEMENTS, MAX_UNORDERED = 10_000, 300
# Default deadline for all elements together, in seconds.
SECONDS = 2.0
_PAIRS = {"[": "]", "(": ")", "{": "}"}
_QUOTES = "\"'"
_NAMED = re.compile(r"\s*[A-Za-z_]\w*\s*=\s*(?=[\[({])")
# A comma after the last of several elements.
_LAST_COMMA = re.compile(r"(?<=,)([^,\n]+),(?=\s*[\])}]?\s*\Z)")
_JOINED, _AND = re.compile(r"\s+(?:and|&)\s+"), re.compile(r"^(?:and|&)\s+")
UNDECIDED = Verdict(0.0, False, valid=False, feedback="An element of the list could not be judged.")
_OUT_OF_TIME = Verdict(0.0, False, valid=False, feedback="The list took too long to compare; it is not judged.")


class ListError(ValueError):
    """Error for a text that is not a list; the message is one sentence for the agent."""


@VERIFIERS.register("list")
def verify_list(
    answer: str,
    reference: Sequence[Any],
    *,
    element: str = "text",
    ordered: bool = True,
    partial: bool = False,
    element_options: Mapping[str, Any] | None = None,
) -> Verdict:
    """Check that ``answer`` lists the elements of ``reference``: as many of each, and in this order if ``ordered``.

    Args:
        answer: elements separated by line ends, else by semicolons, else by commas, with or without one pair of
            brackets around and a name before it (see `split_elements`); "and" may stand before the last. Anything
            longer than 100,000 characters is refused unread.
        reference: the elements, each a reference of the verifier ``element``; at most 10,000 in order, 300 otherwise.
        element: the verifier of each element ("number", "integer", "text", "math", …).
        ordered: compare place by place; otherwise as multisets.
        partial: score a list with errors by its number of right elements over the length of the longer list, instead
            of 0; it is still not a success.
        element_options: options of the verifier of the elements. A "deadline" among them holds for the list as a
            whole: seconds from its first element to its last, 2 by default. It is checked before each comparison, and
            a verifier that takes a deadline gets the remaining seconds.

    Returns:
        A verdict, with ``valid=False`` if it depends on an element that could not be judged, if two elements could not
        be judged (the comparison then stops), or if the deadline passed.

    Raises:
        InputError: a reference that is not a list or is too long, a reference element that its verifier refuses, an
            unknown verifier, or an unknown option.
    """
    most = MAX_ELEMENTS if ordered else MAX_UNORDERED
    if isinstance(reference, (str, Mapping)) or not isinstance(reference, Sequence) or len(reference) > most:
        raise InputError(
            f"the list verifier needs a list of at most {most:,} elements as reference, not {reference!r:.200}."
        )
    judge = _Judge(element, element_options)
    if len(answer) > MAX_LENGTH:
        return rejected(f"The list is longer than {MAX_LENGTH:,} characters.")
    try:
        given = split_elements(_LAST_COMMA.sub(r"\1", _NAMED.sub("", answer, count=1), count=1))
    except ListError as error:
        return rejected(str(error))
    if given and len(reference) > 1 and not any(_AND.match(one) for one in reference if isinstance(one, str)):
        # "1, 2 and 3" or "1, 2, and 3", where the elements do not hold the word themselves.
        joined = [*given[:-1], *_JOINED.split(_AND.sub("", given[-1], count=1))]
        given = joined if len(joined) == len(reference) else given
    if len(given) > most or (len(given) != len(reference) and not partial):
        return Verdict(0.0, False, feedback="The list does not have the right number of elements.")
    if not reference:
        return CORRECT if not given else WRONG
    table = _Table(given, reference, judge)
    longest = max(len(given), len(reference))
    compare = table.in_order if ordered else table.in_any_order
    try:
        right, possible = compare(until_wrong=not partial)
    except _TooManyUndecided:
        return UNDECIDED
    except _ListTimeout:
        return _OUT_OF_TIME
    if right == longest:
        return CORRECT
    if possible == longest or (partial and possible > right):
        return UNDECIDED
    if partial:
        return Verdict(right / longest, False, feedback="The list is not correct.")
    return rejected(table.unreadable[:190]) if table.unreadable else WRONG


class _TooManyUndecided(Exception):
    """Error raised when two elements could not be judged."""


class _ListTimeout(Exception):
    """Error raised when the deadline of the list has passed."""


class _Judge:
    """Verifier of the elements with its options, under one deadline for all comparisons."""

    def __init__(self, element: str, options: Mapping[str, Any] | None):
        if not isinstance(element, str):
            raise InputError(f"element of the list verifier must be the name of a verifier, not {element!r}.")
        self._verifier = VERIFIERS[element]
        if options is not None and not isinstance(options, Mapping):
            raise InputError(f"element_options of the list verifier must be a mapping, not {options!r}.")
        self._options = dict(options or {})
        VERIFIERS.check_options(element, map(str, self._options))
        seconds = self._options.get("deadline", SECONDS)
        if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not seconds > 0.0:
            raise InputError(f"the deadline of a list's elements must be more than 0 seconds, not {seconds!r}.")
        self._passes_deadline = "deadline" in inspect.signature(self._verifier).parameters
        self._until = time.monotonic() + seconds

    def __call__(self, answer: str, reference: Any) -> Verdict:
        left = self._until - time.monotonic()
        if left <= 0.0:
            raise _ListTimeout
        if self._passes_deadline:
            self._options["deadline"] = left
        return self._verifier(answer, reference, **self._options)


class _Table:
    """Verdicts on pairs of a given and a reference element, each computed on first use."""

    def __init__(self, given: Sequence[str], reference: Sequence[Any], judge: Callable[[str, Any], Verdict]):
        self._given, self._reference, self._judge = given, reference, judge
        self._texts = [element if isinstance(element, str) else None for element in reference]
        self._fits: dict[tuple[int, int], bool] = {}
        self._undecided: set[int] = set()
        self.unreadable = ""

    def in_order(self, until_wrong: bool) -> tuple[int, int]:
        """Return the number of right places, and that number plus the undecided places. ``until_wrong`` stops at the
        first wrong place and returns (0, 0)."""
        right = 0
        for place in range(min(len(self._given), len(self._reference))):
            fits = self._fit(place, place)
            right += fits
            if until_wrong and not fits and place not in self._undecided:
                return 0, 0
        return right, right + len(self._undecided)

    def in_any_order(self, until_wrong: bool) -> tuple[int, int]:
        """Return the largest number of elements that can be paired, without and with undecided elements.
        ``until_wrong`` stops at the first element without a partner."""
        # Columns with the same text come first, so that a right list in any order takes one comparison per row.
        columns = range(len(self._reference))
        rows = [sorted(columns, key=lambda column: self._texts[column] != given) for given in self._given]
        # A row without a partner now will not get one when later rows are added.
        right = _count_matches(rows, self._fit, lambda: until_wrong and not self._undecided)
        if not self._undecided:
            return right, right
        return right, _count_matches(rows, lambda row, column: self._fit(row, column) or row in self._undecided)

    def _fit(self, row: int, column: int) -> bool:
        if row in self._undecided:
            return False
        if (row, column) not in self._fits:
            verdict = self._judge(self._given[row], self._reference[column])
            if not verdict.valid:
                self._undecided.add(row)
                if len(self._undecided) > 1:
                    raise _TooManyUndecided
                return False
            if verdict.malformed and not self.unreadable:
                self.unreadable = f"Element {row + 1} of the list cannot be read: {verdict.feedback}"
            self._fits[row, column] = verdict.success
        return self._fits[row, column]


def split_elements(text: str) -> list[str]:
    """Split a list into its elements, stripped.

    One pair of brackets, ``[ ]``, ``( )`` or ``{ }``, around the whole list is removed. Elements are separated by line
    ends, or else by semicolons, or else by commas, outside of brackets and quotes. A line may begin with "- " or "* "
    and end with "," or ";". Matching quotes around an element are removed. "[]" has no element.

    Raises:
        ListError: blank text, brackets that do not pair up, or an empty element.
    """
    body = text.strip()
    if not body:
        raise ListError("The list is empty.")
    cuts = _find_cuts(body)
    # If the first bracket closes at the very end, no separator lies at level 0.
    enclosed = body[0] in _PAIRS and cuts.closes == len(body) - 1
    if enclosed:
        body = body[1:-1].strip()
        if not body:
            return []
        cuts = _find_cuts(body)
    places = cuts.newline or cuts.semicolon or cuts.comma
    parts = [body[start + 1 : end].strip() for start, end in zip([-1, *places], [*places, len(body)])]
    if cuts.newline:
        lines = [part[2:].lstrip() if part.startswith(("- ", "* ")) else part for part in parts if part]
        parts = [line[:-1].rstrip() if line.endswith((",", ";")) else line for line in lines]
    for position, part in enumerate(parts):
        if len(part) >= 2 and part[0] in _QUOTES and part[0] == part[-1] and part[0] not in part[1:-1]:
            parts[position] = part[1:-1].strip()
    if not all(parts):
        raise ListError("The list has an element with nothing in it.")
    return parts


class _Cuts:
    """Positions of the separators outside brackets and quotes, and ``closes``, the position where the first bracket
    closes. ``closes`` is -1 without a bracket, and -2 if the first bracket is not at the start or closes with another
    kind."""

    def __init__(self) -> None:
        self.newline: list[int] = []
        self.semicolon: list[int] = []
        self.comma: list[int] = []
        self.closes = -1


def _find_cuts(text: str) -> _Cuts:
    cuts, waiting = _Cuts(), list[str]()
    lists = {"\n": cuts.newline, ";": cuts.semicolon, ",": cuts.comma}
    quote, fresh = "", True
    last = {mark: text.rfind(mark) for mark in _QUOTES}
    for position, character in enumerate(text):
        if quote:
            quote = "" if character == quote else quote
        elif character in _QUOTES and fresh and last[character] > position:
            # Quotes open only at the start of an element: an apostrophe in a word is not a quote.
            quote = character
        elif character in _PAIRS:
            waiting.append(_PAIRS[character])
        elif character in "])}":
            # A half-open interval, [0, 1), closes with the other kind.
            if not waiting or (waiting[-1] != character and "}" in (waiting[-1], character)):
                raise ListError("The brackets of the list do not pair up.")
            waiting.pop()
            if not waiting and cuts.closes < 0:
                cuts.closes = position if character == _PAIRS.get(text[0]) else -2
        elif not waiting and character in lists:
            lists[character].append(position)
        if not character.isspace():
            fresh = character in lists or character in _PAIRS
    if waiting:
        raise ListError("The brackets of the list do not pair up.")
    return cuts


def _count_matches(
    rows: Sequence[Sequence[int]],
    fits: Callable[[int, int], bool],
    stops: Callable[[], bool] = lambda: False,
) -> int:
    """Return the size of a largest matching of rows with columns that fit (augmenting paths, breadth first).

    Args:
        rows: the columns of each row, in the order in which they are tried.
        fits: returns True if (row, column) may be paired.
        stops: called when a row finds no partner; True ends the search.
    """
    owner: dict[int, int] = {}
    size = 0
    for first in range(len(rows)):
        came_from: dict[int, int] = {}
        queue, free = [first], None
        for row in queue:
            for column in rows[row]:
                if column in came_from or not fits(row, column):
                    continue
                came_from[column] = row
                if column not in owner:
                    free = column
                    break
                queue.append(owner[column])
            if free is not None:
                break
        if free is None and stops():
            break
        partner = {row: column for column, row in owner.items()}
        size += free is not None
        while free is not None:
            row = came_from[free]
            owner[free] = row
            free = partner.get(row)
    return size
