"""Log-probabilities at chosen positions without ever holding [tokens x vocabulary].

Logits are made for a chunk of tokens at a time, reduced to one number a token, and made again in the backward pass.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

CHUNK_BYTES = 1 << 25
"""Most bytes of logits alive at once."""


def token_logps(hidden: Tensor, weight: Tensor, targets: Tensor, temperature: float = 1.0) -> tuple[Tensor, Tensor]:
    """Log-probability of each target, and the entropy of the distribution it is drawn from (no gradient).

    Args:
        hidden: [A, H], the state that predicts each target.
        weight: output matrix [V, H].
        targets: int64 [A].
        temperature: the sampling temperature; logits are divided by it.

    Returns:
        (logp [A], entropy [A]), nats, float32 (float64 for float64 input).
    """
    return _TokenLogps.apply(hidden, weight, targets, temperature)  # type: ignore[return-value]


def _chunk(weight: Tensor) -> int:
    return max(1, CHUNK_BYTES // (weight.shape[0] * 4))


class _TokenLogps(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, hidden: Tensor, weight: Tensor, targets: Tensor, temperature: float) -> tuple[Tensor, Tensor]:  # type: ignore[override]
        wide = torch.float64 if hidden.dtype == torch.float64 else torch.float32
        logp = torch.empty(len(targets), dtype=wide, device=hidden.device)
        entropy = torch.empty_like(logp)
        normaliser = torch.empty_like(logp)
        step = _chunk(weight)
        for low in range(0, len(targets), step):
            part = slice(low, low + step)
            logits = (hidden[part] @ weight.T).to(wide).div_(temperature)
            lse = logits.logsumexp(-1)
            normaliser[part] = lse
            logp[part] = logits.gather(-1, targets[part, None])[:, 0] - lse
            # H = log Z - E[logit]
            entropy[part] = lse - (logits - lse[:, None]).exp_().mul_(logits).sum(-1)
        ctx.save_for_backward(hidden, weight, targets, normaliser)
        ctx.temperature = temperature
        ctx.mark_non_differentiable(entropy)
        return logp, entropy

    @staticmethod
    def backward(ctx: Any, grad: Tensor, _entropy_grad: Tensor) -> tuple[Tensor, Tensor, None, None]:  # type: ignore[override]
        hidden, weight, targets, normaliser = ctx.saved_tensors
        grad_hidden = torch.empty_like(hidden)
        grad_weight = torch.zeros_like(weight)
        step = _chunk(weight)
        for low in range(0, len(targets), step):
            part = slice(low, low + step)
            scaled = grad[part, None] / ctx.temperature
            logits = (hidden[part] @ weight.T).to(normaliser.dtype).div_(ctx.temperature)
            probability = logits.sub_(normaliser[part, None]).exp_()
            # d logp / d logits = onehot - probability
            slope = probability.mul_(-scaled).scatter_add_(-1, targets[part, None], scaled).to(hidden.dtype)
            grad_hidden[part] = slope @ weight
            grad_weight.addmm_(slope.T, hidden[part])
        return grad_hidden, grad_weight, None, None
