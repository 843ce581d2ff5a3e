"""Random draws for templates, and words for the objects drawn."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ..sites.list_page import name_all


def pick(rng: np.random.Generator, values: Any) -> Any:
    """Draw one of several values."""
    return values[int(rng.integers(len(values)))]


def pick_several(rng: np.random.Generator, values: Any, number: int) -> list[Any]:
    """Draw ``number`` different values, or all if there are fewer, in random order."""
    return [values[place] for place in rng.permutation(len(values))[:number].tolist()]


def pick_in_order(rng: np.random.Generator, values: Any, number: int) -> list[Any]:
    """Draw ``number`` different values, or all if there are fewer, in the order of ``values``."""
    return [values[place] for place in sorted(rng.permutation(len(values))[:number].tolist())]


def quote_titles(objects: Iterable[tuple[Any, ...]], place: int = 1) -> str:
    """Return the titles of objects in quotation marks, as a part of a sentence: "A", "B" and "C". ``place`` is the
    index of the title in each object."""
    return name_all([f'"{one[place]}"' for one in objects])


def best_of(rows: list[Any], measure: str) -> Any:
    """Return the row with the largest value in the column ``measure``; None if there is a tie or no row."""
    ranked = sorted(rows, key=lambda row: -row[measure])
    return ranked[0] if ranked and (len(ranked) == 1 or ranked[0][measure] > ranked[1][measure]) else None
