"""Division of a batch into micro-batches, and the layout of each for the forward pass.

A micro-batch is a list of tokens, divided into *segments*. The tokens of a segment attend to each other causally and to
a context: tokens that another segment owns. The plain packer makes one segment of each row, without context. The
shared-prefix packer makes a separate segment of a prompt that several rows have in common, so that the prompt is
encoded and differentiated once. Both give the same gradient.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from ....registry import Registry
from ...language.soft_tokens import SoftInputs
from .batch import Batch
from .padded import Padded
from .ragged import Ragged, suits
from .soft_batch import SoftTargets
from .token_indices import concatenate_ranges, send


@dataclass(frozen=True)
class Segment:
    """Tokens ``own`` (positions in the micro-batch), preceded by ``context`` tokens that another segment owns."""

    context: range
    own: range


@dataclass(frozen=True, eq=False)
class MicroBatch:
    """The tokens of one forward and backward pass.

    Attributes:
        ids, positions: id of each token, and its position in its row, int64 [U]; a shared prompt occurs once.
        episodes: indices in the batch of the R episodes of this micro-batch, int64 [R].
        scored: indices in the batch of the A action tokens, int64 [A].
        source: index (in [U]) of the token whose hidden state predicts each scored token, int64 [A].
        targets: ids of the scored tokens, int64 [A].
        episode: episode of each scored token, 0..R-1, int64 [A].
        spans: (context start, context end, own start, own end) of each segment, indices of tokens, ends exclusive,
            int64 [segments, 4]; segments own the tokens in order.
        soft_inputs: mixtures that the model reads in place of some tokens; None without any.
        soft_targets: perturbed log-probabilities that are scored in place of some tokens; None without any.
    """

    ids: Tensor
    positions: Tensor
    episodes: Tensor
    scored: Tensor
    source: Tensor
    targets: Tensor
    episode: Tensor
    spans: np.ndarray
    soft_inputs: SoftInputs | None = None
    soft_targets: SoftTargets | None = None

    @cached_property
    def segments(self) -> tuple[Segment, ...]:
        """The segments as objects."""
        return tuple(Segment(range(a, b), range(c, d)) for a, b, c, d in self.spans.tolist())

    @cached_property
    def ragged(self) -> Ragged:
        """Layout of the segments for a variable-length attention kernel, on the device of the tokens."""
        return Ragged.of(self.spans).to(self.ids.device)

    @cached_property
    def padded(self) -> Padded:
        """Layout of the segments with padding and masks, on the device of the tokens."""
        return Padded.of(self.spans).to(self.ids.device)

    def to(self, device: torch.device) -> MicroBatch:
        """Copy the tensors to ``device``; a copy to a GPU is asynchronous."""
        if self.ids.device == device:
            return self
        moved = ("ids", "positions", "episodes", "scored", "source", "targets", "episode")
        soft = {} if self.soft_inputs is None else {"soft_inputs": self.soft_inputs.to(device)}
        soft |= {} if self.soft_targets is None else {"soft_targets": self.soft_targets.to(device)}
        return replace(self, **{name: send(getattr(self, name), device) for name in moved}, **soft)

    def attend(
        self, layer: int, q: Tensor, k: Tensor, v: Tensor, *, window: int | None = None, softcap: float | None = None
    ) -> Tensor:
        """Compute attention within segments; see `agents.language.attention.Attend`."""
        if softcap is None and suits(q, window):
            return self.ragged.attend(q, k, v, window)
        return self.padded.attend(q, k, v, self.positions, window, softcap)


Packer = Callable[[Batch, Sequence[int], int], list[MicroBatch]]
"""``(batch, episodes to include, token budget) -> micro-batches``; an episode never spans two micro-batches."""

PACKERS: Registry[Packer] = Registry("packer")


@PACKERS.register("plain")
def pack_plain(batch: Batch, episodes: Sequence[int], budget: int) -> list[MicroBatch]:
    """Give each row a segment without context; fill micro-batches with episodes in order, up to ``budget`` tokens."""
    return _pack(batch, episodes, budget, list(range(batch.rows)))


@PACKERS.register("shared_prefix")
def pack_shared_prefix(batch: Batch, episodes: Sequence[int], budget: int) -> list[MicroBatch]:
    """Let rows with equal prompts share one copy of the prompt, rows of one episode included.

    Episodes of a group with the same prompt are placed together. A prompt is encoded once per micro-batch.
    """
    numbers: dict[bytes, int] = {}
    prompt_of: list[int] = []
    for start, length in zip(batch.row_start.tolist(), batch.prompt_length.tolist(), strict=False):
        prompt_of.append(numbers.setdefault(batch.ids[start : start + length].numpy().tobytes(), len(numbers)))
    first = first_rows(batch).tolist()
    group_of = batch.group_of.tolist()
    families: dict[tuple[int, int], list[int]] = {}
    for episode in episodes:
        families.setdefault((group_of[episode], prompt_of[first[episode]]), []).append(episode)
    return _pack(batch, [episode for family in families.values() for episode in family], budget, prompt_of)


def _pack(batch: Batch, episodes: Sequence[int], budget: int, prompt_of: Sequence[int]) -> list[MicroBatch]:
    """Fill micro-batches with episodes in order, up to ``budget`` tokens each.

    Args:
        prompt_of: number of each row's prompt; rows of one micro-batch with equal numbers share the prompt.
    """
    layout = _Layout(batch, prompt_of)
    starts, prompts = layout.start.tolist(), layout.prompt.tolist()
    micro_batches: list[MicroBatch] = []
    current: list[int] = []
    used, known = 0, set[int]()
    for episode in episodes:
        rows = range(layout.first_row[episode], layout.first_row[episode + 1])
        own = sum(starts[row + 1] - starts[row] - prompts[row] for row in rows)
        new = {prompt_of[row]: prompts[row] for row in rows}
        cost = own + sum(length for number, length in new.items() if number not in known)
        if used and used + cost > budget:
            micro_batches.append(layout.lay_out(current))
            current, used, known = [], 0, set()
            cost = own + sum(new.values())
        current.append(episode)
        used += cost
        known |= new.keys()
    if current:
        micro_batches.append(layout.lay_out(current))
    return micro_batches


class _Layout:
    """Index tables of a batch, from which micro-batches are laid out.

    Args:
        prompt_of: number of each row's prompt; rows of one micro-batch with equal numbers share the prompt.
    """

    def __init__(self, batch: Batch, prompt_of: Sequence[int]):
        self.batch, self.prompt_of = batch, np.asarray(prompt_of, dtype=np.int64)
        self.start, self.prompt = batch.row_start.numpy(), batch.prompt_length.numpy()
        self.acted = np.flatnonzero(batch.action.numpy())
        self.first_acted = np.searchsorted(self.acted, self.start)
        self.first_row = first_rows(batch)

    def lay_out(self, episodes: list[int]) -> MicroBatch:
        """Return the micro-batch of some episodes: rows in order, each shared prompt before the first row with it."""
        first, stop = self.first_row[episodes], self.first_row[np.asarray(episodes) + 1]
        rows = concatenate_ranges(first, stop - first)
        start, length, prompt = self.start[rows], self.start[rows + 1] - self.start[rows], self.prompt[rows]
        _, earliest, number, users = np.unique(
            self.prompt_of[rows], return_index=True, return_inverse=True, return_counts=True
        )
        shared = (users[number] > 1) & (prompt > 0)
        begins = shared & (earliest[number] == np.arange(len(rows)))
        context = np.where(shared, prompt, 0)
        # Two pieces per row: a shared prompt if this row is its first (else empty), and the rest of the row.
        pieces = np.stack((np.where(begins, prompt, 0), length - context), 1)
        ends = np.cumsum(pieces).reshape(pieces.shape)
        prompt_start, own_start = (ends - pieces).T
        # Start of the shared prompt that each row continues.
        context_start = np.where(shared, prompt_start[earliest[number]], 0)
        places = torch.from_numpy(concatenate_ranges(np.stack((start, start + context), 1).ravel(), pieces.ravel()))
        none = np.zeros_like(rows)
        spans = np.stack(
            (
                np.stack((none, none, prompt_start, ends[:, 0]), 1),
                np.stack((context_start, context_start + context, own_start, ends[:, 1]), 1),
            ),
            1,
        )
        acts = self.first_acted[rows + 1] - self.first_acted[rows]
        scored = self.acted[concatenate_ranges(self.first_acted[rows], acts)]
        row = np.repeat(np.arange(len(rows)), acts)
        # A token is predicted by the state at the token before it: the only shift in the learner. The token before is
        # the last of the shared prompt for a first action, and the predecessor in the row otherwise.
        before = scored - start[row] - 1
        source = np.where(before < context[row], context_start[row] + before, own_start[row] + before - context[row])
        where = torch.from_numpy(scored)
        episode = np.repeat(np.arange(len(episodes)), stop - first)
        soft = self.batch.soft
        return MicroBatch(
            ids=self.batch.ids[places],
            positions=self.batch.position[places],
            episodes=torch.tensor(episodes),
            scored=where,
            source=torch.from_numpy(source),
            targets=self.batch.ids[where],
            episode=torch.from_numpy(episode[row]),
            spans=spans.reshape(-1, 4)[np.stack((begins, np.ones_like(begins)), 1).ravel()],
            soft_inputs=None if soft is None else soft.inputs(places),
            soft_targets=None if soft is None else soft.targets(where),
        )


def first_rows(batch: Batch) -> np.ndarray:
    """Return the index of each episode's first row, followed by the number of rows, int64 [E + 1]."""
    counts = torch.bincount(batch.episode_of_row, minlength=batch.episodes).numpy()
    return np.concatenate(([0], np.cumsum(counts)))
