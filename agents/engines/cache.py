"""Key-value cache: keys and values of every conversation in one contiguous tensor, one row a conversation.

The rows that decode are at the front, so that a decoding step attends over a view and gathers nothing.
`prepare_extension` and `prepare_step` return the attention callback of a forward pass that adds tokens: it writes their
keys and values and attends over the whole rows.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from ...errors import InputError
from ..language.attention import Attend, AttentionShape, mix

_SCORE_BYTES = 1 << 28
"""Most bytes of attention scores alive at once while prompts are encoded."""
LONG_PROMPT = 256
"""New tokens from which on a fused kernel is worth it."""


def slots_within(shape: AttentionShape, max_length: int, like: Tensor, slots: int, cache_gb: float) -> int:
    """How many of ``slots`` conversations of ``max_length`` tokens a cache of ``cache_gb`` GB (1e9 bytes) holds.

    Raises:
        InputError: not even one.
    """
    one = 2 * shape.layers * shape.kv_heads * shape.head_dim * (max_length + 1) * like.element_size()
    if (most := int(cache_gb * 1e9 // one)) < 1:
        raise InputError(
            f"a cache of {cache_gb:.3g} GB holds no conversation of {max_length} tokens, which takes {one / 1e9:.3g} "
            "GB; raise --engine-option cache_gb=GB, or lower --context."
        )
    return min(slots, most)


class KeyValueCache:
    """Memory for ``rows`` conversations of up to ``max_length`` tokens.

    It grows with the longest conversation by doubling; with ``fixed`` it has its full size from the first use on, so
    that its addresses stay the same.
    """

    def __init__(self, shape: AttentionShape, rows: int, max_length: int, like: Tensor, fixed: bool = False):
        """``like`` gives device and type."""
        self._shape, self._rows, self.fixed, self._like = shape, rows, fixed, like
        self.device = like.device
        # A row that holds max_length tokens and does not decode is written one past them; see `decoding`.
        self._room = max_length + 1
        self.release()

    @property
    def rows(self) -> int:
        """Conversations that there is room for."""
        return self._rows

    def release(self) -> None:
        """Give the memory back. It is taken again with the next `reserve`; what it held is lost."""
        # Keys stand in columns, so that the products of a decoding step, of few rows each, read memory in order.
        outer = (self._shape.layers, self._rows, self._shape.kv_heads)
        self._keys = self._like.new_empty((*outer, self._shape.head_dim, 0))
        self._values = self._like.new_empty((*outer, 0, self._shape.head_dim))

    def addresses(self) -> tuple[int, ...]:
        """Where the memory lies."""
        return self._keys.data_ptr(), self._values.data_ptr()

    def reserve(self, length: int) -> None:
        """Make room for conversations of ``length`` tokens."""
        capacity = self._keys.shape[-1]
        if length > capacity:
            room = self._room if self.fixed else min(max(length, 2 * capacity, 64), self._room)
            *outer, dim, _ = self._keys.shape
            keys, values = self._keys.new_zeros((*outer, dim, room)), self._values.new_zeros((*outer, room, dim))
            keys[..., :capacity] = self._keys
            values[..., :capacity, :] = self._values
            self._keys, self._values = keys, values

    def swap(self, a: int, filled_a: int, b: int, filled_b: int) -> None:
        """Exchange two rows, as far as each is filled."""
        for store in (self._keys.transpose(-1, -2), self._values):
            kept = store[:, a, :, :filled_a].clone()
            store[:, a, :, :filled_b] = store[:, b, :, :filled_b]
            store[:, b, :, :filled_a] = kept

    def share(self, row: int, filled: int, others: Sequence[int]) -> None:
        """Copy the first ``filled`` tokens of a row to other rows."""
        places = torch.tensor(others, device=self._keys.device)
        for store in (self._keys.transpose(-1, -2), self._values):
            store[:, places, :, :filled] = store[:, row, None, :, :filled]

    def prepare_extension(
        self, rows: Sequence[int], filled: Sequence[int], added: Sequence[int]
    ) -> tuple[Tensor, Attend]:
        """Prepare the addition of several tokens to rows, padded to the longest addition.

        Args:
            rows: which rows, R of them; filled: tokens there already; added: tokens to come, at least 1 each.

        Returns:
            (positions int64 [R * width], callback); the tokens of a row are adjacent, with the padding after them.
        """
        device = self._keys.device
        width, span = max(added), max(a + b for a, b in zip(filled, added, strict=True))
        self.reserve(span)
        start, counts = torch.tensor(filled, device=device)[:, None], torch.tensor(added, device=device)[:, None]
        column = torch.arange(width, device=device)
        real = (column < counts).flatten()
        # Padding repeats the last position, so that it sees keys in every window.
        positions = start + torch.minimum(column, counts - 1)
        where = torch.tensor(rows, device=device)
        write_row, write_at = where[:, None].expand_as(positions).flatten()[real], positions.flatten()[real]
        heads, kv_heads = self._shape.heads, self._shape.kv_heads
        back = positions[:, :, None] - torch.arange(span, device=device)
        at_once = max(1, _SCORE_BYTES // (4 * heads * width * span))
        # The kernel keeps no scores, which pays for long prompts; on a GPU it would round half precision otherwise.
        fused = width >= LONG_PROMPT and device.type == "cpu" and self._keys.dtype == torch.float32
        new = not any(filled)

        def attend(
            layer: int, q: Tensor, k: Tensor, v: Tensor, *, window: int | None = None, softcap: float | None = None
        ) -> Tensor:
            keys, values = self._keys[layer].transpose(-1, -2), self._values[layer]
            keys[write_row, :, write_at] = k[real]
            values[write_row, :, write_at] = v[real]
            if fused and window is None and softcap is None:
                mixed = F.scaled_dot_product_attention(
                    q.view(len(rows), width, heads, -1).transpose(1, 2),
                    keys[where, :, :span].contiguous(),
                    values[where, :, :span].contiguous(),
                    attn_mask=None if new else (back >= 0)[:, None],
                    is_causal=new,
                    enable_gqa=heads > kv_heads,
                )
                return mixed.transpose(1, 2).reshape(len(rows) * width, heads, -1)
            visible = _visible(back, window)[:, None, None]
            queries = q.view(len(rows), width, kv_heads, heads // kv_heads, -1).permute(0, 2, 3, 1, 4)
            mixed = []
            for low in range(0, len(rows), at_once):
                part = slice(low, low + at_once)
                k_part, v_part = keys[where[part], :, None, :span], values[where[part], :, None, :span]
                mixed.append(mix(queries[part], k_part, v_part, visible[part], softcap))
            joined = mixed[0] if len(mixed) == 1 else torch.cat(mixed)
            return joined.permute(0, 3, 1, 2, 4).reshape(len(rows) * width, heads, -1)

        return positions.flatten(), attend

    def prepare_step(self, filled: Tensor, span: int, level: int | None = None) -> Attend:
        """Prepare the addition of one token to each of the first rows. Nothing here waits for the device.

        Args:
            filled: tokens that the rows hold already, int64 [rows].
            span: how far back the step looks, at least the largest of ``filled`` plus 1; `reserve` it before.
            level: the number that all of ``filled`` are, if they are equal.
        """
        device, rows = self._keys.device, filled.shape[0]
        # Rows of equal length write one slice and see all of it, which is quicker than a place and a mask for each.
        row = None if level is not None else torch.arange(rows, device=device)
        heads, kv_heads, scale = self._shape.heads, self._shape.kv_heads, self._shape.head_dim**-0.5
        wide = torch.promote_types(self._keys.dtype, torch.float32)
        biases: dict[int | None, Tensor] = {}
        nothing = self._keys.new_zeros(())

        def bias(window: int | None) -> Tensor:
            if window not in biases:
                hidden = ~_visible(filled[:, None] - torch.arange(span, device=device), window)
                zeros = torch.zeros(hidden.shape, dtype=wide, device=device)
                biases[window] = zeros.masked_fill_(hidden, -torch.inf).repeat_interleave(kv_heads, 0)[:, None]
            return biases[window]

        def attend(
            layer: int, q: Tensor, k: Tensor, v: Tensor, *, window: int | None = None, softcap: float | None = None
        ) -> Tensor:
            keys, values = self._keys[layer, :rows], self._values[layer, :rows]
            if row is not None:
                keys[row, :, :, filled] = k
                values[row, :, filled] = v
            else:
                keys[..., level] = k
                values[:, :, level] = v
            # The query heads that share a key head are the "sequence" of the product, so keys are never repeated.
            queries = q.reshape(rows * kv_heads, heads // kv_heads, -1)
            scores = torch.baddbmm(nothing, queries, keys[..., :span].flatten(0, 1), beta=0, alpha=scale).to(wide)
            if softcap is not None:
                scores = torch.tanh(scores / softcap) * softcap
            if window is not None or row is not None:
                scores.add_(bias(window))
            weights = scores.softmax(-1).to(v.dtype)
            return torch.bmm(weights, values[:, :, :span].flatten(0, 1)).view(rows, heads, -1)

        return attend


def _visible(back: Tensor, window: int | None) -> Tensor:
    """Return whether a query sees a key that is ``back`` positions before it."""
    return (back >= 0) if window is None else (back >= 0) & (back < window)
