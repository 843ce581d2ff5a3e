"""Assignment of sequences to rows of the key-value cache.

A sequence owns one row for as long as its session lives, so a conversation is never encoded twice. Rows that decode are
kept packed at the front of the cache, so a decoding step reads a view and never gathers: a sequence that finishes an
answer changes places with the last active one. Freed rows are refilled from the queue at once.

    rows   0 ........ active-1 | active ........ resident-1 | resident ...... slots-1
           decoding              waiting for their environment  free
"""

from __future__ import annotations

from collections import deque

from .cache import KeyValueCache
from .sequence import TokenSequence


class Scheduler:
    """Queue of sequences, and the rows of ``cache`` that they own.

    Args:
        slots: rows of the cache.
        cache: its rows change places as sequences do.
    """

    def __init__(self, slots: int, cache: KeyValueCache):
        self._slots = slots
        self._cache = cache
        self._rows: list[TokenSequence] = []
        self._active = 0
        self._waiting: deque[TokenSequence] = deque()

    @property
    def active(self) -> list[TokenSequence]:
        """The sequences that decode, by row."""
        return self._rows[: self._active]

    def enqueue(self, sequence: TokenSequence) -> None:
        """Let a sequence wait for its turn to be encoded."""
        self._waiting.append(sequence)

    def admit(self) -> list[TokenSequence]:
        """Move waiting sequences into the active rows, as far as there are rows, and return them."""
        admitted: list[TokenSequence] = []
        blocked: list[TokenSequence] = []
        while self._waiting:
            sequence = self._waiting.popleft()
            if sequence.row < 0 and len(self._rows) == self._slots:
                blocked.append(sequence)
                continue
            if sequence.row < 0:
                sequence.row = len(self._rows)
                self._rows.append(sequence)
            self._swap(sequence.row, self._active)
            self._active += 1
            admitted.append(sequence)
        self._waiting.extend(blocked)
        return admitted

    def pause(self, sequence: TokenSequence) -> None:
        """Take a sequence out of the active rows; it keeps a row and what the cache holds of it."""
        if sequence.row < self._active:
            self._active -= 1
            self._swap(sequence.row, self._active)

    def remove(self, sequence: TokenSequence) -> None:
        """Forget a sequence and free its row."""
        if sequence in self._waiting:
            self._waiting.remove(sequence)
        if sequence.row >= 0:
            self.pause(sequence)
            # Its cached tokens are not needed any more: the swap copies only the row that takes its place.
            sequence.cached = 0
            self._swap(sequence.row, len(self._rows) - 1)
            self._rows.pop()
            sequence.row = -1

    def _swap(self, a: int, b: int) -> None:
        """Exchange two rows, as far as each is filled."""
        if a == b:
            return
        first, second = self._rows[a], self._rows[b]
        self._cache.swap(a, first.cached, b, second.cached)
        self._rows[a], self._rows[b] = second, first
        first.row, second.row = b, a
