"""Assignment of sequences to rows of the key-value cache.

A sequence owns one row for as long as its session lives, so a conversation is not encoded twice. Rows that decode are
kept packed at the front of the cache, so a decoding step reads a view and never gathers: a sequence that finishes an
answer changes places with the last active one. Freed rows are refilled from the queue at once. If every row belongs to
a conversation that waits for its environment, so that nothing could decode, the conversations that have waited longest
lose their rows to new ones, and are encoded again when they continue.

    rows   0 ........ active-1 | active ........ resident-1 | resident ...... slots-1
           decoding              waiting for their environment  free
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection
from typing import Protocol

from .sequence import TokenSequence


class Rows(Protocol):
    """Protocol of per-row state that the scheduler reorders together with its sequences."""

    def swap(self, a: int, filled_a: int, b: int, filled_b: int) -> None:
        """Exchange rows ``a`` and ``b``, which hold ``filled_a`` and ``filled_b`` tokens."""
        ...


class Scheduler:
    """Queue of sequences, and assignment of sequences to rows of the cache.

    Args:
        slots: number of rows of the cache.
        table: state of the rows; its rows are swapped whenever sequences change places.
    """

    def __init__(self, slots: int, table: Rows):
        self._slots = slots
        self._table = table
        self._rows: list[TokenSequence] = []
        self._active = 0
        # Sequences without a row can be many; these queues avoid a scan at each token.
        self._waiting: deque[TokenSequence] = deque()
        self._returning: deque[TokenSequence] = deque()
        self._pauses = 0

    @property
    def active(self) -> list[TokenSequence]:
        """The sequences that decode, in order of rows."""
        return self._rows[: self._active]

    @property
    def paused(self) -> list[TokenSequence]:
        """The sequences in the rows after the active ones, which wait for their environments."""
        return self._rows[self._active :]

    @property
    def idle(self) -> bool:
        """True if no request is in flight."""
        return not (self._active or self._waiting or self._returning)

    @property
    def waiting(self) -> Collection[TokenSequence]:
        """The queued sequences without a row."""
        return self._waiting

    def enqueue(self, sequence: TokenSequence) -> None:
        """Queue a sequence for encoding."""
        (self._waiting if sequence.row < 0 else self._returning).append(sequence)

    def admit(self) -> list[TokenSequence]:
        """Move queued sequences into the active rows, as far as rows are free, and return them in order of rows."""
        if self._waiting and not self._active and not self._returning and len(self._rows) == self._slots:
            for _ in range(min(len(self._waiting), self._slots)):
                self._evict(min(self._rows, key=lambda each: each.paused))
        admitted = list(self._returning)
        self._returning.clear()
        free = self._slots - len(self._rows)
        for sequence in [self._waiting.popleft() for _ in range(min(free, len(self._waiting)))]:
            sequence.row = len(self._rows)
            self._rows.append(sequence)
            admitted.append(sequence)
        for sequence in admitted:
            self._swap(sequence.row, self._active)
            self._active += 1
        return admitted

    def pause(self, sequence: TokenSequence) -> None:
        """Take a sequence out of the active rows; it keeps a row and its cached tokens."""
        if 0 <= sequence.row < self._active:
            self._active -= 1
            self._swap(sequence.row, self._active)
            self._pauses += 1
            sequence.paused = self._pauses

    def remove(self, sequence: TokenSequence) -> None:
        """Forget a sequence and free its row."""
        queue = self._waiting if sequence.row < 0 else self._returning
        if sequence in queue:
            queue.remove(sequence)
        self._evict(sequence)

    def evict_all(self) -> None:
        """Free the rows of all sequences; none may be decoding. Each is encoded again when it continues."""
        for sequence in list(self._rows):
            self._evict(sequence)

    def _evict(self, sequence: TokenSequence) -> None:
        if sequence.row >= 0:
            self.pause(sequence)
            # Its cached tokens are not needed any more: the swap copies only the row that takes its place.
            sequence.drop()
            self._swap(sequence.row, len(self._rows) - 1)
            self._rows.pop()
            sequence.row = -1

    def _swap(self, a: int, b: int) -> None:
        """Exchange the sequences in rows ``a`` and ``b``, together with the rows' state."""
        if a == b:
            return
        first, second = self._rows[a], self._rows[b]
        self._table.swap(a, first.own, b, second.own)
        self._rows[a], self._rows[b] = second, first
        first.row, second.row = b, a
