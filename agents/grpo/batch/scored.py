"""Input and output of loss components: the scored action tokens of whole episodes, and a term of the loss.

The input is a micro-batch or the whole optimiser batch. A component that relates episodes to each other, or takes
statistics over tokens, must declare ``needs("batch")``; it then always receives the whole batch.
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
    """A scored action tokens of R whole episodes.

    Attributes:
        logp: log-probability under the policy being trained, with gradient, [A].
        logp_old: log-probability under the anchor, the policy in the denominator of importance ratios, [A].
        advantage: [A].
        episode: episode of each token, 0..R-1, int64 [A], non-decreasing.
        episodes: R.
        logp_mu: behaviour log-probability, [A]; equal to ``logp_old`` if the sampler is the anchor.
        entropy: entropy of the distribution that each token was drawn from, [A]; with gradient if a component needs
            "entropy_grad".
        weight: the reduction's weight of each token, [A]; the loss multiplies by it. Components must only test whether
            it is 0, which marks tokens that are not trained.
        origin: `Origin` of each token, int64 [A].
        turn: turn of each token, numbered over the batch, int64 [A].
        group: group of each episode, int64 [R].
        outcome: return of each episode, float64 [R].
        logp_ref, logp_teacher: log-probability under the reference policy and under the model to distil from, [A]; None
            if no component needs them.
        kl_ref: KL(pi || reference) over the whole vocabulary at each token, with gradient, [A]; None if no component
            needs it.
        kl_scale: teacher's factor on the KL penalties of each episode, [R]; NaN in episodes for which the teacher set
            none; None if it set none at all.
        logp_top, logp_top_old: log-probabilities of the k tokens that were likeliest at the beginning of the update,
            likeliest first, [A, k]: under the policy being trained, with gradient, and under the policy at that time;
            None if no component needs them.
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
        """Sum a token value over each episode, [A] -> [R]; differentiable."""
        return segment_sum(token_value, self.episode, self.episodes)

    def per_token(self, episode_value: Tensor) -> Tensor:
        """Repeat a value per episode at each of its tokens, [R] -> [A]."""
        return episode_value[self.episode]

    @property
    def trained(self) -> Tensor:
        """Mask of the trained tokens (weight not 0), bool [A]."""
        return self.weight != 0

    @property
    def log_ratio(self) -> Tensor:
        """log pi - log pi_old, [A], with gradient."""
        return self.logp - self.logp_old


@dataclass(frozen=True, eq=False)
class LossTerm:
    """Value of a loss component at each token [A], with statistics as (sum, count), which add up over micro-batches.

    A value that belongs to a whole episode is repeated at each of the episode's tokens; the reduction "sequence_mean"
    then counts it once. Sums and counts are numbers or one-element tensors; tensors are read at the end of the batch.
    """

    value: Tensor
    stats: Mapping[str, tuple[float | Tensor, float | Tensor]] = field(default_factory=dict)


def needs(*names: str) -> Callable[[F], F]:
    """Declare the inputs and properties of a component; only measurements that a component needs are computed.

    Names: "logp_old", "entropy", "entropy_grad", "logp_ref", "kl_ref", "logp_teacher", "logp_prm", "value", "hidden",
    "head", "top_tokens", "prompt_logp", "prompt_divergence" (measurements of `Batch` or `Scored`); "greedy", "drawn",
    "nodes", "node_values", "twin_prompt" (data that the rollout strategy must provide); "anchor" (the component
    corrects the gap between sampler and policy); "batch" (a loss component that must receive the whole optimiser batch
    at once); "every_row" (the gradient does not vanish with the advantage); "zero_at_reference" (the gradient vanishes
    while the policy equals its reference); "after_update" (a guard that judges an update by its effect).
    """

    def mark(component: F) -> F:
        component.needs = frozenset(names)  # type: ignore[attr-defined]
        return component

    return mark


def needs_of(component: object) -> frozenset[str]:
    """Return the names that a component declared with `needs`; the empty set if it declared none."""
    return getattr(component, "needs", frozenset())
