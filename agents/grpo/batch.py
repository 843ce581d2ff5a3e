"""The flat batch: every token of every row in one line, without padding.

One convention: a per-token tensor holds, at the place of a token, what belongs to *that* token (its log-probability
given what precedes it, its advantage, its weight). The shift between a token and the hidden state that predicts it
happens in `packing` and nowhere else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from .types import Group, Trajectory


@dataclass(frozen=True, eq=False)
class Batch:
    """N tokens in S rows, a row being one valid trajectory.

    Attributes:
        ids: int64 [N].
        row_of: row of each token, int64 [N], non-decreasing.
        position: place of each token in its row, int64 [N].
        turn_of: turn of each token within its row, int64 [N].
        action: True where the token was sampled, bool [N].
        logp_mu: behaviour log-probability of sampled tokens, 0 elsewhere, float32 [N].
        row_start: first token of each row and N at the end, int64 [S + 1].
        group_of_row: int64 [S].
        outcome: return of each row, float32 [S].
        truncated: rows ended by a limit, bool [S].
        prompt_length: tokens before the first action of each row, int64 [S].
        max_tokens: the budget of action tokens of one episode.
    """

    ids: Tensor
    row_of: Tensor
    position: Tensor
    turn_of: Tensor
    action: Tensor
    logp_mu: Tensor
    row_start: Tensor
    group_of_row: Tensor
    outcome: Tensor
    truncated: Tensor
    prompt_length: Tensor
    max_tokens: int

    @property
    def rows(self) -> int:
        return len(self.outcome)

    @property
    def groups(self) -> int:
        return int(self.group_of_row.max()) + 1 if self.rows else 0

    @property
    def action_count(self) -> Tensor:
        """Sampled tokens of each row, int64 [S]."""
        return torch.zeros(self.rows, dtype=torch.int64).index_add_(0, self.row_of, self.action.long())

    def per_token(self, row_value: Tensor) -> Tensor:
        """Spread a value per row [S] over its tokens [N]."""
        return row_value[self.row_of]

    def row_slice(self, row: int) -> slice:
        return slice(int(self.row_start[row]), int(self.row_start[row + 1]))


def collate(groups: Sequence[Group]) -> Batch:
    """Flatten the valid trajectories of ``groups``; group numbers are positions in ``groups``."""
    rows: list[tuple[int, Trajectory]] = [(g, t) for g, group in enumerate(groups) for t in group.valid]
    ids: list[int] = []
    turn_of: list[int] = []
    action: list[bool] = []
    logp: list[float] = []
    lengths: list[int] = []
    for _, trajectory in rows:
        before = len(ids)
        for number, turn in enumerate(trajectory.turns):
            observed, acted = len(turn.obs_ids), len(turn.act_ids)
            ids += turn.obs_ids
            ids += turn.act_ids
            turn_of += [number] * (observed + acted)
            action += [False] * observed + [True] * acted
            logp += [0.0] * observed
            logp += turn.logps
        lengths.append(len(ids) - before)
    length = torch.tensor(lengths, dtype=torch.int64)
    row_start = torch.cat((torch.zeros(1, dtype=torch.int64), length.cumsum(0)))
    row_of = torch.repeat_interleave(torch.arange(len(rows)), length)
    return Batch(
        ids=torch.tensor(ids, dtype=torch.int64),
        row_of=row_of,
        position=torch.arange(len(ids)) - row_start[row_of],
        turn_of=torch.tensor(turn_of, dtype=torch.int64),
        action=torch.tensor(action, dtype=torch.bool),
        logp_mu=torch.tensor(logp, dtype=torch.float32),
        row_start=row_start,
        group_of_row=torch.tensor([g for g, _ in rows], dtype=torch.int64),
        outcome=torch.tensor([t.outcome for _, t in rows], dtype=torch.float32),
        truncated=torch.tensor([t.truncated for _, t in rows], dtype=torch.bool),
        prompt_length=torch.tensor([len(t.turns[0].obs_ids) for _, t in rows], dtype=torch.int64),
        max_tokens=max((t.max_tokens for _, t in rows), default=1),
    )
