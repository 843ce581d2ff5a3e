"""The learner's passes through a model: scoring micro-batches, measuring a whole batch, the backward pass.

The outputs of a model are numbers per action token, and a loss is a function of these outputs. The gradient of the loss
with respect to them is one coefficient per token and output; `Passes.backward` turns the coefficients into the
gradient of the weights.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import torch
from torch import Tensor

from ...engines.joint import HIDDEN_LOGIT, LogitRule
from ...language.decoder import hidden_states
from ...language.head import Head, head_of
from .batch import Batch, collate
from .logprobs import JoinedLogits, chosen_logps, token_divergence, token_logps, top_tokens
from .micro_batches import MemoryLimit, run_micro_batches
from .packing import PACKERS, MicroBatch
from .token_indices import send
from .trajectory import Group

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Outputs:
    """Outputs of a model at scored tokens, [A] each (`Passes.score`) or [N] each (`Passes.measure`).

    Attributes:
        logp: log-probability of the token, nats.
        entropy: entropy of the next-token distribution, nats.
        kl_ref: KL(model || reference) over the vocabulary, nats; None without a reference.
        hidden: hidden state that predicts the token, [A, H]; None unless requested.
        logp_top: log-probabilities of the tokens in ``top_ids``, [A, k]; None unless requested.
    """

    logp: Tensor
    entropy: Tensor
    kl_ref: Tensor | None = None
    hidden: Tensor | None = None
    logp_top: Tensor | None = None


TOP = 64
"""Number of likeliest tokens kept per position for components that need more than the sampled token."""


@dataclass(frozen=True)
class Passes:
    """Passes through a model in micro-batches (score, measure, backward), with their settings as attributes.

    Attributes:
        packer: name in `PACKERS`; every packer gives the same gradient.
        budget: most tokens of a micro-batch, lowered if memory runs out; a longer episode is a micro-batch alone.
        temperature: sampling temperature of the actions; logits are divided by it.
        fp32_head: compute logits in single precision if the weights are in half precision.
        checkpoint: recompute each layer in the backward pass instead of keeping its activations.
        vocabulary: number of ids that can be sampled, if the output matrix is padded to more rows; None: all rows.
        compile: compile the layers for passes with a gradient.
        memory: limits learned when memory ran out; copies of the settings share this object.
        rule: joins the logits of its policies with those of further models; None for the policy's own logits.
    """

    packer: str = "shared_prefix"
    budget: int = 4096
    temperature: float = 1.0
    fp32_head: bool = False
    checkpoint: bool = False
    vocabulary: int | None = None
    compile: bool = False
    memory: MemoryLimit = field(default_factory=MemoryLimit, compare=False)
    rule: LogitRule | None = field(default=None, compare=False)

    in_step = False
    """True if every micro-batch must have a backward pass, even without any gradient: other processes wait for it."""

    def micro_batches(self, batch: Batch, episodes: Sequence[int], packer: str | None = None) -> list[MicroBatch]:
        """Divide the episodes into micro-batches of at most the smaller of ``budget`` and ``memory.budget`` tokens."""
        fits = self.memory.budget
        budget = self.budget if fits is None else min(self.budget, fits)
        return PACKERS[packer or self.packer](batch, episodes, budget) if len(episodes) else []

    def run(
        self,
        batch: Batch,
        episodes: Sequence[int],
        compute: Callable[[MicroBatch], tuple[Tensor | None, T]],
        *,
        packer: str | None = None,
        weights: Iterable[Tensor] = (),
        reset: Callable[[], None] | None = None,
    ) -> list[T]:
        """Call ``compute`` on each micro-batch of the episodes and return the results; see `run_micro_batches`."""
        return run_micro_batches(
            lambda some: self.micro_batches(batch, some, packer),
            episodes,
            compute,
            self.memory,
            checkpoint=self.checkpoint,
            weights=weights,
            reset=reset,
        )

    def score(
        self,
        model: Any,
        micro: MicroBatch,
        *,
        entropy_grad: bool = False,
        reference: Any = None,
        hidden: bool = False,
        top_ids: Tensor | None = None,
    ) -> Outputs:
        """Score the action tokens of a micro-batch; the outputs have a gradient if torch records one.

        Args:
            entropy_grad: let the entropy have a gradient too.
            reference: model for ``kl_ref``, or None.
            hidden: return the hidden states too, without gradient.
            top_ids: further tokens whose log-probabilities are computed at each token of the batch, int64 [N, k].
        """
        head = self._head(model)
        micro = micro.to(head.weight.device)
        states = self._states(model, micro)
        joined = None
        if self.rule is not None and any(model is each for each in self.rule.policies):
            joined = self._joined(micro)
        logp, entropy = token_logps(
            states, head, micro.targets, self.temperature, entropy_grad=entropy_grad, joined=joined
        )
        if (soft := micro.soft_targets) is not None:
            candidates = chosen_logps(states.index_select(0, soft.at), head, soft.ids, self.temperature)
            logp = soft.replace_in(logp, candidates)
        divergence = None
        if reference is not None:
            with torch.no_grad():
                other = self._states(reference, micro)
            divergence = token_divergence(states, head, other, self._head(reference), "reverse", self.temperature)
        logp_top = None
        if top_ids is not None:
            logp_top = chosen_logps(states, head, send(top_ids, states.device)[micro.scored], self.temperature)
        return Outputs(logp, entropy, divergence, states.detach() if hidden else None, logp_top)

    def device(self, model: Any) -> torch.device:
        """Return the device on which passes through a model are computed."""
        return self._head(model).weight.device

    def _head(self, model: Any) -> Head:
        head = head_of(model, self.fp32_head)
        return head if self.vocabulary is None else head.first(self.vocabulary)

    def logits_of(self, model: Any) -> Callable[[Tensor, Tensor], Tensor]:
        """Return ``(hidden [A, H], ids [U]) -> [A, U]``, the logits at the sampling temperature, without gradient."""
        head = self._head(model)

        @torch.no_grad()
        def logits(hidden: Tensor, ids: Tensor) -> Tensor:
            rows = ids.to(head.weight.device)
            some = replace(head, weight=head.weight[rows], bias=None if head.bias is None else head.bias[rows])
            return some.logits(hidden.to(head.weight.device)) / self.temperature

        return logits

    def likeliest_logps(self, model: Any, hidden: Tensor, count: int) -> Tensor:
        """Return the log-probabilities of the ``count`` likeliest tokens, likeliest first, at each hidden state.

        Args:
            hidden: states that predict the tokens, [A, H].
            count: number of tokens; the size of the vocabulary if that is smaller.

        Returns:
            [A, count] on the CPU, nats at the sampling temperature.
        """
        head = self._head(model)
        hidden = hidden.to(head.weight.device)
        return top_tokens(hidden, head, min(count, len(head.weight)), self.temperature)[1].cpu()

    def logp_slopes(self, model: Any, hidden: Tensor, ids: Tensor) -> Tensor:
        """Return the gradient of each token's log-probability with respect to the hidden state that predicts it.

        Args:
            hidden: [A, H].
            ids: the tokens, int64 [A].

        Returns:
            W'(onehot - probability) / temperature, for a linear head W: [A, H] on the CPU.
        """
        head = self._head(model)
        # Detached, so that no gradient of the weights is computed.
        fixed = replace(head, weight=head.weight.detach(), bias=None if head.bias is None else head.bias.detach())
        with torch.enable_grad():
            states = hidden.to(head.weight.device).requires_grad_()
            logp, _ = token_logps(states, fixed, ids.to(head.weight.device), self.temperature)
            (slopes,) = torch.autograd.grad(logp.sum(), states)
        return slopes.cpu()

    def _states(self, model: Any, micro: MicroBatch) -> Tensor:
        options = {"checkpoint": self.checkpoint, "compiled": self.compile} if torch.is_grad_enabled() else {}
        chosen = {name: True for name, wanted in options.items() if wanted}
        states = hidden_states(model, micro.ids, micro.positions, micro.attend, soft=micro.soft_inputs, **chosen)
        return states.index_select(0, micro.source)

    @torch.no_grad()
    def _joined(self, micro: MicroBatch) -> JoinedLogits:
        """Run the rule's models over a micro-batch; return the function that joins their logits with the policy's."""
        assert self.rule is not None
        rule = self.rule
        members = [(self._states(model, micro), self._head(model)) for model in rule.models]

        def join(part: slice, own: Tensor) -> Tensor:
            joined = rule(own, [head.logits(states[part]) for states, head in members])
            # Engine and learner round differently at the edge of a mask, and a sampled token was admitted.
            target = micro.targets[part, None]
            missed = joined.gather(-1, target) <= HIDDEN_LOGIT
            return joined.scatter(-1, target, torch.where(missed, own, joined).gather(-1, target))

        return JoinedLogits(join, rule.slope)

    @torch.no_grad()
    def likeliest(self, model: Any, batch: Batch) -> tuple[Tensor, Tensor]:
        """Return the `TOP` likeliest tokens (or the whole vocabulary, if smaller) at each action token, likeliest
        first.

        Returns:
            (ids int64 [N, k], log-probabilities [N, k]) on the CPU, 0 at other tokens.
        """
        head = self._head(model)
        count = min(TOP, len(head.weight))
        ids = torch.zeros((len(batch.ids), count), dtype=torch.int64)
        logps = torch.zeros((len(batch.ids), count))

        def compute(micro: MicroBatch) -> tuple[None, tuple[Tensor, ...]]:
            states = self._states(model, micro.to(head.weight.device))
            return None, (micro.scored, *top_tokens(states, head, count, self.temperature))

        if results := self.run(batch, range(batch.episodes), compute):
            place, best, values = _join(results)
            ids[place], logps[place] = best, values.to(logps.dtype)
        return ids, logps

    @torch.no_grad()
    def measure_prompts(self, model: Any, batch: Batch) -> Tensor:
        """Return the log-probability of each prompt token (`Batch.prompt`), [N] on the CPU, 0 at other tokens.

        If several episodes have the same prompt, only the first goes through the model.
        """
        logp = torch.zeros(len(batch.ids))
        places = {}
        for episode in range(batch.episodes):
            place = (batch.prompt & (batch.episode_of == episode)).nonzero()[:, 0]
            places.setdefault(tuple(batch.ids[place].tolist()), []).append((episode, place))
        asked = replace(batch, action=batch.prompt)

        def compute(micro: MicroBatch) -> tuple[None, tuple[Tensor, Tensor]]:
            return None, (micro.scored, self.score(model, micro).logp)

        if results := self.run(asked, [same[0][0] for same in places.values()], compute, packer="plain"):
            place, values = _join(results)
            logp[place] = values.to(logp.dtype)
        for (_, first), *others in places.values():
            for _, place in others:
                logp[place] = logp[first]
        return logp

    @torch.no_grad()
    def measure_prompt_divergence(self, model: Any, batch: Batch) -> Tensor:
        """Measure how far the distributions at each action token change if the prompt is replaced by a reworded one.

        The second prompt is ``Trajectory.extras["twin_prompt"]``. Returns (KL(p || q) + KL(q || p)) / 2, nats, [N] on
        the CPU; 0 at other tokens and in episodes without a second prompt.
        """
        divergence = torch.zeros(len(batch.ids))
        twins = {e: t for e, t in enumerate(batch.trajectories) if t.extras.get("twin_prompt") and t.turns}
        if not twins:
            return divergence
        has_twin = torch.zeros(batch.episodes, dtype=torch.bool)
        has_twin[list(twins)] = True
        others = tuple(
            replace(t, turns=(replace(t.turns[0], obs_ids=tuple(t.extras["twin_prompt"])), *t.turns[1:]))
            for t in twins.values()
        )
        states = []
        for members in (tuple(twins.values()), others):
            alone = collate([Group(-1, members)])
            hidden = self.measure(model, alone, hidden=True).hidden
            assert hidden is not None
            states.append(hidden[alone.action])
        head = self._head(model)
        own, twin = (state.to(head.weight) for state in states)
        there, back = (
            token_divergence(own, head, twin, head, kind, self.temperature) for kind in ("reverse", "forward")
        )
        divergence[batch.action & batch.per_token(has_twin)] = ((there + back) / 2).cpu().to(divergence.dtype)
        return divergence

    @torch.no_grad()
    def measure(
        self,
        model: Any,
        batch: Batch,
        *,
        reference: Any = None,
        hidden: bool = False,
        top_ids: Tensor | None = None,
        episodes: Sequence[int] | None = None,
    ) -> Outputs:
        """Score all action tokens of a batch, or of ``episodes``, without gradient: [N] on the CPU, 0 elsewhere."""
        names = ("logp", "entropy", "kl_ref", "hidden", "logp_top")
        found: list[str] = []
        top_ids = None if top_ids is None else send(top_ids, self.device(model))

        def compute(micro: MicroBatch) -> tuple[None, tuple[Tensor, ...]]:
            out = self.score(model, micro, reference=reference, hidden=hidden, top_ids=top_ids)
            if out.hidden is not None:  # large, so it leaves the device at once
                out = replace(out, hidden=out.hidden.cpu())
            found[:] = [name for name in names if getattr(out, name) is not None]
            return None, (micro.scored, *(getattr(out, name) for name in found))

        results = self.run(batch, range(batch.episodes) if episodes is None else episodes, compute)
        parts: dict[str, Tensor] = {}
        if results:
            place, *values = _join(results)
            for name, value in zip(found, values, strict=True):
                parts[name] = torch.zeros(len(batch.ids), *value.shape[1:], dtype=value.dtype)
                parts[name][place] = value
        empty = torch.zeros(len(batch.ids))
        others = {name: parts.get(name) for name in names[2:]}
        return Outputs(parts.get("logp", empty), parts.get("entropy", empty), **others)

    def backward(
        self,
        model: Any,
        batch: Batch,
        logp: Tensor,
        *,
        entropy: Tensor | None = None,
        kl_ref: Tensor | None = None,
        logp_top: Tensor | None = None,
        reference: Any = None,
        top_ids: Tensor | None = None,
        episodes: Sequence[int] | None = None,
    ) -> None:
        """Accumulate the gradient of the sum over tokens of coefficient times output, in the weights' ``grad``.

        Args:
            logp, entropy, kl_ref: coefficient of each output, [N]: the gradient of the loss with respect to it.
            logp_top: coefficients of the output of that name, [N, k].
            reference: the reference model of ``kl_ref``.
            top_ids: the tokens of ``logp_top``, int64 [N, k].
            episodes: episodes to include; all by default. Episodes whose coefficients are all 0 are skipped.
        """
        weighted = logp != 0
        for other in (entropy, kl_ref):
            if other is not None:
                weighted = weighted | (other != 0)
        if logp_top is not None:
            weighted = weighted | (logp_top != 0).any(-1)
        wanted = set(batch.episode_of[weighted].tolist())
        chosen = [e for e in (range(batch.episodes) if episodes is None else episodes) if e in wanted]

        device = self.device(model)
        logp = send(logp, device)
        entropy, kl_ref, logp_top, top_ids = (
            None if x is None else send(x, device) for x in (entropy, kl_ref, logp_top, top_ids)
        )

        def compute(micro: MicroBatch) -> tuple[Tensor, None]:
            micro = micro.to(device)
            out = self.score(
                model,
                micro,
                entropy_grad=entropy is not None,
                reference=None if kl_ref is None else reference,
                top_ids=None if logp_top is None else top_ids,
            )
            total = (logp[micro.scored].to(out.logp) * out.logp).sum()
            if entropy is not None:
                total = total + (entropy[micro.scored].to(out.logp) * out.entropy).sum()
            if kl_ref is not None and out.kl_ref is not None:
                total = total + (kl_ref[micro.scored].to(out.logp) * out.kl_ref).sum()
            if logp_top is not None and out.logp_top is not None:
                total = total + (logp_top[micro.scored].to(out.logp_top) * out.logp_top).sum()
            return total, None

        self.run(batch, chosen, compute, weights=model.parameters())


def _join(results: Sequence[tuple[Tensor, ...]]) -> list[Tensor]:
    """Concatenate the results of all micro-batches and copy them to the CPU, once, after the last pass."""
    return [torch.cat(parts).cpu() for parts in zip(*results, strict=True)]
