"""Token rewards learned from outcomes: a score of how much each token of an answer contributes to success."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits

from .....checks import check_count, check_number
from ...batch.batch import Batch
from ...batch.passes import Passes
from ...batch.segments import segment_sum
from ...recipes.stages import AUXILIARIES
from .auxiliary import Stats, ValueHeadModel


@AUXILIARIES.register("token_reward")
class TokenReward(ValueHeadModel):
    """Score s_t of every action token, trained by the cross-entropy of the episode's success with sigma(mean_t s_t)
    (OREAL, arXiv 2502.06781, section 3.3).

    The paper trains a separate model. Here the model is a head on the policy's hidden state before the token and the
    token's embedding, both detached. Provides "value", which then holds s_t instead of a critic's values.

    Args:
        when: "before": the head is trained on each batch before it scores the batch, in place of the paper's first ten
            updates, which train the scores alone; "after": it is trained afterwards.
    """

    def __init__(self, lr: float = 1e-3, width: int = 256, passes: int = 4, when: str = "before", seed: int = 0):
        sizes = check_count("width", width, 1), check_count("passes", passes, 1)
        super().__init__(check_number("lr", lr, 0.0), *sizes, seed, when)

    def attach(self, model: Any, reference: Any) -> None:
        self._embedding = model.get_input_embeddings()
        super().attach(model, reference)

    def _inputs(self, model: Any) -> int:
        return model.config.hidden_size + self._embedding.weight.shape[1]

    def _features(self, batch: Batch) -> Tensor:
        table = self._embedding.weight.detach()
        embedded = table[batch.ids[batch.action].to(table.device)].double().cpu()
        return torch.cat((super()._features(batch), embedded), 1)

    def train(self, batch: Batch, passes: Passes) -> Stats:
        if not batch.action.any():
            return {}
        features, episode = self._features(batch), batch.episode_of[batch.action]
        won = torch.tensor([float(t.success) for t in batch.trajectories], dtype=torch.float64)
        losses = []
        for _ in range(self.passes):
            total = segment_sum(self.head(features), episode, len(won))
            loss = binary_cross_entropy_with_logits(total / batch.action_count.clamp(min=1), won)
            losses.append(loss.item())
            self._descend(loss)
        return {"token_reward_loss": (losses[0], 1)}
