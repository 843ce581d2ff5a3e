"""Saved states: what is listed comes back in its own types, and nothing else is accepted."""

from __future__ import annotations

import json
from collections import deque

import numpy as np
import pytest
from palaestra.teachers.saved_state import Kept, SavedState, restore_array


class Base(SavedState):
    kept = ("values", Kept("_size", float))

    def __init__(self):
        self.values = np.zeros(2, dtype=np.int64)
        self._size: float = 0


class Whole(Base):
    kept = (
        Kept(("first", "second"), key="pair"),
        Kept("recent", deque[tuple[int, str]]),
        Kept("_rates", dict[int, list[float]]),
        "part",
    )

    def __init__(self):
        super().__init__()
        self.first, self.second = False, "easy"
        self.recent: deque[tuple[int, str]] = deque(maxlen=2)
        self._rates: dict[int, list[float]] = {}
        self.part = Base()


def fill_whole() -> Whole:
    whole = Whole()
    whole.values, whole._size, whole.first, whole.second = np.array([3, 4]), 0.5, True, "hard"
    whole.recent.extend([(1, "a"), (2, "b")])
    whole._rates[7] = [0.25]
    whole.part.values = np.array([5, 6])
    return whole


def test_attributes_are_saved_under_their_keys_those_of_the_bases_first():
    assert list(fill_whole().save().items()) == [
        ("values", [3, 4]),
        ("size", 0.5),
        ("pair", [True, "hard"]),
        ("recent", [[1, "a"], [2, "b"]]),
        ("rates", [[7, [0.25]]]),
        ("part", {"values": [5, 6], "size": 0}),
    ]


def test_a_state_comes_back_in_the_types_and_bounds_of_before():
    copy = Whole()
    copy.restore(json.loads(json.dumps(fill_whole().save())))
    assert copy.values.dtype == np.int64
    assert (copy._size, copy.first, copy.second, copy._rates) == (0.5, True, "hard", {7: [0.25]})
    assert copy.recent == deque([(1, "a"), (2, "b")])
    assert copy.recent.maxlen == 2
    assert copy.save() == fill_whole().save()


@pytest.mark.parametrize(
    "damage",
    [
        {"values": [1]},
        {"size": None},
        {"pair": [True]},
        {"recent": [[1, "a", 2]]},
        {"recent": [["x", "a"]]},
        {"rates": [[7, None]]},
        {"rates": [7]},
        {"part": {"values": [5, 6]}},
    ],
)
def test_a_damaged_entry_is_refused(damage):
    with pytest.raises((KeyError, TypeError, ValueError)):
        Whole().restore({**fill_whole().save(), **damage})


@pytest.mark.parametrize("saved", [[1, 2], [[1, 2, 3]], [1, 2, float("nan")], [1, 2, float("inf")], [1, 2, "x"], None])
def test_saved_numbers_come_back_in_their_own_shape_and_type_or_not_at_all(saved):
    whole = restore_array([1, 2, 3], np.zeros(3, dtype=np.int64))
    assert (whole.tolist(), whole.dtype) == ([1, 2, 3], np.int64)
    with pytest.raises((ValueError, TypeError)):
        restore_array(saved, np.zeros(3))
