"""Advantages shaped by the effective rank of an answer's hidden states and by how fast this rank grows."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor

from .....errors import InputError
from ...batch.batch import Batch
from ...batch.scored import needs
from ...recipes.stages import ADJUSTMENTS


def effective_rank(states: Tensor) -> float:
    """Return exp(entropy of the normalised singular values) of centred states [T, H]; 0 if all states are equal."""
    values = torch.linalg.svdvals((states - states.mean(0)).double())
    total = values.sum()
    if total <= 1e-9:
        return 0.0
    share = values / total
    return float(torch.special.entr(share).sum().exp())


def rank_measures(states: Tensor, stride: int) -> tuple[float, float, float]:
    """Return effective rank, velocity and acceleration of hidden states [T, H].

    The rank is that of all states. The other two are over the prefixes of stride, 2 x stride, ... states: velocity is
    the mean distance of each rank from the mean of the ranks before; acceleration is the mean difference of successive
    distances.
    """
    lengths = [*range(stride, len(states), stride), len(states)] if len(states) else []
    ranks = [effective_rank(states[:length]) for length in lengths]
    leads = [ranks[i] - sum(ranks[:i]) / i for i in range(1, len(ranks))]
    gains = [after - before for before, after in pairwise(leads)]
    return ranks[-1] if ranks else 0.0, sum(leads) / max(len(leads), 1), sum(gains) / max(len(gains), 1)


@ADJUSTMENTS.register("hidden_rank")
@needs("hidden")
class HiddenRank:
    """Add min(relu(bonus), |A| / kappa), with bonus = (1 - success rate) x [s tanh(dev rank) + (1 - s) tanh(dev
    velocity)] for each episode and s = sigmoid(1.5 dev acceleration): an accelerating rank favours exploration,
    otherwise its velocity favours exploitation (VERL, arXiv 2509.23808).

    dev x is the relative distance of x from its running mean over batches, limited to [-5, 5]; the success rate is a
    running mean too. With kappa > 1 no advantage changes its sign.

    Args:
        kappa: the bonus is at most |A| / kappa.
        decay: decay of the running means, in [0, 1).
        stride: number of tokens between two ranks, at least 1.

    Raises:
        InputError: ``decay`` or ``stride`` is out of range.
    """

    def __init__(self, kappa: float = 2.0, decay: float = 0.7, stride: int = 20):
        if not 0 <= decay < 1 or stride < 1:
            raise InputError(f"decay={decay} must be in [0, 1) and stride={stride} at least 1.")
        self.kappa, self.decay, self.stride = kappa, decay, stride
        self.means: list[float] = []
        """Running means of rank, velocity, acceleration and success."""

    def __call__(self, advantage: Tensor, batch: Batch) -> Tensor:
        if not batch.episodes:
            return advantage
        hidden = batch.measurement("hidden")
        place = [(batch.episode_of == e) & batch.action for e in range(batch.episodes)]
        rows = [rank_measures(hidden[mine], round(self.stride)) for mine in place]
        measures = torch.tensor(rows, dtype=torch.float64)
        won = sum(t.success for t in batch.trajectories) / batch.episodes
        now = [*measures.mean(0).tolist(), won]
        before = self.means or now
        self.means = [self.decay * old + (1 - self.decay) * new for old, new in zip(before, now, strict=True)]
        level = torch.tensor(self.means[:3], dtype=torch.float64)
        distance = ((measures - level) / level.abs().clamp(min=1e-8)).clamp(-5, 5)
        rank, velocity, acceleration = torch.where((measures - level).abs() > 1e-9, distance, 0).unbind(1)
        explore = (1.5 * acceleration).sigmoid()
        bonus = (1 - self.means[3]) * (explore * rank.tanh() + (1 - explore) * velocity.tanh())
        gain = torch.minimum(batch.per_token(bonus.relu().to(advantage.dtype)), advantage.abs() / self.kappa)
        return torch.where(batch.action, advantage + gain, advantage)

    def state_dict(self) -> dict[str, Any]:
        return {"means": list(self.means)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.means = [float(value) for value in state["means"]]
