"""Key-value cache: keys and values of every conversation in one contiguous tensor, one row per conversation.

The rows that decode are at the front, so that a decoding step attends over a view and gathers nothing.
`prepare_extension` and `prepare_step` return the attention callback of a forward pass that adds tokens: it writes their
keys and values and attends over the whole rows. A row that continues a shared prompt (see `prompts`) holds only the
tokens after the prompt, and attention is over both.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import torch
import torch.nn.functional as F
from torch import Tensor

from ...errors import InputError
from ..language.attention import Attend, AttentionShape, mix, mix_columns
from ..language.gpu import has_flash_attention

_SCORE_BYTES = 1 << 28
"""Largest memory for attention scores at any time while prompts are encoded, in bytes."""
LONG_PROMPT = 256
"""Number of new tokens from which a fused attention kernel is faster on a CPU."""
_FAR = 1 << 40
"""A position that no query sees."""


def token_bytes(shape: AttentionShape, like: Tensor) -> int:
    """Return the memory of one token's keys and values in all layers, in bytes; ``like`` gives the dtype."""
    return 2 * shape.layers * shape.kv_heads * shape.head_dim * like.element_size()


def row_length(max_length: int) -> int:
    """Return the capacity of a row of fixed size, in tokens: ``max_length`` + 1, rounded up to a multiple of 16.

    The additional position is for a full row that does not decode, which is written one position past its contents (see
    `decoding`). Rounding lets rows of half precision begin at whole 32-byte sectors of a GPU's memory.
    """
    return -(-(max_length + 1) // 16) * 16


def slots_within(
    shape: AttentionShape,
    max_length: int,
    like: Tensor,
    slots: int,
    cache_gb: float,
    places: Callable[[int], int] = lambda slots: 0,
) -> int:
    """Return how many conversations of ``max_length`` tokens, at most ``slots``, fit a cache of ``cache_gb`` GB.

    Args:
        cache_gb: memory in units of 1e9 bytes.
        places: number of shared prompts, of ``max_length`` tokens each, that are stored in addition, as a function of
            the number of conversations.

    Raises:
        InputError: not even one conversation fits.
    """
    one = token_bytes(shape, like) * row_length(max_length)
    if (most := int(cache_gb * 1e9 // one)) < 1:
        raise InputError(
            f"a cache of {cache_gb:.3g} GB holds no conversation of {max_length} tokens, which takes {one / 1e9:.3g} "
            "GB; raise --engine-option cache_gb=GB, or lower --context."
        )
    slots = min(slots, most)
    while slots + places(slots) > most:
        slots -= 1
    return slots


def fused_prefill(
    device: str, dtype: torch.dtype, width: int, new: bool, flash: bool
) -> Literal["causal", "masked"] | None:
    """Decide whether tokens are encoded by torch's fused attention, in layers without sliding window and softcap.

    In single precision on a CPU, fused attention stores no scores, which pays from `LONG_PROMPT` tokens on. In half
    precision on a GPU it is used if all rows are new, because the learner's attention is a fused kernel there too; with
    a mask, or without FlashAttention, torch may fall back on matrix products that hold all scores at once.

    Args:
        device: type of the device, such as "cuda".
        width: largest number of new tokens in a row.
        new: True if no row holds earlier tokens.
        flash: True if the GPU has FlashAttention for the model's head dimension.

    Returns:
        "causal": use it with a causal mask; "masked": use it with an explicit mask; None: use matrix products.
    """
    if device == "cpu" and dtype == torch.float32 and width >= LONG_PROMPT:
        return "causal" if new else "masked"
    if device == "cuda" and dtype in (torch.bfloat16, torch.float16) and new and flash:
        return "causal"
    return None


@dataclass(frozen=True)
class Prefix:
    """Shared prompts that rows of a cache continue.

    Attributes:
        memory: cache of the prompts, one per row.
        places: for each row, the row of its prompt in ``memory``.
        lengths: for each row, the number of tokens of its prompt; 0 for a row without a shared prompt.
    """

    memory: KeyValueCache
    places: Sequence[int]
    lengths: Sequence[int]


class Merge(Protocol):
    """Function that merges attention over shared prompts into the attention over the rows themselves."""

    def __call__(
        self, layer: int, q: Tensor, own: Tensor, norm: Tensor, window: int | None, softcap: float | None
    ) -> Tensor:
        """Compute attention over both the shared prompts and the rows.

        Args:
            q: queries, [R, heads, dim].
            own: attention over the rows, [R, heads, dim].
            norm: log-sum-exp of the scores of ``own``, [R, heads].

        Returns:
            [R, heads, dim].
        """
        ...


class KeyValueCache:
    """Keys and values of ``rows`` conversations of up to ``max_length`` tokens.

    The memory doubles as the longest conversation grows. With ``fixed`` it has its full size from the first use on, so
    that its addresses do not change.
    """

    def __init__(self, shape: AttentionShape, rows: int, max_length: int, like: Tensor, fixed: bool = False):
        """Allocate nothing yet; ``like`` gives device and dtype."""
        self._shape, self._rows, self.fixed, self._like = shape, rows, fixed, like
        self.device, self.dtype = like.device, like.dtype
        self._room = row_length(max_length)
        self.release()

    @property
    def rows(self) -> int:
        """Largest number of conversations."""
        return self._rows

    def release(self) -> None:
        """Free the memory, which loses the contents; the next `reserve` allocates memory again."""
        # Keys stand in columns, so that the products of a decoding step, of few rows each, read memory in order.
        outer = (self._shape.layers, self._rows, self._shape.kv_heads)
        self._keys = self._like.new_empty((*outer, self._shape.head_dim, 0))
        self._values = self._like.new_empty((*outer, 0, self._shape.head_dim))

    def addresses(self) -> tuple[int, ...]:
        """Return the memory addresses of keys and values."""
        return self._keys.data_ptr(), self._values.data_ptr()

    def reserve(self, length: int) -> None:
        """Grow the memory, if necessary, to hold conversations of ``length`` tokens."""
        capacity = self._keys.shape[-1]
        if length > capacity:
            room = self._room if self.fixed else min(max(length, 2 * capacity, 64), self._room)
            *outer, dim, _ = self._keys.shape
            keys, values = self._keys.new_zeros((*outer, dim, room)), self._values.new_zeros((*outer, room, dim))
            keys[..., :capacity] = self._keys
            values[..., :capacity, :] = self._values
            self._keys, self._values = keys, values

    def swap(self, a: int, filled_a: int, b: int, filled_b: int) -> None:
        """Exchange rows ``a`` and ``b``, which hold ``filled_a`` and ``filled_b`` tokens."""
        for store in (self._keys.transpose(-1, -2), self._values):
            kept = store[:, a, :, :filled_a].clone()
            store[:, a, :, :filled_b] = store[:, b, :, :filled_b]
            store[:, b, :, :filled_a] = kept

    def share(self, row: int, filled: int, others: Sequence[int]) -> None:
        """Copy the first ``filled`` tokens of a row to other rows."""
        places = torch.tensor(others, device=self._keys.device)
        for store in (self._keys.transpose(-1, -2), self._values):
            # A copy, as torch refuses to read and write one layer's store in one assignment.
            store[:, places, :, :filled] = store[:, row, None, :, :filled].clone()

    def read(self, layer: int, rows: Tensor, length: int) -> tuple[Tensor, Tensor]:
        """Return copies of the first ``length`` keys and values of rows, each [rows, kv_heads, length, dim]."""
        return self._keys[layer].transpose(-1, -2)[rows, :, :length], self._values[layer][rows, :, :length]

    def view(self, layer: int, rows: slice, length: int) -> tuple[Tensor, Tensor]:
        """Return the first ``length`` keys [rows * kv_heads, dim, length] and values [rows * kv_heads, length, dim] of
        adjacent rows."""
        keys, values = self._keys[layer, rows], self._values[layer, rows]
        return keys[..., :length].flatten(0, 1), values[:, :, :length].flatten(0, 1)

    def prepare_extension(
        self, rows: Sequence[int], filled: Sequence[int], added: Sequence[int], prefix: Prefix | None = None
    ) -> tuple[Tensor, Attend]:
        """Prepare the addition of several tokens to rows, padded to the longest addition.

        Args:
            rows: indices of the R rows.
            filled: number of cached tokens of each row.
            added: number of tokens to add to each row, at least 1.
            prefix: the shared prompts that the rows continue, or None.

        Returns:
            (positions int64 [R * width], attention callback); a row's tokens are adjacent, with the padding after them.
        """
        device = self._keys.device
        width, span = max(added), max(a + b for a, b in zip(filled, added, strict=True))
        self.reserve(span)
        start, counts = torch.tensor(filled, device=device)[:, None], torch.tensor(added, device=device)[:, None]
        column = torch.arange(width, device=device)
        real = (column < counts).flatten()
        # Padding repeats the last position, so that it sees keys in every window.
        place = start + torch.minimum(column, counts - 1)
        where = torch.tensor(rows, device=device)
        write_row, write_at = where[:, None].expand_as(place).flatten()[real], place.flatten()[real]
        heads, kv_heads = self._shape.heads, self._shape.kv_heads
        positions, key_at = place, torch.arange(span, device=device)
        if prefix is not None:
            base, before = torch.tensor(prefix.lengths, device=device)[:, None], max(prefix.lengths)
            source, column = torch.tensor(prefix.places, device=device), torch.arange(before, device=device)
            positions, span = place + base, span + before
            key_at = torch.cat((torch.where(column < base, column, _FAR), key_at + base), -1)[:, None]
        masks: dict[tuple[int | None, int, int], Tensor] = {}
        at_once = max(1, _SCORE_BYTES // (4 * heads * width * span))
        parts = [slice(low, low + at_once) for low in range(0, len(rows), at_once)]
        flash = has_flash_attention(device, self._shape.head_dim)
        fused = fused_prefill(device.type, self.dtype, width, new=prefix is None and not any(filled), flash=flash)

        def visible(window: int | None, part: slice) -> Tensor:
            known = window, part.start, part.stop
            if known not in masks:
                keys = key_at if prefix is None else key_at[part]
                masks[known] = visible_keys(positions[part, :, None] - keys, window)
            return masks[known]

        def held(layer: int, part: slice) -> tuple[Tensor, Tensor]:
            if prefix is None:
                return self.read(layer, where[part], span)
            pairs = prefix.memory.read(layer, source[part], before), self.read(layer, where[part], span - before)
            keys, values = zip(*pairs, strict=True)
            return torch.cat(keys, -2), torch.cat(values, -2)

        def attend(
            layer: int, q: Tensor, k: Tensor, v: Tensor, *, window: int | None = None, softcap: float | None = None
        ) -> Tensor:
            self._keys[layer].transpose(-1, -2)[write_row, :, write_at] = k[real]
            self._values[layer][write_row, :, write_at] = v[real]
            if fused is not None and window is None and softcap is None:
                keys, values = held(layer, slice(None))
                mixed = F.scaled_dot_product_attention(
                    q.view(len(rows), width, heads, -1).transpose(1, 2),
                    keys.contiguous(),
                    values.contiguous(),
                    attn_mask=None if fused == "causal" else visible(None, slice(0, len(rows)))[:, None],
                    is_causal=fused == "causal",
                    enable_gqa=heads > kv_heads,
                )
                return mixed.transpose(1, 2).reshape(len(rows) * width, heads, -1)
            queries = q.view(len(rows), width, kv_heads, heads // kv_heads, -1).permute(0, 2, 3, 1, 4)
            mixed = []
            for part in parts:
                keys, values = held(layer, part)
                seen = visible(window, part)[:, None, None]
                mixed.append(mix(queries[part], keys[:, :, None], values[:, :, None], seen, softcap))
            joined = mixed[0] if len(mixed) == 1 else torch.cat(mixed)
            return joined.permute(0, 3, 1, 2, 4).reshape(len(rows) * width, heads, -1)

        return positions.flatten(), attend

    def prepare_step(self, filled: Tensor, span: int, level: int | None = None, merge: Merge | None = None) -> Attend:
        """Prepare the addition of one token to each of the first rows, without waiting for the device.

        Args:
            filled: number of cached tokens of each row, int64 [rows].
            span: number of positions to attend over, at least max(``filled``) + 1; must be reserved (`reserve`).
            level: the common value if all of ``filled`` are equal, else None.
            merge: merges attention over shared prompts, or None.

        Returns:
            The attention callback.
        """
        device, rows = self._keys.device, filled.shape[0]
        # Rows of equal length write to one slice and need no mask, which is faster than indexing.
        row = None if level is not None else torch.arange(rows, device=device)
        heads, kv_heads = self._shape.heads, self._shape.kv_heads
        wide = torch.promote_types(self._keys.dtype, torch.float32)
        biases: dict[int | None, Tensor] = {}

        def bias(window: int | None) -> Tensor:
            if window not in biases:
                hidden = ~visible_keys(filled[:, None] - torch.arange(span, device=device), window)
                zeros = torch.zeros(hidden.shape, dtype=wide, device=device)
                biases[window] = zeros.masked_fill_(hidden, -torch.inf).repeat_interleave(kv_heads, 0)[:, None]
            return biases[window]

        def attend(
            layer: int, q: Tensor, k: Tensor, v: Tensor, *, window: int | None = None, softcap: float | None = None
        ) -> Tensor:
            if row is not None:
                self._keys[layer, :rows][row, :, :, filled] = k
                self._values[layer, :rows][row, :, filled] = v
            else:
                self._keys[layer, :rows, ..., level] = k
                self._values[layer, :rows, :, level] = v
            # The query heads that share a key head are the "sequence" of the product, so keys are never repeated.
            queries = q.reshape(rows * kv_heads, heads // kv_heads, -1)
            masked = bias(window) if window is not None or row is not None else None
            own, norm = mix_columns(
                queries, *self.view(layer, slice(rows), span), masked, softcap, norm=merge is not None
            )
            own = own.view(rows, heads, -1)
            return own if merge is None or norm is None else merge(layer, q, own, norm.view(rows, -1), window, softcap)

        return attend


def visible_keys(back: Tensor, window: int | None) -> Tensor:
    """Return the mask of keys that a query sees, given how many positions ``back`` each key is; bool, like ``back``."""
    return (back >= 0) if window is None else (back >= 0) & (back < window)
