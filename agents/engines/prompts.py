"""Shared prompts: a prompt that several conversations begin with is held once, and read once for all of them.

The group of a GRPO step has one prompt. Its keys and values have a place here, and the rows of the cache hold what
comes after it. In a decoding step the queries of all members of a group meet the one copy of the prompt in one matrix
product, each query meets its own row as ever, and the two are merged by the logarithms of their sums of exponentials
(Hydragen, arXiv 2402.05099, section 3.1; bifurcated attention, arXiv 2403.08845). Sliding windows and softcaps are
honoured.

A place is taken again once no row goes on from its prompt. Until then a sequence that comes later with the same prompt
joins without encoding it. What must not be joined is a prompt that older weights have encoded: `SharedPrompts.forget`
is called when new weights are announced and when nothing has been in flight, and in between the parameters' own
counts of changes are compared.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

import torch
from torch import Tensor

from ..language.attention import AttentionShape, mix_columns
from .buckets import span_of
from .cache import KeyValueCache, Merge, Prefix, visible_keys
from .sequence import SharedPrompt, TokenSequence

SHORTEST = 256
"""Tokens from which on a prompt is held once; shorter ones are copied, which is quicker."""

_HIDDEN = -1e30
"""Score of what a query does not see: finite, so that a query which sees nothing has a result, of weight 0."""

_Key = tuple[int, tuple[int, ...]]


def places_within(slots: int) -> int:
    """Places beside ``slots`` rows where memory is limited: enough for groups of eight."""
    return (slots + 4) // 8


@dataclass(frozen=True)
class Reach:
    """Sizes of a step's attention over shared prompts.

    Attributes:
        places: the first places of the memory, as many as hold the prompts of the rows.
        members: rows of the largest group.
        span: tokens of the longest prompt.
        uniform: whether all prompts have this length.
        all_rows: whether every row goes on from a prompt.
    """

    places: int
    members: int
    span: int
    uniform: bool
    all_rows: bool


class SharedPrompts:
    """Places for shared prompts.

    Args:
        shape: of the model's attention.
        places: prompts held at most.
        slots: rows of the cache.
        max_length: longest prompt in tokens.
        like: gives device and type.
        fixed: see `KeyValueCache`; sizes of steps are then rounded up.
        shortest: prompts of fewer tokens are not held here.
    """

    def __init__(
        self,
        shape: AttentionShape,
        places: int,
        slots: int,
        max_length: int,
        like: Tensor,
        fixed: bool = False,
        shortest: int = SHORTEST,
    ):
        self.memory = KeyValueCache(shape, places, max_length, like, fixed)
        self._shape, self._slots, self._max_length, self._shortest = shape, slots, max_length, shortest
        self._places = [SharedPrompt(place) for place in range(places)]
        self._held: dict[_Key, SharedPrompt] = {}
        self._weights: Hashable = None
        # A line for each place: the prompt's tokens, then the rows of its members. Two more for the rows: where in the
        # members of all prompts a row is, and 1 if it has a prompt.
        self._table = torch.zeros((places + 2, slots + 1), dtype=torch.int64, device=like.device)
        # On a CPU the host's copy is the same memory.
        self._host_table = self._table if like.device.type == "cpu" else self._table.cpu().pin_memory()
        self._lines = self._host_table.numpy()

    @property
    def members(self) -> int:
        """Number of sequences that go on from a shared prompt."""
        return sum(prompt.members for prompt in self._places)

    def addresses(self) -> tuple[int, ...]:
        """Where the memory lies."""
        return self.memory.addresses()

    def forget(self) -> None:
        """Let no further sequence join the prompts that are held."""
        self._held.clear()

    def release(self) -> None:
        """Give the memory back. No sequence may go on from a prompt."""
        self.forget()
        for prompt in self._places:
            prompt.length, prompt.tail = 0, None
        self.memory.release()

    def assign(
        self, sequences: Iterable[TokenSequence], waiting: Iterable[TokenSequence], weights: Callable[[], Hashable]
    ) -> list[tuple[SharedPrompt, list[TokenSequence]]]:
        """Let sequences join the prompts that are held, and find places for those that are to be held.

        Args:
            sequences: to be encoded; those of which nothing is cached may share.
            waiting: will be encoded later; a prompt is also held for one of these.
            weights: tells states of the model's weights apart.

        Returns:
            Prompts to be encoded at their places, each with the sequences that then go on from it; see `hold`.
        """
        groups: dict[_Key, list[TokenSequence]] = {}
        for sequence in sequences:
            if sequence.cached == 0 and len(sequence.tokens) >= self._shortest and self._places:
                groups.setdefault(_key_of(sequence), []).append(sequence)
        if not groups:
            return []
        if (present := weights()) != self._weights:
            self.forget()
            self._weights = present
        for key in [key for key in groups if key in self._held]:
            for sequence in groups.pop(key):
                sequence.go_on_from(self._held[key])
        free = [prompt for prompt in self._places if prompt.members == 0]
        wanted = [each for key, each in groups.items() if len(each) > 1 or self._is_awaited(key, waiting)]
        return list(zip(free, wanted, strict=False))

    def hold(self, prompt: SharedPrompt, members: Sequence[TokenSequence], tail: Tensor) -> None:
        """Note that the prompt of ``members`` was encoded at its place, and let them go on from it."""
        self._held = {key: each for key, each in self._held.items() if each is not prompt}
        self._held[_key_of(members[0])] = prompt
        prompt.length, prompt.tail = len(members[0].tokens), tail.clone()
        for sequence in members:
            sequence.go_on_from(prompt)

    def prefix_of(self, sequences: Sequence[TokenSequence]) -> Prefix | None:
        """The prompts that sequences go on from."""
        prompts = [sequence.prompt for sequence in sequences]
        if not any(prompts):
            return None
        places = [0 if prompt is None else prompt.place for prompt in prompts]
        return Prefix(self.memory, places, [sequence.base for sequence in sequences])

    # Decoding -------------------------------------------------------------------------------------------------------

    def arrange(self, sequences: Sequence[TokenSequence]) -> Reach | None:
        """Take to the device which rows share which prompt.

        Args:
            sequences: those that decode, in the first rows.

        Returns:
            The sizes of their steps, or None where none has a shared prompt.
        """
        groups: dict[SharedPrompt, list[int]] = {}
        for row, sequence in enumerate(sequences):
            if sequence.prompt is not None:
                groups.setdefault(sequence.prompt, []).append(row)
        if not groups:
            return None
        self._pack(sorted(groups, key=lambda prompt: prompt.place))
        lengths = [prompt.length for prompt in groups]
        most = max(len(rows) for rows in groups.values())
        reach = Reach(
            places=1 + max(prompt.place for prompt in groups),
            members=most,
            span=max(lengths),
            uniform=min(lengths) == max(lengths),
            all_rows=sum(map(len, groups.values())) == len(sequences),
        )
        if self.memory.fixed:
            # Places cost reading, members next to nothing.
            places = min(1 << (reach.places - 1).bit_length(), len(self._places))
            most = min(4 ** -(-(most - 1).bit_length() // 2), self._slots)
            reach = Reach(places, most, span_of(reach.span, self._max_length), uniform=False, all_rows=False)
        lines = self._lines
        lines[:] = 0
        for prompt, rows in groups.items():
            lines[prompt.place, : len(rows) + 1] = (prompt.length, *rows)
            first = prompt.place * reach.members
            lines[-2, rows] = range(first, first + len(rows))
            lines[-1, rows] = 1
        if self._host_table is not self._table:
            # Pinned memory; the host changes it only after it has waited for the block's end.
            self._table.copy_(self._host_table, non_blocking=True)
        return reach

    def _pack(self, prompts: Sequence[SharedPrompt]) -> None:
        """Move prompts to the front where more than half of the places before the last one would be read in vain."""
        if prompts[-1].place < 2 * len(prompts):
            return
        for place, prompt in enumerate(prompts):
            other = self._places[place]
            if other is not prompt:
                self.memory.swap(place, other.length, prompt.place, prompt.length)
                self._places[place], self._places[prompt.place] = prompt, other
                prompt.place, other.place = place, prompt.place

    def prepare_step(self, reach: Reach, positions: Tensor) -> Merge:
        """Prepare a step's attention over the prompts. Nothing here waits for the device.

        Args:
            reach: of `arrange`.
            positions: of the rows' tokens, int64 [R].
        """
        places, span, rows = reach.places, reach.span, positions.shape[0]
        heads, kv_heads = self._shape.heads, self._shape.kv_heads
        lengths, members = self._table[:places, :1], self._table[:places, 1 : reach.members + 1]
        row, home, shared = members.flatten(), self._table[-2, :rows], self._table[-1, :rows, None]
        wide = torch.promote_types(self.memory.dtype, torch.float32)
        biases: dict[int | None, Tensor | None] = {}

        def bias(window: int | None) -> Tensor | None:
            """[places * kv_heads, 1 or members * group, span]."""
            if window not in biases:
                column = torch.arange(span, device=positions.device)
                visible = (column < lengths)[:, None]
                if window is not None:
                    visible = visible & visible_keys(positions[members][..., None] - column, window)
                hidden = torch.zeros(visible.shape, dtype=wide, device=positions.device)
                hidden = hidden.masked_fill_(~visible, _HIDDEN).repeat_interleave(kv_heads, 0)
                hidden = hidden if window is None else hidden.repeat_interleave(heads // kv_heads, 1)
                biases[window] = None if window is None and reach.uniform else hidden
            return biases[window]

        def merge(
            layer: int, q: Tensor, own: Tensor, norm: Tensor, window: int | None, softcap: float | None
        ) -> Tensor:
            # The queries of all members of a group that share a key head are the "sequence" of the product.
            queries = q.index_select(0, row).view(places, reach.members, kv_heads, -1, q.shape[-1])
            queries = queries.transpose(1, 2).reshape(places * kv_heads, -1, q.shape[-1])
            keys, values = self.memory.view(layer, places, span)
            mixed, over = mix_columns(queries, keys, values, bias(window), softcap, norm=True)
            assert over is not None
            mixed = mixed.view(places, kv_heads, reach.members, -1, q.shape[-1]).transpose(1, 2)
            over = over.view(places, kv_heads, reach.members, -1).transpose(1, 2)
            mixed, over = (x.reshape(len(row), heads, -1).index_select(0, home) for x in (mixed, over))
            share = torch.sigmoid(over[..., 0] - norm)
            if not reach.all_rows:
                share = share * shared
            return torch.lerp(own.to(wide), mixed.to(wide), share[..., None]).to(own.dtype)

        return merge

    def _is_awaited(self, key: _Key, waiting: Iterable[TokenSequence]) -> bool:
        """Whether one of the next sequences has this prompt."""
        forced, tokens = key
        return any(
            each.forced == forced and len(each.tokens) == len(tokens) and tuple(each.tokens) == tokens
            for each in islice(waiting, self._slots)
        )


def _key_of(sequence: TokenSequence) -> _Key:
    return sequence.forced, tuple(sequence.tokens)
