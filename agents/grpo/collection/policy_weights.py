"""The weights of the policy on their way from the updates to the engine that samples.

In synchronous collection the engine reads, or copies, the trained policy itself (`Engine.load_weights`). A collection
that is ahead of the updates plays with a copy of the policy, whose weights are set to the version that a step asks for.
"""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import Tensor

from ...language.gpu import free_memory
from ...language.model import LanguageModel

Weights = dict[str, Tensor]
"""The trained weights of a policy by their names."""
_KEPT_BESIDE = 0.05
"""Share of a GPU's free memory up to which the versions of the weights are kept there."""


def played_version(step: int, staleness: int) -> int:
    """Return the version (number of updates) of the policy that plays the data of a step (from 1)."""
    return max(step - 1 - staleness, 0)


def separate_models(
    language: LanguageModel, reference: Any, distilled: Any, splits: bool
) -> tuple[LanguageModel, Any, Any]:
    """Copy models so that collection and update can each change or split theirs independently.

    Args:
        reference: the frozen reference model, or None.
        distilled: the model to distil from, or None; the collection keeps this one.
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
    """Return a frozen copy of a policy, adapters included, into which other weights can be loaded."""
    if language.adapters is None:
        return LanguageModel(copy.deepcopy(language.model).eval(), language.tokenizer, language.renderer)
    adapters = copy.deepcopy(language.adapters).eval()
    return LanguageModel(adapters.get_base_model(), language.tokenizer, language.renderer, adapters)


def place_of_versions(language: LanguageModel, staleness: int) -> torch.device:
    """Choose the device that stores versions of the weights: the policy's GPU if all versions are a small part of its
    free memory (copies take a thousandth of the time there), else main memory."""
    device = language.model.device
    size = sum(weight.nbytes for weight in language.model.parameters() if weight.requires_grad)
    # While the oldest version is replaced, one more than the kept ones exists.
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
    """Give a policy the weights of `trained_weights`, in place."""
    own = dict(language.model.named_parameters())
    for name, weight in weights.items():
        own[name].copy_(weight)
