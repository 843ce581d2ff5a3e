"""Verifier "cells": a filled table, such as the solution of a zebra puzzle, scored by the share of right cells.

After Guru (arXiv 2506.14965), whose scorer of zebra puzzles counts cells; only a table without an error is a success.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...errors import InputError
from ..verdict import Verdict
from .json_text import JsonError, check_json_value, parse_json, same_json, strip_code_fence
from .registry import CORRECT, VERIFIERS, rejected
from .text import normalise

Path = tuple[str | int, ...]


@VERIFIERS.register("cells")
def verify_cells(answer: str, reference: Any, *, ignore_case: bool = True) -> Verdict:
    """Count the cells of ``answer`` that equal the cells of ``reference`` at the same place.

    The score is the number of right cells over the number of cells of the reference, or of the answer if it has more.

    Args:
        answer: JSON of the same shape as the reference, bare or in a code fence.
        reference: nested objects and arrays, such as ``{"house 1": {"colour": "red"}}`` or rows of a table. A cell is
            a value that is not a container, or an empty container. Cells of answer and reference correspond if their
            paths of keys and positions are equal.
        ignore_case: compare text without regard to case; differences in white space never count.

    Raises:
        InputError: the reference is not a JSON value, or has no cell.
    """
    check_json_value(reference, "the reference of the cells verifier")
    gold = dict(_cells(reference))
    if () in gold or all(cell in ({}, [], ()) for cell in gold.values()):
        raise InputError(f"the cells verifier needs a table with at least one cell as reference, not {reference!r}.")
    try:
        given = dict(_cells(parse_json(strip_code_fence(answer))))
    except JsonError as error:
        return rejected(str(error))
    right = sum(place in given and _same(given[place], cell, ignore_case) for place, cell in gold.items())
    cells = max(len(gold), len(given))
    if right == cells:
        return CORRECT
    return Verdict(right / cells, False, feedback=f"{right} of {cells} cells are right.")


def _cells(value: Any, place: Path = ()) -> list[tuple[Path, Any]]:
    if isinstance(value, Mapping) and value:
        return [cell for key, part in value.items() for cell in _cells(part, (*place, key))]
    if isinstance(value, (list, tuple)) and value:
        return [cell for index, part in enumerate(value) for cell in _cells(part, (*place, index))]
    return [(place, value)]


def _same(given: Any, gold: Any, ignore_case: bool) -> bool:
    if isinstance(given, str) and isinstance(gold, str):
        return len(given) <= 4 * len(gold) + 1_000 and normalise(given, ignore_case) == normalise(gold, ignore_case)
    return same_json(given, gold)
