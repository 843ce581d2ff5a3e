"""Cuts a batch into micro-batches and lays each out for the forward pass.

A micro-batch is a list of distinct tokens plus *segments*: a segment owns some of the tokens and may attend to others
before them. The plain packer gives each row one segment. The shared-prefix packer gives the prompt that several rows
have in common a segment of its own, so that it is encoded, and differentiated, once. Both give the same gradient.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import torch
import torch.nn.functional as F
from torch import Tensor

from ....registry import Registry
from ...language.attention import mix
from .batch import Batch
from .ragged import Ragged, suits


@dataclass(frozen=True)
class Segment:
    """Tokens ``own`` (positions in the micro-batch), preceded by ``context`` tokens that other segments own."""

    context: range
    own: range


@dataclass(frozen=True, eq=False)
class _Bucket:
    """Segments of similar size, padded together for attention."""

    queries: Tensor  # [B, Q] token of each query
    keys: Tensor  # [B, K] token of each key
    visible: Tensor  # [B, 1, Q, K] bool
    real: Tensor  # [own tokens] flat places of real queries in [B * Q]
    causal: bool  # no context: as padding stands behind the real tokens, plain causal attention suffices

    def to(self, device: torch.device) -> _Bucket:
        moved = {name: getattr(self, name).to(device) for name in ("queries", "keys", "visible", "real")}
        return replace(self, **moved)


@dataclass(frozen=True, eq=False)
class MicroBatch:
    """The tokens of one forward and backward pass.

    Attributes:
        ids, positions: distinct tokens, int64 [U].
        episodes: episodes of the batch that are here, int64 [R].
        scored: places in the batch of the action tokens, int64 [A].
        source: token (in [U]) whose hidden state predicts each scored token, int64 [A].
        targets: ids of the scored tokens, int64 [A].
        episode: episode of each scored token, 0..R-1, int64 [A].
    """

    ids: Tensor
    positions: Tensor
    episodes: Tensor
    scored: Tensor
    source: Tensor
    targets: Tensor
    episode: Tensor
    buckets: tuple[_Bucket, ...]
    order: Tensor  # output of the buckets, one after another -> tokens
    segments: tuple[Segment, ...]

    @cached_property
    def ragged(self) -> Ragged:
        """The segments as a variable-length kernel takes them, on the device of the tokens."""
        return Ragged.of([(segment.context, segment.own) for segment in self.segments]).to(self.ids.device)

    def to(self, device: torch.device) -> MicroBatch:
        """Move the tensors that the forward pass reads to ``device``."""
        if device.type == "cpu":
            return self
        moved = {name: getattr(self, name).to(device) for name in ("ids", "positions", "source", "targets", "order")}
        return replace(self, buckets=tuple(bucket.to(device) for bucket in self.buckets), **moved)

    def attend(
        self, layer: int, q: Tensor, k: Tensor, v: Tensor, *, window: int | None = None, softcap: float | None = None
    ) -> Tensor:
        """Attention within segments; see `agents.language.attention.Attend`."""
        if softcap is None and suits(q):
            return self.ragged.attend(q, k, v, window)
        groups = q.shape[1] // k.shape[1]
        outputs = []
        for bucket in self.buckets:
            rows, width = bucket.queries.shape
            queries = q.index_select(0, bucket.queries.flatten()).view(rows, width, *q.shape[1:]).transpose(1, 2)
            span = bucket.keys.shape[1]
            keys = k.index_select(0, bucket.keys.flatten()).view(rows, span, *k.shape[1:]).transpose(1, 2)
            values = v.index_select(0, bucket.keys.flatten()).view(rows, span, *v.shape[1:]).transpose(1, 2)
            plain = window is None and softcap is None
            # On a CPU the kernel itself lets query heads share a key head, so that no key is copied and no gradient
            # summed up afterwards; on a GPU the kernel for single precision cannot.
            grouped = groups > 1 and plain and q.device.type == "cpu"
            if groups > 1 and not grouped:
                keys, values = keys.repeat_interleave(groups, 1), values.repeat_interleave(groups, 1)
            if not plain:
                mixed = mix(queries, keys, values, self._visible(bucket, window), softcap)
            else:
                mask = None if bucket.causal else bucket.visible
                mixed = F.scaled_dot_product_attention(
                    queries, keys, values, attn_mask=mask, is_causal=bucket.causal, enable_gqa=grouped
                )
            outputs.append(mixed.transpose(1, 2).flatten(0, 1).index_select(0, bucket.real))
        joined = outputs[0] if len(outputs) == 1 else torch.cat(outputs)
        return joined.index_select(0, self.order)

    def _visible(self, bucket: _Bucket, window: int | None) -> Tensor:
        """Keys that each query of a bucket attends to, at most ``window`` positions back, bool [B, 1, Q, K]."""
        if window is None:
            return bucket.visible
        back = self.positions[bucket.queries][:, :, None] - self.positions[bucket.keys][:, None]
        near = bucket.visible & (back < window)[:, None]
        # Padded queries may stand beyond the window of all their keys; a row without any key would not be a number.
        return near | (~near.any(-1, keepdim=True) & bucket.visible)


Packer = Callable[[Batch, Sequence[int], int], list[MicroBatch]]
"""``(batch, episodes to include, token budget) -> micro-batches``; an episode never spans two micro-batches."""

PACKERS: Registry[Packer] = Registry("packer")


@PACKERS.register("plain")
def pack_plain(batch: Batch, episodes: Sequence[int], budget: int) -> list[MicroBatch]:
    """Each row on its own, episodes in order, as many to a micro-batch as the budget of tokens allows."""
    return _pack(batch, episodes, budget, list(range(batch.rows)))


@PACKERS.register("shared_prefix")
def pack_shared_prefix(batch: Batch, episodes: Sequence[int], budget: int) -> list[MicroBatch]:
    """Rows whose prompts are equal share one copy of the prompt, those of the same episode as well.

    Episodes of a group that begin alike stand together. A prompt is encoded once in each micro-batch where it occurs.
    """
    numbers: dict[bytes, int] = {}
    prompt_of: list[int] = []
    for start, length in zip(batch.row_start.tolist(), batch.prompt_length.tolist(), strict=False):
        prompt_of.append(numbers.setdefault(batch.ids[start : start + length].numpy().tobytes(), len(numbers)))
    first = _rows_of(batch)
    families: dict[tuple[int, int], list[int]] = {}
    for episode in episodes:
        families.setdefault((int(batch.group_of[episode]), prompt_of[first[episode].start]), []).append(episode)
    return _pack(batch, [episode for family in families.values() for episode in family], budget, prompt_of)


def _rows_of(batch: Batch) -> list[range]:
    """Rows of each episode."""
    counts = torch.bincount(batch.episode_of_row, minlength=batch.episodes)
    ends = counts.cumsum(0).tolist()
    return [range(end - count, end) for end, count in zip(ends, counts.tolist(), strict=True)]


def _pack(batch: Batch, episodes: Sequence[int], budget: int, prompt_of: Sequence[int]) -> list[MicroBatch]:
    """Fill micro-batches with episodes in order.

    Args:
        prompt_of: number of each row's prompt; rows of one micro-batch with equal numbers share it.
    """
    rows_of = _rows_of(batch)
    starts = batch.row_start.tolist()
    prompts = batch.prompt_length.tolist()
    micro_batches: list[MicroBatch] = []
    current: list[int] = []
    used, known = 0, set[int]()
    for episode in episodes:
        rows = rows_of[episode]
        own = sum(starts[row + 1] - starts[row] - prompts[row] for row in rows)
        new = {prompt_of[row]: prompts[row] for row in rows}
        cost = own + sum(length for number, length in new.items() if number not in known)
        if used and used + cost > budget:
            micro_batches.append(_lay_out(batch, current, rows_of, prompt_of))
            current, used, known = [], 0, set()
            cost = own + sum(new.values())
        current.append(episode)
        used += cost
        known |= new.keys()
    if current:
        micro_batches.append(_lay_out(batch, current, rows_of, prompt_of))
    return micro_batches


def _lay_out(batch: Batch, episodes: list[int], rows_of: list[range], prompt_of: Sequence[int]) -> MicroBatch:
    starts = batch.row_start.tolist()
    prompts = batch.prompt_length.tolist()
    tokens: list[Tensor] = []  # pieces of places in the batch
    segments: list[Segment] = []
    scored: list[Tensor] = []
    source: list[Tensor] = []
    episode_of: list[Tensor] = []
    size = 0

    def add(low: int, high: int) -> range:
        nonlocal size
        tokens.append(torch.arange(low, high))
        size += high - low
        return range(size - (high - low), size)

    users = Counter(prompt_of[row] for episode in episodes for row in rows_of[episode])
    shared: dict[int, range] = {}
    for number, episode in enumerate(episodes):
        for row in rows_of[episode]:
            low, high = starts[row], starts[row + 1]
            prompt = shared.get(prompt_of[row], range(0))
            if not prompt and users[prompt_of[row]] > 1 and prompts[row]:
                prompt = shared[prompt_of[row]] = add(low, low + prompts[row])
                segments.append(Segment(range(0), prompt))
            own = add(low + len(prompt), high)
            segments.append(Segment(prompt, own))
            acted = batch.action[low:high].nonzero()[:, 0]
            # The state at the token before predicts a token: the only shift in the learner. That token is the last
            # of the shared prompt for the first action, the own predecessor otherwise.
            before = acted - 1
            place = before - len(prompt) + own.start
            place = torch.where(before < len(prompt), prompt.start + before, place)
            scored.append(low + acted)
            source.append(place)
            episode_of.append(torch.full_like(acted, number))
    places = torch.cat(tokens)
    where = torch.cat(scored)
    buckets, order = _bucket(segments)
    return MicroBatch(
        ids=batch.ids[places],
        positions=batch.position[places],
        episodes=torch.tensor(episodes),
        scored=where,
        source=torch.cat(source),
        targets=batch.ids[where],
        episode=torch.cat(episode_of),
        buckets=buckets,
        order=order,
        segments=tuple(segments),
    )


def _bucket(segments: list[Segment]) -> tuple[tuple[_Bucket, ...], Tensor]:
    """Group segments of similar size, so that little of the padded attention is wasted."""
    by_size = sorted(segments, key=lambda s: (len(s.context) > 0, len(s.context) + len(s.own), len(s.own)))
    parts: list[list[Segment]] = []
    real = 0
    for segment in by_size:
        area = len(segment.own) * (len(segment.context) + len(segment.own))
        if parts and (len(segment.context) > 0) == (len(parts[-1][-1].context) > 0):
            widest = max(len(s.own) for s in [*parts[-1], segment])
            span = len(segment.context) + len(segment.own)
            padded = (len(parts[-1]) + 1) * widest * span
            # A bucket costs some fixed time, so small waste is not worth another one.
            if padded <= 1.5 * (real + area) or padded - real - area < 20_000:
                parts[-1].append(segment)
                real += area
                continue
        parts.append([segment])
        real = area
    buckets = []
    produced: list[int] = []
    for part in parts:
        buckets.append(_make_bucket(part))
        produced += [token for segment in part for token in segment.own]
    order = torch.empty(len(produced), dtype=torch.int64)
    order[torch.tensor(produced)] = torch.arange(len(produced))
    return tuple(buckets), order


def _make_bucket(segments: list[Segment]) -> _Bucket:
    width = max(len(s.own) for s in segments)
    span = max(len(s.context) + len(s.own) for s in segments)
    own_start = torch.tensor([s.own.start for s in segments])[:, None]
    own_count = torch.tensor([len(s.own) for s in segments])[:, None]
    context_start = torch.tensor([s.context.start for s in segments])[:, None]
    context_count = torch.tensor([len(s.context) for s in segments])[:, None]
    query = torch.arange(width)[None]
    key = torch.arange(span)[None]
    real = query < own_count
    queries = torch.where(real, own_start + query, own_start)
    in_context = key < context_count
    valid = key < context_count + own_count
    keys = torch.where(in_context, context_start + key, own_start + key - context_count)
    keys = torch.where(valid, keys, own_start)
    # Query i of a segment stands at context + i; padded queries see the first key only, so that no row is empty.
    visible = (key[:, None] <= (context_count + query)[:, :, None]) & valid[:, None]
    visible[:, :, 0] = True
    causal = int(context_count.max()) == 0
    return _Bucket(queries, keys, visible[:, None], real.flatten().nonzero()[:, 0], causal)
