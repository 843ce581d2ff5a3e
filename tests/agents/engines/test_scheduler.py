"""Which sequence owns which row of the cache."""

from __future__ import annotations

from typing import Any, cast

import pytest
from palaestra.agents.engines.scheduler import Scheduler
from palaestra.agents.engines.sequence import TokenSequence


class Rows:
    """Stands in for the cache: row i holds the number of the sequence whose tokens it has."""

    def __init__(self, slots: int):
        self.owner = [-1] * slots
        self.copied = 0

    def swap(self, a: int, filled_a: int, b: int, filled_b: int) -> None:
        self.owner[a], self.owner[b] = self.owner[b], self.owner[a]
        self.copied += filled_a + filled_b


class Bench:
    """A scheduler, its cache, and sequences that are encoded as soon as they are admitted."""

    def __init__(self, slots: int):
        self.rows = Rows(slots)
        self.scheduler = Scheduler(slots, cast(Any, self.rows))

    def admit(self, *waiting: TokenSequence) -> list[int]:
        for sequence in waiting:
            self.scheduler.enqueue(sequence)
        admitted = self.scheduler.admit()
        for sequence in admitted:
            self.rows.owner[sequence.row] = sequence.id
            sequence.cached = 10
        return [sequence.id for sequence in admitted]

    def active(self) -> list[int]:
        """Ids of the active sequences; each of them is in its own row."""
        active = self.scheduler.active
        assert [sequence.row for sequence in active] == list(range(len(active)))
        assert [self.rows.owner[sequence.row] for sequence in active] == [sequence.id for sequence in active]
        return [sequence.id for sequence in active]


@pytest.fixture
def sequences() -> list[TokenSequence]:
    return [TokenSequence(number) for number in range(5)]


def test_sequences_beyond_the_slots_wait_in_order_until_a_row_is_free(sequences):
    bench = Bench(slots=2)
    assert bench.admit(*sequences) == [0, 1]
    assert bench.admit() == []
    bench.scheduler.remove(sequences[0])
    assert bench.admit() == [2]
    assert bench.active() == [1, 2]


def test_a_paused_sequence_keeps_its_tokens_behind_the_active_rows(sequences):
    bench = Bench(slots=5)
    bench.admit(*sequences)
    bench.scheduler.pause(sequences[1])
    assert bench.active() == [0, 4, 2, 3]
    assert bench.rows.owner[sequences[1].row] == 1
    # A request of another turn makes it active again, over what is cached.
    assert bench.admit(sequences[1]) == [1]
    assert sorted(bench.active()) == [0, 1, 2, 3, 4]


def test_a_removed_sequence_leaves_the_others_in_their_rows_and_is_not_copied(sequences):
    bench = Bench(slots=5)
    bench.admit(*sequences)
    bench.scheduler.pause(sequences[3])
    copied = bench.rows.copied
    # Two swaps: with the last active row (10 + 10 tokens), then with the last resident one (0 + 10).
    bench.scheduler.remove(sequences[0])
    assert bench.rows.copied - copied == 30
    assert sorted(bench.active()) == [1, 2, 4]
    assert bench.rows.owner[sequences[3].row] == 3
    assert sequences[0].row == -1


def test_a_removed_sequence_no_longer_waits(sequences):
    bench = Bench(slots=1)
    bench.admit(sequences[0], sequences[1])
    bench.scheduler.remove(sequences[1])
    bench.scheduler.remove(sequences[0])
    assert bench.admit() == []
