"""Log-probabilities, entropies and divergences of next-token distributions, without ever holding [tokens x vocabulary].

Logits are computed for one chunk of tokens at a time, reduced to a few numbers per token, and computed again in the
backward pass. On a CPU the probabilities of the first chunks are kept instead (`KEPT_BYTES`). All functions take hidden
states and a `Head` (or just its weight) and return nats at the given temperature.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from ....errors import InputError
from ...language.head import Head

CHUNK_BYTES = {"cpu": 1 << 25, "cuda": 1 << 29}
"""Most bytes of logits alive at once, by type of device."""
KEPT_BYTES = {"cpu": 1 << 27}
"""Most bytes of probabilities that a forward pass keeps, by type of device, so that the backward pass need not compute
the logits again; 0 for types not listed."""

Divergence = Literal["reverse", "forward"]


@dataclass(frozen=True)
class JoinedLogits:
    """Logits that several models make together.

    Attributes:
        join: function of a part of the tokens and the policy's logits there, [n, V], that returns the joined ones.
        slope: derivative of a joined logit with respect to the policy's own, wherever the joined one counts.
    """

    join: Callable[[slice, Tensor], Tensor]
    slope: float


def token_logps(
    hidden: Tensor,
    head: Head | Tensor,
    targets: Tensor,
    temperature: float = 1.0,
    *,
    fp32_head: bool = False,
    entropy_grad: bool = False,
    joined: JoinedLogits | None = None,
) -> tuple[Tensor, Tensor]:
    """Return the log-probability of each target and the entropy of the distribution that it is drawn from.

    Args:
        hidden: state that predicts each target, [A, H].
        head: output head, or its matrix [V, H].
        targets: int64 [A].
        temperature: sampling temperature; logits are divided by it.
        fp32_head: compute the logits of half-precision input in single precision; the same as ``Head.fp32``.
        entropy_grad: let the entropy have a gradient, d H / d logit_j = -p_j (log p_j + H) / temperature.
        joined: joins the head's logits with those of other models, which get no gradient.

    Returns:
        (logp [A], entropy [A]), nats, float32 (float64 for float64 input).
    """
    head = _as_head(head, fp32_head)
    return _TokenLogps.apply(hidden, head.weight, head.bias, head, targets, temperature, entropy_grad, joined)  # type: ignore[return-value]


def token_divergence(
    hidden: Tensor,
    head: Head | Tensor,
    other_hidden: Tensor,
    other_head: Head | Tensor,
    kind: Divergence = "reverse",
    temperature: float = 1.0,
) -> Tensor:
    """Return the divergence between two next-token distributions at each position, summed over the whole vocabulary.

    Args:
        hidden, head: the policy pi, which receives the gradient: [A, H] and a head over V ids.
        other_hidden, other_head: another policy, such as the reference, without gradient: [A, H'] and a head over V
            ids.
        kind: "reverse" is KL(pi || other) = sum_j pi_j log(pi_j / other_j), the usual penalty against a reference;
            "forward" is KL(other || pi).
        temperature: temperature of both distributions.

    Returns:
        [A] nats, float32 (float64 for float64 input).

    Raises:
        InputError: ``kind`` is unknown, or the vocabularies differ in size.
    """
    if kind not in ("reverse", "forward"):
        raise InputError(f"unknown divergence {kind!r}; take 'reverse' or 'forward'.")
    head, other = _as_head(head), _as_head(other_head)
    if len(head.weight) != len(other.weight):
        raise InputError(
            f"distributions over {len(head.weight)} and {len(other.weight)} ids have no divergence; use models with "
            "the same vocabulary."
        )
    inputs = (head.weight, head.bias, head, other_hidden.detach(), other, kind, temperature)
    return _TokenDivergence.apply(hidden, *inputs)  # type: ignore[return-value]


@torch.no_grad()
def top_tokens(hidden: Tensor, head: Head | Tensor, k: int, temperature: float = 1.0) -> tuple[Tensor, Tensor]:
    """Return the ``k`` likeliest tokens at each position, likeliest first, without gradient.

    Returns:
        (ids int64 [A, k], log-probabilities [A, k] in nats under the whole distribution, not renormalised).

    Raises:
        InputError: k is not in 1..V.
    """
    head = _as_head(head)
    if not 1 <= k <= len(head.weight):
        raise InputError(f"k must lie in 1..{len(head.weight)}, got {k}.")
    ids = torch.empty((len(hidden), k), dtype=torch.int64, device=hidden.device)
    logps = torch.empty((len(hidden), k), dtype=_wide(hidden), device=hidden.device)
    for part in _parts(hidden, head):
        logits = head.logits(hidden[part]).div_(temperature)
        best, ids[part] = logits.topk(k)
        logps[part] = best - logits.logsumexp(-1, keepdim=True)
    return ids, logps


def chosen_logps(hidden: Tensor, head: Head | Tensor, ids: Tensor, temperature: float = 1.0) -> Tensor:
    """Return the log-probabilities of ``k`` given tokens at each position, with gradient.

    Args:
        hidden, head, temperature: as in `token_logps`.
        ids: int64 [A, k].

    Returns:
        [A, k] nats, float32 (float64 for float64 input).
    """
    head = _as_head(head)
    return _ChosenLogps.apply(hidden, head.weight, head.bias, head, ids, temperature)  # type: ignore[return-value]


def _as_head(head: Head | Tensor, fp32: bool = False) -> Head:
    if isinstance(head, Tensor):
        return Head(head, fp32=fp32)
    return replace(head, fp32=head.fp32 or fp32)


def _wide(x: Tensor) -> torch.dtype:
    return torch.float64 if x.dtype == torch.float64 else torch.float32


def _chunk(weight: Tensor) -> int:
    """Return the number of tokens whose logits are computed at once."""
    return max(1, CHUNK_BYTES.get(weight.device.type, CHUNK_BYTES["cpu"]) // (weight.shape[0] * 4))


def _tempered(logits: Tensor, temperature: float) -> Tensor:
    """Divide logits by the temperature, in place."""
    return logits if temperature == 1.0 else logits.div_(temperature)


def _parts(hidden: Tensor, head: Head) -> list[slice]:
    step = _chunk(head.weight)
    return [slice(low, low + step) for low in range(0, len(hidden), step)]


class _HeadGradient:
    """Accumulator of the gradients of a head's input, weight and bias, from the logits' gradient chunk by chunk."""

    def __init__(self, hidden: Tensor, head: Head, needed: tuple[bool, ...]):
        self._hidden, self._head = hidden, head
        # Sums over chunks are taken in single precision at least.
        wide = _wide(hidden)
        self.hidden = torch.empty_like(hidden) if needed[0] else None
        self.weight = torch.zeros_like(head.weight, dtype=wide) if needed[1] else None
        self.bias = torch.zeros_like(head.bias, dtype=wide) if needed[2] and head.bias is not None else None

    def add(self, part: slice, slope: Tensor, logits: Tensor | None, factor: Tensor | None = None) -> None:
        """Add a chunk of tokens.

        Args:
            slope: d loss / d logits [n, V], before multiplication by ``factor``.
            logits: logits [n, V] of a head with softcap, else None.
            factor: factor on each token's slope, [n]; None for 1. It is applied to the smaller [n, H] tensors.
        """
        head, hidden = self._head, self._hidden[part]
        if logits is not None:
            slope = slope * head.slope(logits)
        elif head.scale != 1.0:
            factor = slope.new_full((len(slope),), head.scale) if factor is None else factor * head.scale
        if self.bias is not None:
            self.bias += slope.sum(0) if factor is None else factor @ slope
        slope = slope.to(hidden.dtype)
        if self.hidden is not None:
            pulled = slope @ head.weight
            self.hidden[part] = pulled if factor is None else pulled * factor[:, None]
        if self.weight is not None:
            if factor is not None:
                hidden = (hidden * factor[:, None]).to(slope.dtype)
            if self.weight.dtype == slope.dtype:
                self.weight.addmm_(slope.T, hidden)
            else:
                self.weight += slope.T @ hidden

    def result(self) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        """Return the gradients of hidden states, weight and bias; autograd casts the latter two to their types."""
        return self.hidden, self.weight, self.bias


def _minus_chosen(probabilities: Tensor, target: Tensor) -> Tensor:
    """Return -d logp / d logits = probability - onehot [n, V], computed in place; ``target`` [n, 1]."""
    return probabilities.scatter_add_(-1, target, probabilities.new_full(target.shape, -1.0))


class _TokenLogps(torch.autograd.Function):
    @staticmethod
    def forward(  # type: ignore[override]
        ctx: Any,
        hidden: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        head: Head,
        targets: Tensor,
        temperature: float,
        entropy_grad: bool,
        joined: JoinedLogits | None,
    ) -> tuple[Tensor, Tensor]:
        logp = torch.empty(len(targets), dtype=_wide(hidden), device=hidden.device)
        entropy = torch.empty_like(logp)
        # Probabilities that the backward pass can reuse, by the chunk's first token.
        ctx.kept = {}
        keeps = any(ctx.needs_input_grad) and not entropy_grad and head.softcap is None
        room = KEPT_BYTES.get(hidden.device.type, 0) if keeps else 0
        for part in _parts(hidden, head):
            logits = head.logits(hidden[part])
            logits = _tempered(logits if joined is None else joined.join(part, logits), temperature)
            logps = logits.log_softmax(-1)
            logp[part] = logps.gather(-1, targets[part, None])[:, 0]
            probabilities = torch.exp(logps, out=logits)
            entropy[part] = logps.mul_(probabilities).sum(-1).neg_()
            if (room := room - probabilities.nbytes) >= 0:
                ctx.kept[part.start] = probabilities
        ctx.save_for_backward(hidden, weight, bias, targets, entropy if entropy_grad else None)
        ctx.head, ctx.temperature, ctx.joined = head, temperature, joined
        if not entropy_grad:
            ctx.mark_non_differentiable(entropy)
        return logp, entropy

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor, entropy_grad: Tensor) -> tuple[Tensor | None, ...]:  # type: ignore[override]
        hidden, weight, bias, targets, entropy = ctx.saved_tensors
        head = replace(ctx.head, weight=weight, bias=bias)
        gradient = _HeadGradient(hidden, head, ctx.needs_input_grad)
        per_logit = (1.0 if ctx.joined is None else ctx.joined.slope) / ctx.temperature
        for part in _parts(hidden, head):
            scaled = grad[part] * per_logit
            target = targets[part, None]
            if (slope := ctx.kept.pop(part.start, None)) is not None:
                gradient.add(part, _minus_chosen(slope, target), None, -scaled)
                continue
            logits = head.logits(hidden[part])
            capped = logits.clone() if head.softcap is not None else None
            logits = _tempered(logits if ctx.joined is None else ctx.joined.join(part, logits), ctx.temperature)
            slope = logits.softmax(-1)
            if entropy is None:
                gradient.add(part, _minus_chosen(slope, target), capped, -scaled)
            else:
                # d H / d logits = -probability (logp + H)
                pull = logits.log_softmax(-1).add_(entropy[part, None]).mul_(entropy_grad[part, None] * per_logit)
                slope.mul_(pull.add_(scaled[:, None]).neg_())
                gradient.add(part, slope.scatter_add_(-1, target, scaled[:, None]), capped)
        return (*gradient.result(), None, None, None, None, None)


class _ChosenLogps(torch.autograd.Function):
    @staticmethod
    def forward(  # type: ignore[override]
        ctx: Any, hidden: Tensor, weight: Tensor, bias: Tensor | None, head: Head, ids: Tensor, temperature: float
    ) -> Tensor:
        logps = torch.empty(ids.shape, dtype=_wide(hidden), device=hidden.device)
        for part in _parts(hidden, head):
            logits = head.logits(hidden[part]).div_(temperature)
            logps[part] = logits.gather(-1, ids[part]) - logits.logsumexp(-1, keepdim=True)
        ctx.save_for_backward(hidden, weight, bias, ids)
        ctx.head, ctx.temperature = head, temperature
        return logps

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:  # type: ignore[override]
        hidden, weight, bias, ids = ctx.saved_tensors
        head = replace(ctx.head, weight=weight, bias=bias)
        gradient = _HeadGradient(hidden, head, ctx.needs_input_grad)
        for part in _parts(hidden, head):
            scaled = grad[part] / ctx.temperature
            logits = head.logits(hidden[part])
            capped = logits.clone() if head.softcap is not None else None
            # d logp_k / d logits = onehot_k - probability
            slope = logits.div_(ctx.temperature).softmax(-1).mul_(-scaled.sum(-1, keepdim=True))
            gradient.add(part, slope.scatter_add_(-1, ids[part], scaled.to(slope)), capped)
        return (*gradient.result(), None, None, None)


class _TokenDivergence(torch.autograd.Function):
    @staticmethod
    def forward(  # type: ignore[override]
        ctx: Any,
        hidden: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        head: Head,
        other_hidden: Tensor,
        other: Head,
        kind: Divergence,
        temperature: float,
    ) -> Tensor:
        value = torch.empty(len(hidden), dtype=_wide(hidden), device=hidden.device)
        for part in _parts(hidden, head):
            ours = head.logits(hidden[part]).div_(temperature).log_softmax(-1)
            theirs = other.logits(other_hidden[part]).div_(temperature).log_softmax(-1).to(ours)
            first, second = (ours, theirs) if kind == "reverse" else (theirs, ours)
            value[part] = (first - second).mul_(first.exp()).sum(-1)
        ctx.save_for_backward(hidden, weight, bias, other_hidden, other.weight, other.bias, value)
        ctx.head, ctx.other, ctx.kind, ctx.temperature = head, other, kind, temperature
        return value

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:  # type: ignore[override]
        hidden, weight, bias, other_hidden, other_weight, other_bias, value = ctx.saved_tensors
        head = replace(ctx.head, weight=weight, bias=bias)
        other = replace(ctx.other, weight=other_weight, bias=other_bias)
        gradient = _HeadGradient(hidden, head, ctx.needs_input_grad)
        for part in _parts(hidden, head):
            logits = head.logits(hidden[part])
            capped = logits.clone() if head.softcap is not None else None
            ours = logits.div_(ctx.temperature).log_softmax(-1)
            theirs = other.logits(other_hidden[part]).div_(ctx.temperature).log_softmax(-1).to(ours)
            if ctx.kind == "reverse":
                # d KL(pi || q) / d logits = pi (log pi - log q - KL)
                slope = (ours - theirs).sub_(value[part, None]).mul_(ours.exp())
            else:
                # d KL(q || pi) / d logits = pi - q
                slope = ours.exp() - theirs.exp_()
            gradient.add(part, slope.mul_(grad[part, None] / ctx.temperature), capped)
        return (*gradient.result(), None, None, None, None, None)
