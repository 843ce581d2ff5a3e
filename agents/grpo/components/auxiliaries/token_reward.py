"""Token rewards learned from outcomes: which tokens of an answer the outcome hangs on, and weights made of them."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits

from .....checks import check_choice, check_count, check_number
from .....errors import InputError
from ...batch.batch import Batch
from ...batch.forward import Forward
from ...batch.scored import needs
from ...recipes.stages import ADJUSTMENTS, AUXILIARIES
from .auxiliary import HeadModel, Stats


@AUXILIARIES.register("token_reward")
class TokenReward(HeadModel):
    """A score s_t of every action token, trained by the cross-entropy of the episode's success with sigma(mean_t s_t)
    (OREAL, arXiv 2502.06781, section 3.3).

    The paper trains a model of its own; here it is a head on the policy's hidden state before the token and the token's
    embedding, neither of which takes a gradient. Provides "value", which then holds s_t instead of a critic's values.

    Args:
        when: trained "before" the batch is scored, which stands for the first ten updates that train scores alone, or
            "after".
    """

    def __init__(self, lr: float = 1e-3, width: int = 256, passes: int = 4, when: str = "before", seed: int = 0):
        super().__init__(
            check_number("lr", lr, 0.0), check_count("width", width, 1), check_count("passes", passes, 1), seed
        )
        self.when = check_choice("when", when, ("before", "after"))
        self._done: Stats = {}

    def attach(self, model: Any, reference: Any) -> None:
        self._embedding = model.get_input_embeddings()
        super().attach(model, reference)

    def _inputs(self, model: Any) -> int:
        return model.config.hidden_size + self._embedding.weight.shape[1]

    def _features(self, batch: Batch) -> Tensor:
        table = self._embedding.weight.detach()
        embedded = table[batch.ids[batch.action].to(table.device)].double().cpu()
        return torch.cat((super()._features(batch), embedded), 1)

    def measure(self, batch: Batch, forward: Forward) -> dict[str, Tensor]:
        if self.when == "before":
            self._done = self._train(batch)
        return super().measure(batch, forward)

    def update(self, batch: Batch, forward: Forward) -> Stats:
        if self.when == "after":
            return self._train(batch)
        done, self._done = self._done, {}
        return done

    def _train(self, batch: Batch) -> Stats:
        if not batch.action.any():
            return {}
        features, episode = self._features(batch), batch.episode_of[batch.action]
        won = torch.tensor([float(t.success) for t in batch.trajectories], dtype=torch.float64)
        losses = []
        for _ in range(self.passes):
            total = torch.zeros_like(won).index_add(0, episode, self.head(features))
            loss = binary_cross_entropy_with_logits(total / batch.action_count.clamp(min=1), won)
            losses.append(loss.item())
            self._descend(loss)
        return {"token_reward_loss": (losses[0], 1)}


@ADJUSTMENTS.register("token_reward_weight")
@needs("value")
def token_reward_weight(
    advantage: Tensor,
    batch: Batch,
    positive: float = 1.0,
    negative: float = 0.5,
    threshold: float = 0.5,
    top: float | None = None,
) -> Tensor:
    """Weigh tokens by what the episode's prefix up to them promises (OREAL, arXiv 2502.06781, eqs. 8 and 9).

    With c_t the mean of s up to token t: where A > 0 the weight is clip((sigma(c_t) - threshold) / (1 - threshold), 0,
    1), where A < 0 it is clip((1 - sigma(c_t) - threshold) / (1 - threshold), 0, 1). The two signs are averaged apart,
    ``positive`` and ``negative`` being what each average counts, under the reduction "token_mean".

    Args:
        top: keep only this share of an episode's tokens, those of the largest weight (rounded down; earlier ones first
            among equals).

    Raises:
        InputError: the threshold is not in [0, 1), or the share not in [0, 1].
    """
    if not 0 <= threshold < 1 or not (top is None or 0 <= top <= 1):
        raise InputError(f"threshold must lie in [0, 1) and top in [0, 1], not {threshold} and {top}.")
    action = batch.action
    a = advantage[action]
    promise = prefix_mean(batch.measured("value")[action], batch.episode_of[action]).sigmoid()
    good = torch.where(a > 0, promise, 1 - promise)
    weight = ((good - threshold) / (1 - threshold)).clamp(0, 1).to(a)
    if top is not None:
        weight = weight * _largest(weight, batch, top)
    share = torch.where(
        a > 0, positive * len(a) / (a > 0).sum().clamp(min=1), negative * len(a) / (a < 0).sum().clamp(min=1)
    )
    result = torch.zeros_like(advantage)
    result[action] = a * weight * share.to(a)
    return result


def prefix_mean(value: Tensor, episode: Tensor) -> Tensor:
    """Mean of each episode's values up to and with each of them, [A] -> [A], float64; ``episode`` non-decreasing."""
    if not len(value):
        return value.double()
    first = torch.ones_like(episode, dtype=torch.bool)
    first[1:] = episode[1:] != episode[:-1]
    begin = first.nonzero()[:, 0][first.cumsum(0) - 1]
    running = value.double().cumsum(0)
    before = running[begin] - value.double()[begin]
    place = torch.arange(len(value)) - begin + 1
    return (running - before) / place


def _largest(weight: Tensor, batch: Batch, top: float) -> Tensor:
    """Whether a token is among the ``top`` share of its episode's largest weights, bool [A]."""
    keep = torch.zeros_like(weight, dtype=torch.bool)
    begin = 0
    for count in batch.action_count.tolist():
        order = weight[begin : begin + count].sort(descending=True, stable=True).indices
        keep[begin + order[: int(top * count)]] = True
        begin += count
    return keep
