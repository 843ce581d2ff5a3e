"""Weights: factors of the tokens in the loss, [N], which leave every denominator of the reduction unchanged."""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch
from torch import Tensor

from ....checks import check_choice, check_count, check_number
from ....errors import InputError
from ..batch.batch import Batch
from ..batch.scored import needs
from ..batch.trajectory import Origin, Trajectory
from ..recipes.stages import WEIGHTS
from . import masks
from .credit.peers import answer_dispersion
from .credit.priorities import ObjectivePriorities
from .credit.units import place_of_turn


@WEIGHTS.register("top_entropy")
@needs("entropy")
def top_entropy(batch: Batch, advantage: Tensor, share: float = 0.2, scope: str = "batch") -> Tensor:
    """0 for tokens that the mask "top_entropy" leaves out, else 1; the former still count in denominators (Beyond the
    80/20 rule, arXiv 2506.01939, according to its formula: a factor ``share`` smaller than the released code)."""
    return masks.top_entropy(batch, advantage, share, scope).to(advantage.dtype)


@WEIGHTS.register("signs")
def signs(batch: Batch, advantage: Tensor, positive: float = 1.0, negative: float = 1.0) -> Tensor:
    """``positive`` for tokens with a positive advantage, ``negative`` for those with a negative one, 1 for others."""
    return torch.where(advantage > 0, positive, torch.where(advantage < 0, negative, 1.0)).to(advantage.dtype)


@WEIGHTS.register("mid_difficulty")
def mid_difficulty(
    batch: Batch,
    advantage: Tensor,
    factor: float = 4.0,
    diversity: float = 0.0,
    level: str = "reward",
    choices: int | None = None,
) -> Tensor:
    """factor x d (1 - d) x dispersion^diversity for each group, d being its mean reward or success rate limited to [0,
    1], and dispersion that of its answers (PC-GRPO, arXiv 2512.14944, which has diversity 0.5; see
    `answer_dispersion`).

    Args:
        level: d is the mean "reward", or the "accuracy", the share of successes (Observe-R1, arXiv 2505.12432).
        choices: number of possible answers; None: the task's number.

    Raises:
        InputError: ``choices`` is less than 2.
    """
    if choices is not None and choices < 2:
        raise InputError(f"choices={choices} of an answer must be at least 2.")
    check_choice("level", level, ("reward", "accuracy"))
    reached = batch.outcome
    if level == "accuracy":
        reached = torch.tensor([float(t.success) for t in batch.trajectories], dtype=batch.outcome.dtype)
    count = batch.sum_by_group(torch.ones_like(batch.outcome)).clamp(min=1)
    mean = (batch.sum_by_group(reached) / count).clamp(0, 1)
    weight = factor * mean * (1 - mean)
    if diversity:
        members: list[list[Trajectory]] = [[] for _ in range(batch.groups)]
        for group, trajectory in zip(batch.group_of.tolist(), batch.trajectories, strict=True):
            members[group].append(trajectory)
        weight = weight * torch.tensor([answer_dispersion(one, choices) for one in members]).to(mean) ** diversity
    return batch.per_token(weight[batch.group_of]).to(advantage.dtype)


@WEIGHTS.register("pass_rate")
def pass_rate(batch: Batch, advantage: Tensor, power: float = 1.0) -> Tensor:
    """(1 - success rate of the group)^power: hard tasks count more; tasks that are always solved get weight 0."""
    won = torch.tensor([float(t.success) for t in batch.trajectories], dtype=advantage.dtype)
    rate = batch.sum_by_group(won) / batch.sum_by_group(torch.ones_like(won)).clamp(min=1)
    return batch.per_token(((1 - rate) ** power)[batch.group_of])


@WEIGHTS.register("length_power")
def length_power(batch: Batch, advantage: Tensor, alpha: float = 0.5) -> Tensor:
    """(action tokens of the episode)^-alpha, divided by the mean of this power over the batch's episodes."""
    power = batch.action_count.clamp(min=1).to(advantage.dtype) ** -alpha
    return batch.per_token(power / power.mean())


@WEIGHTS.register("length_preference")
def length_preference(batch: Batch, advantage: Tensor, power: float = 0.0, spread: float = 1 / 9) -> Tensor:
    """G x softmax over the group's G episodes of (1 + spread z)^power, z being the episode's standardised length
    (lambda-GRPO, arXiv 2510.06870, which learns the power). Power 0 prefers none, positive powers long and negative
    ones short episodes.

    Raises:
        InputError: ``spread`` is not in [0, 0.2], which keeps the base positive for groups of up to 26 samples.
    """
    if not 0 <= spread <= 0.2:
        raise InputError(f"spread={spread} of the length preference must be in [0, 0.2].")
    length = batch.action_count.to(advantage.dtype)
    size = batch.sum_by_group(torch.ones_like(length)).clamp(min=1)
    mean = (batch.sum_by_group(length) / size)[batch.group_of]
    deviation = (batch.sum_by_group((length - mean) ** 2) / size).sqrt()[batch.group_of]
    z = (length - mean) / (deviation + 1e-6)
    share = ((1 + spread * z).clamp(min=1e-3) ** power).exp()
    return batch.per_token(share * (size / batch.sum_by_group(share).clamp(min=1e-30))[batch.group_of])


@WEIGHTS.register("roles")
def roles(batch: Batch, advantage: Tensor, factors: Mapping[str, float]) -> Tensor:
    """A factor for each role; 1 for roles not in ``factors``."""
    return batch.per_token(
        torch.tensor([float(factors.get(t.role, 1.0)) for t in batch.trajectories], dtype=advantage.dtype)
    )


@WEIGHTS.register("turn_discount")
def turn_discount(batch: Batch, advantage: Tensor, discount: float = 0.9) -> Tensor:
    """discount^(number of turns before this one in the episode): the first turns count most."""
    return (discount ** place_of_turn(batch).to(advantage.dtype))[batch.turn_of]


@WEIGHTS.register("duration")
@needs("seconds")
def duration(batch: Batch, advantage: Tensor) -> Tensor:
    """Duration of the environment's step after the action / mean duration in the batch: in a given time an action of
    duration d is sampled in proportion to 1 / d, which the weight cancels (RL for MLE agents, arXiv 2509.01684). 1
    where all durations are 0."""
    seconds = torch.tensor([turn.seconds for t in batch.trajectories for turn in t.turns], dtype=advantage.dtype)
    mean = seconds.mean() if len(seconds) else seconds.new_zeros(())
    return (seconds / mean)[batch.turn_of] if mean > 0 else torch.ones_like(advantage)


@WEIGHTS.register("entropy_factor")
@needs("entropy")
def entropy_factor(
    batch: Batch, advantage: Tensor, scale: float = 0.1, power: float = 1.0, sign: str = "any", origin: str = "any"
) -> Tensor:
    """scale x exp(power x H), H being the mean entropy at the batch's action tokens under the policy before the update
    (SRFT, arXiv 2506.19767: 0.1 exp(H) on successful rollouts).

    Args:
        sign: sign of the advantage of weighted tokens, "any" or "positive"; other tokens keep weight 1.
        origin: origin of weighted tokens, "any" or "policy"; other tokens keep weight 1.
    """
    check_choice("sign", sign, ("any", "positive"))
    check_choice("origin", origin, ("any", "policy"))
    entropy = batch.measurement("entropy")[batch.action]
    mean = entropy.mean() if len(entropy) else torch.zeros(())
    reached = batch.action if origin == "any" else batch.written_by(Origin.POLICY)
    if sign == "positive":
        reached = reached & (advantage > 0)
    return torch.where(reached, (scale * (power * mean).exp()).to(advantage), torch.ones_like(advantage))


@WEIGHTS.register("version_decay")
def version_decay(batch: Batch, advantage: Tensor, decay: float = 0.9) -> Tensor:
    """decay^(newest version in the batch - version of the episode); 1 for episodes that no policy sampled.

    `Trajectory.version` counts optimiser batches. In a batch of replayed and fresh episodes, the fresh ones have age 0.
    """
    check_number("decay", decay, 0, 1)
    version = torch.tensor([t.version for t in batch.trajectories], dtype=torch.int64)
    newest = int(version.max()) if len(version) else 0
    age = torch.where(version >= 0, newest - version, 0)
    return batch.per_token(torch.tensor(decay, dtype=torch.float32) ** age)


@WEIGHTS.register("priorities")
class Priorities(ObjectivePriorities):
    """Weight K softmax(priority / temperature) of each of the K kinds of tasks in the batch (RECAP, arXiv 2510.21978,
    with `priority` for its undisclosed measure).

    Args:
        window: number of latest batches whose mean rewards are kept.
        temperature: temperature of the softmax; a high one gives equal weights.
        by: what defines a kind: "difficulty" (``bins`` equal intervals), "role", the name of a parameter (each value is
            a kind), or "environment" (difficulty if only one environment is trained on).
        bins: number of intervals of difficulty.

    Raises:
        InputError: when called, an episode has no parameter called ``by``.
    """

    def __init__(self, window: int = 20, temperature: float = 1.0, by: str = "difficulty", bins: int = 4):
        super().__init__(window, temperature)
        self.by, self.bins = by, check_count("bins", bins, 1)

    def kind(self, trajectory: Trajectory) -> str:
        """Return the kind of task of an episode."""
        if self.by == "environment" and "env" in trajectory.params:
            return str(trajectory.params["env"])
        if self.by in ("difficulty", "environment"):
            return str(min(int(trajectory.difficulty * self.bins), self.bins - 1))
        if self.by == "role":
            return trajectory.role
        if self.by not in trajectory.params:
            known = ", ".join(trajectory.params) or "none"
            raise InputError(
                f"by={self.by!r} is no parameter of these tasks; there are: difficulty, environment, role, {known}."
            )
        return str(trajectory.params[self.by])

    def __call__(self, batch: Batch, advantage: Tensor) -> Tensor:
        kinds = [self.kind(t) for t in batch.trajectories]
        rewards = {
            kind: math.fsum(t.outcome for t, k in zip(batch.trajectories, kinds, strict=True) if k == kind)
            / kinds.count(kind)
            for kind in set(kinds)
        }
        weights = self.weigh(rewards)
        return batch.per_token(torch.tensor([weights[kind] for kind in kinds], dtype=advantage.dtype))
