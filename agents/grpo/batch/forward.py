"""The learner's passes through a model: scoring micro-batches, measuring a whole batch, the backward pass.

A model's outputs here are numbers per action token, and any loss is a function of them. Its gradient with respect to
them is one coefficient per token and output, from which `Forward.backward` computes the gradient of the weights.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from ...language.decoder import hidden_states
from ...language.head import Head, head_of
from .batch import Batch
from .logprobs import token_divergence, token_logps
from .packing import PACKERS, MicroBatch


@dataclass(frozen=True, eq=False)
class Outputs:
    """Outputs of a model at scored tokens, [A] each (`Forward.score`) or [N] each (`Forward.measure`).

    Attributes:
        logp: log-probability, nats.
        entropy: of the distribution, nats.
        kl_ref: KL(model || reference) over the vocabulary, if a reference was given.
        hidden: the state that predicts the token, [A, H], if requested.
    """

    logp: Tensor
    entropy: Tensor
    kl_ref: Tensor | None = None
    hidden: Tensor | None = None


@dataclass(frozen=True)
class Forward:
    """Settings of the passes through a model.

    Attributes:
        packer: name in `PACKERS`; every packer gives the same gradient.
        budget: most tokens of a micro-batch; a longer episode makes one of its own.
        temperature: the temperature that actions were sampled at; logits are divided by it.
        fp32_head: compute logits in single precision where weights are half precision.
        checkpoint: recompute each layer in the backward pass instead of keeping its activations.
        vocabulary: number of ids that can be sampled, if the output matrix is padded to more; None: all of its rows.
    """

    packer: str = "shared_prefix"
    budget: int = 4096
    temperature: float = 1.0
    fp32_head: bool = False
    checkpoint: bool = False
    vocabulary: int | None = None

    def micro_batches(self, batch: Batch, episodes: Sequence[int]) -> list[MicroBatch]:
        """Cut the episodes into micro-batches."""
        return PACKERS[self.packer](batch, episodes, self.budget) if len(episodes) else []

    def score(
        self,
        model: Any,
        micro: MicroBatch,
        *,
        entropy_grad: bool = False,
        reference: Any = None,
        hidden: bool = False,
    ) -> Outputs:
        """Score the action tokens of a micro-batch, with gradient where torch records it."""
        head = self._head(model)
        micro = micro.to(head.weight.device)
        states = self._states(model, micro)
        targets = micro.targets.to(head.weight.device)
        logp, entropy = token_logps(states, head, targets, self.temperature, entropy_grad=entropy_grad)
        divergence = None
        if reference is not None:
            with torch.no_grad():
                other = self._states(reference, micro)
            divergence = token_divergence(states, head, other, self._head(reference), "reverse", self.temperature)
        return Outputs(logp, entropy, divergence, states.detach() if hidden else None)

    def _head(self, model: Any) -> Head:
        head = head_of(model, self.fp32_head)
        return head if self.vocabulary is None else head.first(self.vocabulary)

    def logits_of(self, model: Any) -> Callable[[Tensor, Tensor], Tensor]:
        """``(hidden [A, H], ids [U]) -> [A, U]``: logits of some ids at the sampling temperature, without gradient."""
        head = self._head(model)

        @torch.no_grad()
        def logits(hidden: Tensor, ids: Tensor) -> Tensor:
            rows = ids.to(head.weight.device)
            some = replace(head, weight=head.weight[rows], bias=None if head.bias is None else head.bias[rows])
            return some.logits(hidden.to(head.weight.device)) / self.temperature

        return logits

    def _states(self, model: Any, micro: MicroBatch) -> Tensor:
        keep = self.checkpoint and torch.is_grad_enabled()
        states = hidden_states(
            model, micro.ids, micro.positions, micro.attend, **({"checkpoint": True} if keep else {})
        )
        return states.index_select(0, micro.source)

    @torch.no_grad()
    def measure(self, model: Any, batch: Batch, *, reference: Any = None, hidden: bool = False) -> Outputs:
        """Score every action token of a batch without gradient; 0 at other tokens, on the CPU."""
        count = len(batch.ids)
        parts: dict[str, Tensor] = {}
        for micro in self.micro_batches(batch, range(batch.episodes)):
            out = self.score(model, micro, reference=reference, hidden=hidden)
            for name in ("logp", "entropy", "kl_ref", "hidden"):
                value = getattr(out, name)
                if value is not None:
                    if name not in parts:
                        parts[name] = torch.zeros(count, *value.shape[1:], dtype=value.dtype)
                    parts[name][micro.scored] = value.cpu()
        empty = torch.zeros(count)
        return Outputs(parts.get("logp", empty), parts.get("entropy", empty), parts.get("kl_ref"), parts.get("hidden"))

    def backward(
        self,
        model: Any,
        batch: Batch,
        logp: Tensor,
        *,
        entropy: Tensor | None = None,
        kl_ref: Tensor | None = None,
        reference: Any = None,
        episodes: Sequence[int] | None = None,
    ) -> None:
        """Accumulate the gradient of sum(coefficient x output) over tokens.

        Args:
            logp, entropy, kl_ref: coefficients of the outputs of that name, [N]; the gradient of the loss with respect
                to them.
            reference: the reference of ``kl_ref``.
            episodes: episodes to include; all by default. Episodes without a coefficient are skipped.
        """
        weighted = logp != 0
        for other in (entropy, kl_ref):
            if other is not None:
                weighted = weighted | (other != 0)
        wanted = set(batch.episode_of[weighted].tolist())
        chosen = [e for e in (range(batch.episodes) if episodes is None else episodes) if e in wanted]
        for micro in self.micro_batches(batch, chosen):
            out = self.score(
                model, micro, entropy_grad=entropy is not None, reference=None if kl_ref is None else reference
            )
            total = (logp[micro.scored].to(out.logp) * out.logp).sum()
            if entropy is not None:
                total = total + (entropy[micro.scored].to(out.logp) * out.entropy).sum()
            if kl_ref is not None and out.kl_ref is not None:
                total = total + (kl_ref[micro.scored].to(out.logp) * out.kl_ref).sum()
            total.backward()
