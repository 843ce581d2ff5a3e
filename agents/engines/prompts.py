"""Shared prompts: the common prompt of several conversations is stored once, and read once per step for all of them.

All samples of a group of a GRPO step have the same prompt. Its keys and values are stored in a place, a row of a second
cache; the rows of the main cache hold the tokens after the prompt. In a decoding step the queries of all members of a
group attend to the one copy of the prompt in one matrix product, and to their own rows separately. The two results are
merged by the log-sum-exp of their scores (Hydragen, arXiv 2402.05099; bifurcated attention, arXiv 2403.08845). Sliding
windows and softcaps are supported.

A place is reused once no row continues its prompt. Until then, later sequences with the same prompt join without
encoding it. They must not join a prompt that older weights have encoded: `SharedPrompts.forget` is called when new
weights are announced and when nothing has been in flight; in between, the parameters' version counters are compared.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

import torch
from torch import Tensor

from ..language.attention import AttentionShape, mix_columns
from .buckets import span_of
from .cache import KeyValueCache, Merge, Prefix, token_bytes, visible_keys
from .sequence import SharedPrompt, TokenSequence

WORTH = {"cpu": 1.5e6, "cuda": 1.5e8}
"""Smallest saving for which prompts are shared rather than copied to each row, by type of device: bytes of keys and
values per layer that a decoding step reads less. Measured on a CPU; on a GPU estimated from thirty additional kernels
of 2 microseconds each at 3 TB/s."""

_HIDDEN = -1e30
"""Score of masked keys: finite, so that a query without visible keys still has a result, of weight 0."""

_Key = tuple[int, tuple[int, ...]]
_AttendPrompts = Callable[[int, Tensor, int | None, float | None], tuple[Tensor, Tensor]]
"""Function of a layer, queries [R, heads, dim], window and softcap that returns attention over prompts [M, heads, dim]
and its log-sum-exp [M, heads] for the M members of all groups."""


def places_for(slots: int, limited: bool) -> int:
    """Return the number of places for ``slots`` rows: enough for groups of four if memory is limited, else of two."""
    return (slots + 2) // 4 if limited else slots // 2


@dataclass(frozen=True)
class Tier:
    """Prompts in adjacent places, over which attention is one matrix product, padded to the largest group.

    Attributes:
        first: index of the first place.
        places: number of places.
        members: number of rows in the largest group.
        span: number of tokens in the longest prompt.
        uniform: True if all prompts have ``span`` tokens.
    """

    first: int
    places: int
    members: int
    span: int
    uniform: bool


@dataclass(frozen=True)
class Reach:
    """Sizes of a step's attention over shared prompts.

    Attributes:
        tiers: one tier, or two if a few groups are much larger than the others.
        all_rows: True if every row continues a shared prompt.
    """

    tiers: tuple[Tier, ...]
    all_rows: bool


class SharedPrompts:
    """Store of shared prompts.

    Args:
        shape: shape of the model's attention.
        places: largest number of prompts.
        slots: number of rows of the main cache.
        max_length: longest prompt in tokens.
        like: tensor that gives device and dtype.
        fixed: see `KeyValueCache`; sizes of steps are then rounded up.
        worth: smallest saving for which prompts are shared; see `WORTH`.
    """

    def __init__(
        self,
        shape: AttentionShape,
        places: int,
        slots: int,
        max_length: int,
        like: Tensor,
        fixed: bool = False,
        worth: float = 0.0,
    ):
        self.memory = KeyValueCache(shape, places, max_length, like, fixed)
        self._shape, self._slots, self._max_length = shape, slots, max_length
        self._worth = worth / (token_bytes(shape, like) / shape.layers)  # in tokens
        self._places = [SharedPrompt(place) for place in range(places)]
        self._held: dict[_Key, SharedPrompt] = {}
        self._weights: Hashable = None
        # One line per place: the prompt's length, then the rows of its members. Two more lines, one column per row: the
        # row's index among the members of all prompts, and 1 if the row has a prompt.
        self._table = torch.zeros((places + 2, slots + 1), dtype=torch.int64, device=like.device)
        # On a CPU the host's copy is the same memory.
        self._host_table = self._table if like.device.type == "cpu" else self._table.cpu().pin_memory()
        self._lines = self._host_table.numpy()

    @property
    def members(self) -> int:
        """Number of sequences that continue a shared prompt."""
        return sum(prompt.members for prompt in self._places)

    def addresses(self) -> tuple[int, ...]:
        """Return the memory addresses of the prompts' keys and values."""
        return self.memory.addresses()

    def forget(self) -> None:
        """Let no further sequence join the stored prompts."""
        self._held.clear()

    def release(self) -> None:
        """Free the memory. No sequence may be continuing a prompt."""
        self.forget()
        for prompt in self._places:
            prompt.length, prompt.tail = 0, None
        self.memory.release()

    def assign(
        self, sequences: Iterable[TokenSequence], waiting: Iterable[TokenSequence], weights: Callable[[], Hashable]
    ) -> list[tuple[SharedPrompt, list[TokenSequence]]]:
        """Let sequences join stored prompts, and find places for new prompts to store.

        Args:
            sequences: sequences to encode; only those without cached tokens and soft tokens may share a prompt.
            waiting: sequences to encode later; a prompt is also stored for one of these.
            weights: returns a key that changes whenever the model's weights change.

        Returns:
            Prompts to encode at their places, each with the sequences that continue it; after encoding, call `hold`.
        """
        new = [s for s in sequences if s.cached == 0 and not s.soft] if self._places else []
        # Once a prompt is shared, sharing another one costs next to nothing.
        worth = self.members > 0
        most = self._slots * max((len(sequence.tokens) for sequence in new), default=0)
        if not new or not (worth or most >= self._worth):
            return []
        groups: dict[_Key, list[TokenSequence]] = {}
        for sequence in new:
            groups.setdefault(_key_of(sequence), []).append(sequence)
        # By prompt: the number of rows that would not have to read a separate copy.
        spared = Counter(_key_of(sequence) for sequence in islice(waiting, self._slots))
        spared = {key: len(each) - 1 + spared[key] for key, each in groups.items() if key not in self._held}
        worth = worth or sum(rows * len(tokens) for (_, tokens), rows in spared.items()) >= self._worth
        if len(spared) == len(groups) and not (worth and any(spared.values())):
            return []
        if (present := weights()) != self._weights:
            self.forget()
            self._weights = present
        for key in groups.keys() & self._held.keys():
            for sequence in groups.pop(key):
                sequence.go_on_from(self._held[key])
        free = [prompt for prompt in self._places if prompt.members == 0]
        lengths = [len(tokens) for (_, tokens), rows in spared.items() if worth and rows]
        longest = max((*lengths, *(prompt.length for prompt in self._places if prompt.members)), default=math.inf)
        # A step attends as far back as its longest row, so one long prompt that is copied to a row would slow all rows.
        wanted = [
            members
            for key, members in groups.items()
            if worth and (spared.get(key, 1) or 2 * len(members[0].tokens) > longest)
        ]
        if len(wanted) > len(free) and not self.members:
            return []
        found = list(zip(free, wanted, strict=False))
        taken = {prompt for prompt, _ in found}
        self._held = {key: prompt for key, prompt in self._held.items() if prompt not in taken}
        return found

    def hold(self, prompt: SharedPrompt, members: Sequence[TokenSequence], tail: Tensor) -> None:
        """Record that the prompt of ``members`` is encoded at its place, and let ``members`` continue it.

        Args:
            tail: hidden states [forced + 1, H] of the prompt's last tokens; see `SharedPrompt`.
        """
        self._held[_key_of(members[0])] = prompt
        prompt.length, prompt.tail = len(members[0].tokens), tail.clone()
        for sequence in members:
            sequence.go_on_from(prompt)

    def prefix_of(self, sequences: Sequence[TokenSequence]) -> Prefix | None:
        """Return the shared prompts that sequences continue; None if no sequence has one."""
        prompts = [sequence.prompt for sequence in sequences]
        if not any(prompts):
            return None
        places = [0 if prompt is None else prompt.place for prompt in prompts]
        return Prefix(self.memory, places, [sequence.base for sequence in sequences])

    # Decoding -------------------------------------------------------------------------------------------------------

    def arrange(self, sequences: Sequence[TokenSequence]) -> Reach | None:
        """Write to the device which rows share which prompt.

        Args:
            sequences: decoding sequences, in the first rows.

        Returns:
            The sizes for `prepare_step`, or None if no sequence has a shared prompt.
        """
        rows: dict[SharedPrompt, list[int]] = {}
        for row, sequence in enumerate(sequences):
            if sequence.prompt is not None:
                rows.setdefault(sequence.prompt, []).append(row)
        if not rows:
            return None
        lines, offset, first, tiers = self._lines, 0, 0, []
        lines[:] = 0
        largest = sorted(rows, key=lambda prompt: -len(rows[prompt]))
        for prompts in self._pack(largest, [len(rows[prompt]) for prompt in largest]):
            tier = self._tier(prompts, first, len(rows[prompts[0]]))
            for prompt in prompts:
                members = rows[prompt]
                lines[prompt.place, : len(members) + 1] = (prompt.length, *members)
                home = offset + (prompt.place - first) * tier.members
                lines[-2, members] = range(home, home + len(members))
                lines[-1, members] = 1
            offset += tier.places * tier.members
            first += len(prompts)
            tiers.append(tier)
        if self._host_table is not self._table:
            # Pinned memory; the host changes it only after it has waited for the block's end.
            self._table.copy_(self._host_table, non_blocking=True)
        return Reach(tuple(tiers), not self.memory.fixed and sum(map(len, rows.values())) == len(sequences))

    def _pack(self, prompts: list[SharedPrompt], sizes: list[int]) -> list[list[SharedPrompt]]:
        """Split prompts into one or two tiers, and move their places to the front if many unused places lie between.

        Args:
            prompts: prompts, those of the largest groups first.
            sizes: number of rows in the group of each prompt.
        """
        whole = len(prompts) * sizes[0]
        cuts = [1 << power for power in range((len(prompts) - 1).bit_length())]
        cost, cut = min(((cut * sizes[0] + (len(prompts) - cut) * sizes[cut], cut) for cut in cuts), default=(whole, 0))
        if 2 * cost > whole:
            cut = 0  # a second product costs something too
            if max(prompt.place for prompt in prompts) < 2 * len(prompts):
                return [prompts]
        tiers, first = [prompts[:cut], prompts[cut:]] if cut else [prompts], 0
        for tier in tiers:
            spots = range(first, first + len(tier))
            free = [place for place in spots if self._places[place] not in tier]
            for place, prompt in zip(free, [prompt for prompt in tier if prompt.place not in spots], strict=True):
                other, left = self._places[place], prompt.place
                self.memory.swap(place, other.length, left, prompt.length)
                self._places[place], self._places[left] = prompt, other
                prompt.place, other.place = place, left
            first += len(tier)
        return tiers

    def _tier(self, prompts: Sequence[SharedPrompt], first: int, members: int) -> Tier:
        """Return the sizes of a tier, rounded up if shapes are static."""
        lengths = [prompt.length for prompt in prompts]
        places, span = max(prompt.place for prompt in prompts) + 1 - first, max(lengths)
        if not self.memory.fixed:
            return Tier(first, places, members, span, uniform=min(lengths) == span)
        places = min(1 << (places - 1).bit_length(), len(self._places) - first)
        members = min(1 << (members - 1).bit_length(), self._slots)
        return Tier(first, places, members, span_of(span, self._max_length), uniform=False)

    def prepare_step(self, reach: Reach, positions: Tensor) -> Merge:
        """Prepare a step's attention over the prompts, without waiting for the device.

        Args:
            reach: the result of `arrange`.
            positions: positions of the rows' tokens, int64 [R].
        """
        home, shared = self._table[-2, : len(positions)], self._table[-1, : len(positions), None]
        tiers = [self._prepare_tier(tier, positions) for tier in reach.tiers]

        def merge(
            layer: int, q: Tensor, own: Tensor, norm: Tensor, window: int | None, softcap: float | None
        ) -> Tensor:
            parts = [attend(layer, q, window, softcap) for attend in tiers]
            mixed, over = parts[0] if len(parts) == 1 else map(torch.cat, zip(*parts, strict=True))
            mixed, over = mixed.index_select(0, home), over.index_select(0, home)
            share = torch.sigmoid(over - norm)
            if not reach.all_rows:
                share = share * shared
            return torch.lerp(own.to(norm.dtype), mixed.to(norm.dtype), share[..., None]).to(own.dtype)

        return merge

    def _prepare_tier(self, tier: Tier, positions: Tensor) -> _AttendPrompts:
        """Prepare attention of the members of groups over the prompts of a tier."""
        heads, kv_heads, span = self._shape.heads, self._shape.kv_heads, tier.span
        table = self._table[tier.first : tier.first + tier.places]
        lengths, members = table[:, :1], table[:, 1 : tier.members + 1]
        row = members.flatten()
        wide = torch.promote_types(self.memory.dtype, torch.float32)
        biases: dict[int | None, Tensor | None] = {}

        def bias(window: int | None) -> Tensor | None:
            """Return the attention bias [places * kv_heads, 1 or members * group, span], or None if all is visible."""
            if window is None and tier.uniform:
                return None
            if window not in biases:
                column = torch.arange(span, device=positions.device)
                visible = (column < lengths)[:, None]
                if window is not None:
                    visible = visible & visible_keys(positions[members][..., None] - column, window)
                hidden = torch.zeros(visible.shape, dtype=wide, device=positions.device)
                hidden = hidden.masked_fill_(~visible, _HIDDEN).repeat_interleave(kv_heads, 0)
                biases[window] = hidden if window is None else hidden.repeat_interleave(heads // kv_heads, 1)
            return biases[window]

        def attend(layer: int, q: Tensor, window: int | None, softcap: float | None) -> tuple[Tensor, Tensor]:
            # The queries of all members of a group that share a key head are the "sequence" of the product.
            queries = q.index_select(0, row).view(tier.places, tier.members, kv_heads, -1, q.shape[-1])
            queries = queries.transpose(1, 2).reshape(tier.places * kv_heads, -1, q.shape[-1])
            keys, values = self.memory.view(layer, slice(tier.first, tier.first + tier.places), span)
            mixed, norm = mix_columns(queries, keys, values, bias(window), softcap, norm=True)
            assert norm is not None
            mixed = mixed.view(tier.places, kv_heads, tier.members, -1, q.shape[-1]).transpose(1, 2)
            norm = norm.view(tier.places, kv_heads, tier.members, -1).transpose(1, 2)
            return mixed.reshape(len(row), heads, -1), norm.reshape(len(row), heads)

        return attend


def _key_of(sequence: TokenSequence) -> _Key:
    return sequence.forced, tuple(sequence.tokens)
