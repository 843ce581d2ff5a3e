"""Input and output of loss components: the scored action tokens of whole episodes, and a term of the loss.

The input is a micro-batch or the whole optimiser batch. A component that relates episodes to each other, or takes
statistics over tokens, declares ``needs("batch")`` and then always gets the whole batch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from torch import Tensor

from .segments import segment_sum

F = TypeVar("F")


@dataclass(frozen=True, eq=False)
class Scored:
    """A scored tokens of R episodes; an episode is never split.

    Attributes:
        logp: log-probability under the policy being trained, with gradient, [A].
        logp_old: log-probability that ratios are taken against (the anchor), [A].
        advantage: [A].
        episode: episode of each token, 0..R-1, int64 [A], non-decreasing.
        episodes: R.
        logp_mu: behaviour log-probability, [A]; equal to ``logp_old`` where the sampler is the anchor.
        entropy: of the distribution each token came from, [A]; with gradient where a component needs "entropy_grad".
        weight: the reduction's weight of each token, [A], by which the loss multiplies; 0 if the token is not trained,
            the only thing that components read of it.
        origin: `Origin` of each token, int64 [A].
        turn: turn of each token, counted over the batch, int64 [A].
        group: group of each episode, int64 [R].
        outcome: return of each episode, float64 [R].
        logp_ref, logp_teacher: under the reference policy and the model to distil from, [A], where needed.
        kl_ref: KL(pi || reference) over the whole vocabulary at each token, with gradient, [A], where needed.
        kl_scale: factor of the teacher on the KL penalties of each episode, NaN where it asked for none, [R]; None if
            it asked for none at all.
        logp_top, logp_top_old: log-probabilities of the k tokens that were likeliest at the beginning of the update,
            likeliest first, now, with gradient, and then, [A, k], where needed.
    """

    logp: Tensor
    logp_old: Tensor
    advantage: Tensor
    episode: Tensor
    episodes: int
    logp_mu: Tensor
    entropy: Tensor
    weight: Tensor
    origin: Tensor
    turn: Tensor
    group: Tensor
    outcome: Tensor
    logp_ref: Tensor | None = None
    logp_teacher: Tensor | None = None
    kl_ref: Tensor | None = None
    kl_scale: Tensor | None = None
    logp_top: Tensor | None = None
    logp_top_old: Tensor | None = None

    def sum_by_episode(self, token_value: Tensor) -> Tensor:
        """Sum over each episode's tokens, [A] -> [R]; differentiable."""
        return segment_sum(token_value, self.episode, self.episodes)

    def per_token(self, episode_value: Tensor) -> Tensor:
        """Repeat a value per episode at each of its tokens, [R] -> [A]."""
        return episode_value[self.episode]

    @property
    def trained(self) -> Tensor:
        """Tokens that carry weight, bool [A]."""
        return self.weight != 0

    @property
    def log_ratio(self) -> Tensor:
        """log pi - log pi_old, [A], with gradient."""
        return self.logp - self.logp_old


@dataclass(frozen=True, eq=False)
class LossTerm:
    """A value for each token [A], and statistics as (sum, count), so that they add up over micro-batches; numbers, or
    tensors of one number, which are read at the end of the batch.

    A value that belongs to a whole episode is repeated at each of its tokens; the reduction "sequence_mean" then counts
    it once.
    """

    value: Tensor
    stats: Mapping[str, tuple[float | Tensor, float | Tensor]] = field(default_factory=dict)


def needs(*names: str) -> Callable[[F], F]:
    """Declare a component's inputs beyond log-probabilities; only needed measurements are computed.

    Names: "logp_old", "entropy", "entropy_grad", "logp_ref", "kl_ref", "logp_teacher", "logp_prm", "value", "hidden",
    "head", "top_tokens", "prompt_logp", "prompt_divergence" (measurements of `Batch` or `Scored`); "greedy", "drawn",
    "nodes", "node_values", "twin_prompt" (what a rollout strategy must provide); "anchor" (a corrector of the gap
    between sampler and policy); "batch" (a loss component that must see the whole optimiser batch at once); "every_row"
    (a gradient that does not vanish with the advantage); "zero_at_reference" (a gradient that vanishes while the policy
    equals its reference); "after_update" (a guard that judges an update by its effect).
    """

    def mark(component: F) -> F:
        component.needs = frozenset(names)  # type: ignore[attr-defined]
        return component

    return mark


def needs_of(component: object) -> frozenset[str]:
    """Return the names that a component declared with `needs`."""
    return getattr(component, "needs", frozenset())
