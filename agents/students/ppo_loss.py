"""Formulas of PPO: advantages, and the loss of a minibatch with its metrics.

Tensors hold one number per step, with any shape [...]; arrays of a rollout are [T, N], with time first. The clipped
surrogate comes from `agents.grpo`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from ..grpo.components.surrogates.clip import clipped_surrogate


def generalised_advantages(
    r_t: np.ndarray, v_t: np.ndarray, v_last: np.ndarray, ends_t: np.ndarray, discount: float, decay: float
) -> np.ndarray:
    """Return generalised advantages [T, N]: sum over k of (discount decay)^k delta_{t+k}, with delta_t = r_t + discount
    v_{t+1} - v_t (arXiv 1506.02438, eq. 16).

    Args:
        r_t: rewards, [T, N]. The last reward of a truncated episode must include the discounted value of the last
            observation.
        v_t: values of the observations before each step, [T, N].
        v_last: values of the observations after the last step, [N].
        ends_t: bool[T, N], True if an episode ended with the step; later steps then do not contribute.
        discount: discount factor.
        decay: lambda.
    """
    advantages = np.zeros(r_t.shape)
    later, v_next = np.zeros(v_last.shape), v_last
    for t in range(len(r_t) - 1, -1, -1):
        goes_on = 1.0 - ends_t[t]
        delta = r_t[t] + discount * v_next * goes_on - v_t[t]
        advantages[t] = later = delta + discount * decay * goes_on * later
        v_next = v_t[t]
    return advantages


def value_loss(v_t: Tensor, v_old_t: Tensor, return_t: Tensor, clip: float | None = None) -> Tensor:
    """Return half the squared error of the values, [...]. With ``clip``, the larger one of the errors of v and of v
    clipped to v_old +- clip (OpenAI's baselines, ppo2; Huang et al. 2022, detail 9, find no benefit)."""
    error = (v_t - return_t).square()
    if clip is not None:
        bounded = v_old_t + (v_t - v_old_t).clamp(-clip, clip)
        error = torch.maximum(error, (bounded - return_t).square())
    return 0.5 * error


def standardise(adv_t: Tensor, counts_t: Tensor) -> Tensor:
    """Standardise advantages by mean and standard deviation over the steps where ``counts_t`` is True (Huang et al.
    2022, detail 7); with fewer than two such steps, return them unchanged."""
    kept = adv_t[counts_t]
    return adv_t if len(kept) < 2 else (adv_t - kept.mean()) / (kept.std() + 1e-8)


@dataclass(frozen=True)
class MinibatchLoss:
    """Loss of a minibatch, and metrics: detached means over the steps, by name."""

    loss: Tensor
    values: dict[str, Tensor]


def minibatch_loss(
    logp_t: Tensor,
    logp_old_t: Tensor,
    adv_t: Tensor,
    v_t: Tensor,
    v_old_t: Tensor,
    return_t: Tensor,
    entropy_t: Tensor,
    counts_t: Tensor,
    *,
    clip: float,
    value_clip: float | None,
    value_weight: float,
    entropy_weight: float,
) -> MinibatchLoss:
    """Compute PPO's loss (arXiv 1707.06347, eq. 9): minus the clipped surrogate, plus value loss, minus entropy bonus.

    All tensors have the same shape [...]. ``counts_t`` is bool; steps with False are left out of all means. The metric
    "kl" is the estimate (r - 1) - log r, with the probability ratio r.
    """
    surrogate_t, statistics = clipped_surrogate(logp_t, logp_old_t, standardise(adv_t, counts_t), clip, clip)
    weight_t = counts_t / counts_t.sum().clamp(min=1)
    policy = -(surrogate_t * weight_t).sum()
    value = (value_loss(v_t, v_old_t, return_t, value_clip) * weight_t).sum()
    entropy = (entropy_t * weight_t).sum()
    loss = policy + value_weight * value - entropy_weight * entropy
    with torch.no_grad():
        log_ratio = logp_t - logp_old_t
        kl = ((log_ratio.exp() - 1 - log_ratio) * weight_t).sum()
        clipped = (torch.as_tensor(statistics["clip_fraction"]) * weight_t).sum()
    logged = {
        "loss": loss.detach(),
        "policy_loss": policy.detach(),
        "value_loss": value.detach(),
        "entropy": entropy.detach(),
        "kl": kl,
        "clip_fraction": clipped,
    }
    return MinibatchLoss(loss, logged)


def explained_variance(v_t: np.ndarray, return_t: np.ndarray) -> float:
    """Return 1 - Var(return - v) / Var(return); NaN if all returns are equal."""
    spread = float(np.var(return_t))
    return float("nan") if spread == 0 else 1.0 - float(np.var(return_t - v_t)) / spread
