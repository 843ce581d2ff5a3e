"""Implicit process reward model: a second copy of the policy, trained on outcomes alone.

Its log-ratio to a base model is a reward at every token. This module trains the model; the returns "implicit_token" and
"implicit_turn" turn its log-probabilities into credit.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits

from .....checks import check_choice, check_number
from .....rewards.models.losses import bradley_terry_loss
from ...batch.batch import Batch
from ...batch.passes import Passes
from ...batch.segments import Segments
from ...optimizers import make_optimizer
from ...recipes.stages import AUXILIARIES
from .auxiliary import Auxiliary, Stats


@AUXILIARIES.register("implicit_prm")
class ImplicitRewardModel(Auxiliary):
    """Reward model phi whose reward of each action token is r_t = beta (log phi - log base). It provides "logp_prm" =
    log phi.

    Args:
        objective: "ce": cross-entropy of the episode's success with sigma(sum_t r_t); the base is the reference (PRIME,
            arXiv 2502.01456, eq. 4). "pairwise": -log sigma of the difference of sum_t r_t, averaged over all pairs of
            a better and a worse episode of a group; the base is the policy at the beginning of the update (iStar, arXiv
            2509.19199, eq. 3).
        beta: scale of the rewards.
        lr: learning rate of AdamW.
        when: "after": rewards come from the model before it is trained on the batch (PRIME's released runs); "before":
            it is trained first.
        clip: largest norm of the gradient.
    """

    provides = frozenset({"logp_prm"})

    def __init__(
        self, objective: str = "ce", beta: float = 0.05, lr: float = 1e-6, when: str = "after", clip: float = 10.0
    ):
        super().__init__(when)
        self.objective = check_choice("objective", objective, ("ce", "pairwise"))
        self.beta = check_number("beta", beta, 0.0)
        self.lr = check_number("lr", lr, 0.0)
        self.clip = check_number("clip", clip, 0.0)
        self.base = "logp_ref" if objective == "ce" else "logp_old"
        self.needs = frozenset({self.base})

    def attach(self, model: Any, reference: Any) -> None:
        self.model = copy.deepcopy(model)
        self._weights = [weight for weight in self.model.parameters() if weight.requires_grad]
        self._optimizer = make_optimizer(self._weights, lr=self.lr, betas=(0.9, 0.999), weight_decay=0.0)

    def measure(self, batch: Batch, passes: Passes) -> dict[str, Tensor]:
        return {"logp_prm": passes.measure(self.model, batch).logp}

    def train(self, batch: Batch, passes: Passes) -> Stats:
        logp = passes.measure(self.model, batch).logp.requires_grad_()
        score = self.beta * batch.sum_by_episode(torch.where(batch.action, logp - batch.measurement(self.base), 0))
        better, worse = Segments(batch.group_of, batch.groups).pairs(batch.outcome)
        loss = None
        if self.objective == "pairwise" and len(better):
            loss = bradley_terry_loss(score[better], score[worse]).mean()
        elif self.objective == "ce" and batch.episodes:
            won = torch.tensor([t.success for t in batch.trajectories], dtype=score.dtype)
            loss = binary_cross_entropy_with_logits(score, won)
        if loss is None:
            return {}
        (slope,) = torch.autograd.grad(loss, logp)
        passes.backward(self.model, batch, slope)
        torch.nn.utils.clip_grad_norm_(self._weights, self.clip)
        for group in self._optimizer.param_groups:
            group["lr"] = self.lr
        self._optimizer.step()
        self._optimizer.zero_grad()
        lead = (score[better] - score[worse]).detach().sign()
        return {"prm_loss": (loss.item(), 1), "prm_accuracy": ((lead + 1).sum().item() / 2, len(lead))}

    def state(self) -> dict[str, Any]:
        return {"weights": [w.detach().cpu() for w in self._weights], "optimizer": self._optimizer.state_dict()}

    @torch.no_grad()
    def load(self, state: Mapping[str, Any]) -> None:
        for weight, saved in zip(self._weights, state["weights"], strict=True):
            weight.copy_(saved)
        self._optimizer.load_state_dict(dict(state["optimizer"]))
