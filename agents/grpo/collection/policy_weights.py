"""Versions of the policy's weights for the engine that samples.

In synchronous collection the engine reads, or copies, the trained policy (`Engine.load_weights`). Collection ahead of
the updates plays with a copy of the policy, whose weights are set to the version that a step requires.
"""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import Tensor

from ...language.gpu import free_memory
from ...language.model import LanguageModel

Weights = dict[str, Tensor]
"""Name -> trained weight of a policy."""
_KEPT_BESIDE = 0.05
"""Largest share of a GPU's free memory that stored versions of the weights may take; larger ones are on the CPU."""


def played_version(step: int, staleness: int) -> int:
    """Return the version (number of updates) of the policy that plays the data of ``step`` (from 1)."""
    return max(step - 1 - staleness, 0)


def separate_models(
    language: LanguageModel, reference: Any, distilled: Any, splits: bool
) -> tuple[LanguageModel, Any, Any]:
    """Copy models so that collection and update can change or shard theirs independently.

    Args:
        reference: the frozen reference model, or None.
        distilled: the model to distil from, or None; the collection keeps this object.
        splits: True if the update shards its models over processes, which removes their weights from this process.

    Returns:
        (the collection's policy, the collection's reference, the update's model to distil from).
    """
    played = copy_policy(language)
    if reference is not None and played.adapters is not None:
        reference = played.reference().model
    elif splits:
        reference = copy.deepcopy(reference)
    return played, reference, copy.deepcopy(distilled) if splits else distilled


def copy_policy(language: LanguageModel) -> LanguageModel:
    """Return a frozen copy of a policy, including adapters, into which other weights can be loaded."""
    if language.adapters is None:
        return LanguageModel(copy.deepcopy(language.model).eval(), language.tokenizer, language.renderer)
    adapters = copy.deepcopy(language.adapters).eval()
    return LanguageModel(adapters.get_base_model(), language.tokenizer, language.renderer, adapters)


def place_of_versions(language: LanguageModel, staleness: int) -> torch.device:
    """Choose the device that stores versions of the weights: the policy's GPU if all versions take a small part of its
    free memory (copies are a thousand times as fast there), else the CPU."""
    device = language.model.device
    size = sum(weight.nbytes for weight in language.model.parameters() if weight.requires_grad)
    # Besides the staleness + 1 versions kept, one more exists while the oldest is replaced.
    if device.type == "cuda" and (staleness + 2) * size <= _KEPT_BESIDE * free_memory(device):
        return device
    return torch.device("cpu")


def trained_weights(language: LanguageModel, place: torch.device | str = "cpu") -> Weights:
    """Copy the trained weights to a device."""
    return {
        name: weight.detach().to(place, copy=True).contiguous()
        for name, weight in language.model.named_parameters()
        if weight.requires_grad
    }


@torch.no_grad()
def set_weights(language: LanguageModel, weights: Weights) -> None:
    """Copy weights from `trained_weights` into a policy, in place."""
    own = dict(language.model.named_parameters())
    for name, weight in weights.items():
        own[name].copy_(weight)
