"""Critic: a value head on the policy's hidden states."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import Tensor

from .....checks import check_count, check_number
from ...batch.batch import Batch, collate
from ...batch.passes import Passes
from ...batch.trajectory import Group, Trajectory
from ...recipes.stages import AUXILIARIES
from ..credit.process import advantage_estimates, reinforced_token_rewards
from ..credit.units import reward_by_token
from .auxiliary import Stats, ValueHeadModel


@AUXILIARIES.register("critic")
class Critic(ValueHeadModel):
    """Critic V(state before each token), trained by (V - target)^2 / 2 on the lambda-return A_GAE + V (PPO, arXiv
    1707.06347, eq. 9; GAE, arXiv 1506.02438).

    The hidden states are detached, so the critic's loss does not train the policy. Provides "value", which the return
    "gae" turns into advantages. ``discount`` and ``decay`` must be the same as in that return, ``beta`` the same as in
    "kl_gae", or as ``kl`` in "rto_gae", and ``dense``, ``clip``, ``outcome`` and ``limit`` the same as in "rto_gae".
    """

    def __init__(
        self,
        lr: float = 1e-3,
        discount: float = 1.0,
        decay: float = 0.95,
        beta: float = 0.0,
        width: int = 256,
        passes: int = 4,
        seed: int = 0,
        dense: float = 0.0,
        clip: float = 0.05,
        outcome: float = 1.0,
        limit: float = 1e6,
    ):
        super().__init__(
            check_number("lr", lr, 0.0), check_count("width", width, 1), check_count("passes", passes, 1), seed
        )
        self.discount = check_number("discount", discount, 0.0, 1.0)
        self.decay = check_number("decay", decay, 0.0, 1.0)
        self.beta = check_number("beta", beta, 0.0)
        self.dense, self.clip = check_number("dense", dense, 0.0), check_number("clip", clip, 0.0)
        self.outcome, self.limit = outcome, limit
        if self.beta or self.dense:
            taught = {"logp_teacher"} if self.dense else set[str]()
            self.needs = ValueHeadModel.needs | {"logp_old", "logp_ref"} | taught

    def train(self, batch: Batch, passes: Passes) -> Stats:
        if not batch.action.any():
            return {}
        value, episode = batch.measurement("value")[batch.action], batch.episode_of[batch.action]
        reward = reward_by_token(batch)
        if self.beta or self.dense:
            taught, old = (
                (batch.measurement(name) - batch.measurement("logp_ref"))[batch.action].to(reward)
                for name in ("logp_teacher" if self.dense else "logp_ref", "logp_old")
            )
            reward = reinforced_token_rewards(
                reward, taught, old, self.dense, self.clip, self.beta, self.outcome, self.limit
            )
        target = (
            (advantage_estimates(reward, value, episode, self.discount, self.decay) + value).detach().to(value.dtype)
        )
        features, errors = self._features(batch), []
        for _ in range(self.passes):
            error = self.head(features) - target
            errors.append((error.detach() ** 2).sum().item())
            self._descend((error**2).mean() / 2)
        spread = ((target - target.mean()) ** 2).sum().item()
        return {"critic_error": (errors[0], len(target)), "critic_target_variance": (spread, len(target))}


def state_values(critic: Critic, model: Any, passes: Passes, trajectories: Sequence[Trajectory]) -> list[Tensor]:
    """Return the critic's value of the state before each action token of valid trajectories, one tensor [L] each.

    Args:
        model: the policy whose hidden states the critic reads.
    """
    batch = collate([Group(-1, tuple(trajectories))])
    hidden = passes.measure(model, batch, hidden=True).hidden
    assert hidden is not None
    batch = batch.with_(hidden=hidden)
    value = critic.measure(batch, passes)["value"]
    return list(value[batch.action].split(batch.action_count.tolist()))
