"""Angle concentration: cosine similarity among the hidden states of a prompt's tokens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from ....checks import check_number
from ....errors import InputError
from ...language.decoder import last_layer
from ..batch.trajectory import Group
from .likelihoods import valid_of
from .producer import Found, ProducerTools, place_rows, produces


@produces("angle_concentration")
def prompt_angles(groups: Sequence[Group], tools: ProducerTools, weight: float = 8.0) -> Found:
    """`concentration` of the first prompt's hidden states: within the task's text, and between this text and the
    conversation before it (GAIN-RL, arXiv 2506.02281, section 3.2). States are the inputs of the last layer's MLP.

    Args:
        weight: factor of the second term, at least 0.
    """
    check_number("weight", weight, 0.0)
    prompts = [trajectory.turns[0].obs_ids for trajectory in valid_of(groups)]
    blank = tools.language.renderer.observation("", first=True)
    known = {}
    for ids in dict.fromkeys(prompts):
        start = _common_length(ids, blank)
        stop = len(ids) - _common_length(ids[start:][::-1], blank[start:][::-1])
        if stop <= start:  # the prompt has no text beyond the chat template
            start, stop = 0, len(ids)
        states = mlp_inputs(tools.language.model, ids[:stop])
        known[ids] = concentration(states, start, weight)
    return place_rows(groups, ({"angle_concentration": known[ids]} for ids in prompts))


def _common_length(left: Sequence[int], right: Sequence[int]) -> int:
    """Return the length of the longest common prefix of two sequences."""
    count = 0
    while count < min(len(left), len(right)) and left[count] == right[count]:
        count += 1
    return count


def concentration(states: Tensor, prefix: int, weight: float) -> float:
    """Return the mean cosine of all pairs of a question's states, plus ``weight`` x the mean cosine between the states
    of the question and of the prefix.

    Args:
        states: [L, H], the prefix first, then the question.
        prefix: number of states before the question; 0 leaves the second mean out.

    Returns:
        a number in [-weight, 1 + weight].
    """
    unit = torch.nn.functional.normalize(states.double(), dim=-1)
    question = unit[prefix:].mean(0)  # the mean over pairs is a product of means
    value = question @ question
    return float(value + weight * (question @ unit[:prefix].mean(0)) if prefix else value)


@torch.no_grad()
def mlp_inputs(model: Any, ids: Sequence[int]) -> Tensor:
    """Return the input of the last layer's MLP at each token of a sequence, [L, H].

    Raises:
        InputError: the model's last layer has no attribute ``mlp``.
    """
    mlp: Any = getattr(last_layer(model), "mlp", None)
    if mlp is None:
        raise InputError(f"a layer of {type(model).__name__} has no MLP under the name 'mlp', whose input is measured.")
    seen: list[Tensor] = []
    hook = mlp.register_forward_pre_hook(lambda module, inputs: seen.append(inputs[0]))
    try:
        model(torch.tensor([list(ids)], device=model.device), use_cache=False, logits_to_keep=1)
    finally:
        hook.remove()
    return seen[0][0]
