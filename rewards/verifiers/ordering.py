"""Verifier "ordering": an order of given elements, scored by the edit distance to the right order.

After Guru (arXiv 2506.14965), whose scorer of ordering puzzles uses the edit distance.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...errors import InputError
from ..verdict import Verdict
from .json_text import strip_code_fence
from .registry import CORRECT, VERIFIERS, rejected
from .sequence import MAX_LENGTH, ListError, split_elements
from .text import normalise

MAX_ELEMENTS = 1_000


@VERIFIERS.register("ordering")
def verify_ordering(answer: str, reference: Sequence[str], *, ignore_case: bool = True) -> Verdict:
    """Check that ``answer`` lists the texts of ``reference`` in their order.

    The score is 1 − d / n with d the edit distance (insertions, deletions and substitutions of elements, Levenshtein)
    and n the length of the longer list, or 0 for an answer of more than twice the right number of elements; only equal
    lists are a success.

    Args:
        answer: elements as for the verifier "list", bare or in a code fence; each compared as by the verifier "text".
        reference: the texts in order; at most 1,000.
        ignore_case: compare without regard to case.

    Raises:
        InputError: the reference is not a list of texts, or empty, or too long.
    """
    usable = isinstance(reference, (list, tuple)) and 0 < len(reference) <= MAX_ELEMENTS
    if not usable or not all(isinstance(text, str) and text.strip() for text in reference):
        raise InputError(f"the ordering verifier needs a list of texts as reference, not {reference!r:.200}.")
    if len(answer) > MAX_LENGTH:
        return rejected(f"The list is longer than {MAX_LENGTH:,} characters.")
    try:
        given = split_elements(strip_code_fence(answer))
    except ListError as error:
        return rejected(str(error))
    if len(given) > 2 * len(reference):
        # More than half must be deleted. Skip the distance, whose time grows with the product of both lengths.
        return Verdict(0.0, False, feedback="There are far more elements than there should be.")
    distance = edit_distance(
        [normalise(text, ignore_case) for text in given], [normalise(text, ignore_case) for text in reference]
    )
    if distance == 0:
        return CORRECT
    return Verdict(
        1.0 - distance / max(len(given), len(reference)), False, feedback=f"The order is {distance} edits off."
    )


def edit_distance(one: Sequence[str], other: Sequence[str]) -> int:
    """Return the least number of insertions, deletions and substitutions that turn one list into the other."""
    row = list(range(len(other) + 1))
    for done, left in enumerate(one, start=1):
        diagonal, row[0] = row[0], done
        for place, right in enumerate(other, start=1):
            diagonal, row[place] = row[place], min(row[place] + 1, row[place - 1] + 1, diagonal + (left != right))
    return row[-1]
