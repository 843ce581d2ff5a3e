"""Inner products of policy gradients of several objectives, each taken as the only reward of the same episodes."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ...language.decoder import last_layer
from ..batch.passes import Passes
from ..batch.trajectory import Group, Trajectory
from ..objective.loss import WeightedBatch, accumulate_gradients


def gradient_products(
    groups: Sequence[Group],
    names: Sequence[str],
    weigh: Callable[[Sequence[Group]], WeightedBatch],
    model: Any,
    passes: Passes,
) -> np.ndarray:
    """Compute inner products of the gradients of the objectives' losses with respect to the weights of the model's last
    layer.

    The last layer has a small share of the weights, and every token uses it (this choice is ours; arXiv 2509.11452 uses
    the whole model).

    Args:
        groups: episodes; only those with ``extras["objective_rewards"]``, reward by name of objective, are used.
        names: names of the O objectives.
        weigh: computes the recipe's token weights of a batch; called once per objective.
        model: the policy; it must not hold gradients, and holds none afterwards.

    Returns:
        float64 [O, O]. Penalties of the recipe are left out, as they are the same for all objectives.
    """
    known = [replace(g, trajectories=tuple(t for t in g.valid if "objective_rewards" in t.extras)) for g in groups]
    known = [group for group in known if group.trajectories]
    weights = [weight for weight in last_layer(model).parameters() if weight.requires_grad]
    gradients = np.zeros((len(names), sum(weight.numel() for weight in weights)))
    if not known:
        return gradients @ gradients.T
    for row, name in enumerate(names):
        alone = [replace(g, trajectories=tuple(_reward_alone(t, name) for t in g.trajectories)) for g in known]
        gradients[row] = last_layer_gradient(weigh(alone), model, passes)
    return gradients @ gradients.T


def utility_slope(utility: np.ndarray, imitation: np.ndarray, reinforcement: np.ndarray) -> float:
    """Compute the derivative of a utility by the share mu of imitation in the next step, to first order in its length
    (AMFT, arXiv 2508.06944), in [-1, 1].

    The step is -(mu imitation + (1 - mu) reinforcement), and the utility is minus the loss of episodes that it leaves
    out, so that the derivative is utility . (imitation - reinforcement), here divided by |utility| (|imitation| +
    |reinforcement|); 0 if that is 0. All three are gradients of losses, [W].
    """
    size = np.linalg.norm(utility) * (np.linalg.norm(imitation) + np.linalg.norm(reinforcement))
    return float(utility @ (imitation - reinforcement) / size) if size > 0 else 0.0


def last_layer_gradient(weighted: WeightedBatch, model: Any, passes: Passes) -> np.ndarray:
    """Compute the gradient of a batch's loss, without penalties, with respect to the weights of the model's last layer,
    float64 [W]; ``model`` must not hold gradients, and holds none afterwards."""
    weights = [weight for weight in last_layer(model).parameters() if weight.requires_grad]
    loss = copy.copy(weighted.loss)
    loss.regularisers = []
    with _only(model, weights):
        if weighted.episodes:
            accumulate_gradients(model, replace(weighted, loss=loss), passes)
        slopes = [torch.zeros_like(weight) if weight.grad is None else weight.grad for weight in weights]
        return torch.cat([slope.detach().double().cpu().flatten() for slope in slopes]).numpy()


def _reward_alone(trajectory: Trajectory, name: str) -> Trajectory:
    """Return a copy of the episode with one objective as its only reward."""
    rewards: Mapping[str, float] = trajectory.extras["objective_rewards"]
    turns = tuple(replace(turn, shaping=0.0, spans=()) for turn in trajectory.turns)
    return replace(trajectory, turns=turns, shaping={name: rewards[name]}, replaced=True, stepwise=False)


@contextmanager
def _only(model: Any, weights: Sequence[Tensor]) -> Iterator[None]:
    """Let only ``weights`` require gradients within the context; clear these gradients at its end."""
    wanted = {id(weight) for weight in weights}
    others = [w for w in model.parameters() if w.requires_grad and id(w) not in wanted]
    for weight in others:
        weight.requires_grad_(False)
    try:
        yield
    finally:
        for weight in others:
            weight.requires_grad_(True)
        for weight in weights:
            weight.grad = None
