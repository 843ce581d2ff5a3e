"""The questions of a source, read once per process and cached, ordered by difficulty.

Environments hold only the name of their source, so that pickles stay small; a copy in another process reads the source
again.
"""

from __future__ import annotations

import hashlib
import os
import threading
import warnings
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ...errors import InputError, shorten
from ...rewards import unreadable
from ..splits import SPLITS, split_of
from .layouts import MATH, Fields, Item, Layout, UnusableRecord
from .overlap import read_tests
from .sources import is_hub_name, read_source

# Longer questions are left out; published questions have at most half of this length.
MAX_QUESTION = 12_000


@dataclass(frozen=True)
class Source:
    """The origin of a collection.

    Args:
        layout: the layout of its records.
        name: a file or folder by its full path, or a hub id.
        part: the part of a folder or hub data set.
        config: the configuration of a hub data set.
        policy: the policy of the verifier "math", if it judges answers; unreadable records are left out.
        against: test sets whose questions are left out.
    """

    layout: Layout
    name: str
    part: str | None = None
    config: str | None = None
    policy: str = "strict"
    against: tuple[str, ...] = ()


class Collection:
    """Questions grouped by rung (a value of the layout's axis) and sorted by effort within a rung.

    Args:
        items: at least one question; repetitions are allowed.

    Attributes:
        items: without repetitions, in an order independent of the source's order.
        rows: every question by the id of its row, in the source's order. A repeated id gets the question's number in
            the source as suffix.
        digest: hash of the content of all items.
    """

    def __init__(self, items: list[Item]):
        self.rows: dict[str, Item] = {}
        for number, item in enumerate(items, 1):
            self.rows[item.row if item.row not in self.rows else f"{item.row} ({number})"] = item
        # Keep the first item of each content, so that repeated questions are not drawn more often.
        unique = {item.content: item for item in reversed(items)}
        self.items = tuple(unique[content] for content in sorted(unique, key=lambda c: (unique[c].effort, c)))
        self.digest = hashlib.blake2b(repr(self.items).encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
        self._by: dict[str, dict[int, list[Item]]] = {split: {} for split in SPLITS}
        for item in self.items:
            for split in ("all", split_of(item.content)):
                self._by[split].setdefault(item.rung, []).append(item)
        self._rungs = {split: sorted(by) for split, by in self._by.items()}

    @property
    def rungs(self) -> tuple[int, int]:
        """The lowest and the highest rung with questions."""
        return self._rungs["all"][0], self._rungs["all"][-1]

    def has(self, split: str) -> bool:
        return bool(self._rungs[split])

    def count(self, split: str, rungs: Iterable[int], lengths: tuple[float, float] | None = None) -> int:
        """Count the questions that `draw` may return for these rungs and a length within this range."""
        pools = {id(pool): pool for pool in (self._pool(split, rung) for rung in rungs)}
        ends = [(0, len(pool)) if lengths is None else _half_bounds(len(pool), *lengths) for pool in pools.values()]
        return sum(end - start for start, end in ends)

    def draw(self, u: float, split: str, rung: int = 0, length: float | None = None) -> Item:
        """Return a question of ``split``, which must not be empty.

        Args:
            u: uniform in [0, 1).
            split: "train", "test" or "all".
            rung: the requested rung; the nearest one with questions is used, the lower one in a tie.
            length: 0 draws from the half with the least effort, 1 from the half with the most, values in between from
                the window of that position.
        """
        pool = self._pool(split, rung)
        start, end = (0, len(pool)) if length is None else _half_bounds(len(pool), length, length)
        return pool[start + int(u * (end - start))]

    def place(self, item: Item) -> float:
        """Return the value from 0 to 1 of the axis "length" for an item of `rows`: its rank by effort on its rung."""
        pool = self._by["all"][item.rung]
        rank = bisect_left(pool, (item.effort, item.content), key=lambda other: (other.effort, other.content))
        return rank / max(1, len(pool) - 1)

    def _pool(self, split: str, rung: int) -> list[Item]:
        """Return the questions of the non-empty rung nearest to ``rung``."""
        rungs = self._rungs[split]
        at = bisect_left(rungs, rung)
        nearest = min(rungs[max(at - 1, 0) : at + 1], key=lambda other: (abs(other - rung), other))
        return self._by[split][nearest]


def _half_bounds(count: int, low: float, high: float) -> tuple[int, int]:
    """Return start and end, among ``count`` sorted questions, of the half-sized windows for lengths from low to
    high."""
    half = (count + 1) // 2
    return round(low * (count - half)), round(high * (count - half)) + half


_LOCK = threading.Lock()
_CACHE: dict[Source, tuple[Any, Collection]] = {}


def load_collection(source: Source) -> Collection:
    """Return the questions of a source, read again only when its file (or the folder's list of files) has changed.

    Raises:
        InputError: the source is missing, unreadable, not in its layout, or without questions.
        MissingExtra: the library that reads it is not installed.
    """
    state = tuple(map(file_state, (source.name, *source.against)))
    kept = _CACHE.get(source)
    if kept is not None and kept[0] == state:
        return kept[1]
    with _LOCK:
        kept = _CACHE.get(source)
        if kept is None or kept[0] != state:
            kept = _CACHE[source] = (state, Collection(_read_items(source)))
        return kept[1]


def file_state(name: str) -> Any:
    try:
        status = os.stat(name)
    except (OSError, ValueError):
        if is_hub_name(name):
            return "hub"
        raise InputError(f"there is no file or folder {name}; give another source, or put it back.") from None
    return status.st_mtime_ns, status.st_size


def _read_items(source: Source) -> list[Item]:
    layout, items, out = source.layout, [], []
    fault: InputError | None = None
    for index, (place, record) in enumerate(read_source(source.name, source.part, source.config, layout.columns)):
        try:
            fields = Fields(record, place, layout.asks)
            item = layout.read(fields, index)
            if len(item.question) + sum(map(len, item.options)) > MAX_QUESTION:
                raise UnusableRecord(f"the question has more than {MAX_QUESTION} characters")
            if layout is MATH and unreadable("math", item.answer, policy=source.policy) is not None:
                raise UnusableRecord(f"the answer {item.answer[:60]!r} cannot be read as mathematics")
            items.append(replace(item, row=fields.row))
        except UnusableRecord as reason:
            out.append(f"{place}: {reason}")
        except InputError as error:
            out.append(str(error))
            fault = fault or error
    if fault is not None and not items:
        raise fault
    if len(out) > len(items) > 0:
        raise InputError(
            f"{len(out)} of {len(items) + len(out)} {layout.name} records of {source.name} cannot be asked or judged, "
            f"the first being {out[0]}; {layout.asks}."
        )
    if not items:
        where = source.name if not Path(source.name).is_dir() else f"the folder {source.name}"
        first = f" (the first record: {out[0]})" if out else ""
        raise InputError(f"{where} holds no {layout.name} question that can be asked{first}; {layout.asks}.")
    if out:
        warnings.warn(
            f"{len(out)} of {len(items) + len(out)} {layout.name} records of {source.name} are left out, as they "
            f"cannot be asked or judged; the first is {out[0]}.",
            stacklevel=2,
        )
    _warn_of_contradictions(source, items)
    return _without_tests(source, items) if source.against else items


def _without_tests(source: Source, items: list[Item]) -> list[Item]:
    """Leave out the questions that stand in the test sets of the source, with a warning."""
    tests = read_tests(source.against)
    kept = [item for item in items if not tests.has(item.question)]
    names = " and ".join(source.against)
    if not kept:
        raise InputError(f"all {len(items)} questions of {source.name} stand in {names}; give another source.")
    if len(kept) < len(items):
        first = next(item for item in items if tests.has(item.question))
        warnings.warn(
            f"{len(items) - len(kept)} of {len(items)} questions of {source.name} are left out, as they repeat one of "
            f"{len(tests)} questions of {names}; the first is row {first.row}.",
            stacklevel=2,
        )
    return kept


def _warn_of_contradictions(source: Source, items: list[Item]) -> None:
    """Warn of repeated questions with different answers; the first is used."""
    first: dict[str, Item] = {}
    found = [
        (kept, item)
        for item in items
        if (kept := first.setdefault(item.content, item)) is not item and kept.answer != item.answer
    ]
    if found:
        kept, item = found[0]
        warnings.warn(
            f"{len(found)} questions of {source.name} come again with another answer, such as row {kept.row} "
            f"({shorten(repr(kept.answer))}) and row {item.row} ({shorten(repr(item.answer))}); where tasks are drawn, "
            "the first is asked.",
            stacklevel=2,
        )
