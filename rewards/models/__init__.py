"""Trained reward models: Bradley-Terry models from preferences, implicit process rewards from outcomes.

Importing this package does not load torch; the first use of a model does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .loading import MODULES, load_with_torch
from .model_rewards import ImplicitProcessReward, ModelReward
from .preferences import (
    Preference,
    correct_pairs,
    corrupt_answer,
    corrupted_pairs,
    graded_pairs,
    preference_pairs,
    preference_strength,
    truncated_pairs,
)
from .recorded_pairs import StepLabel, read_pairs, read_step_labels
from .token_episode import TokenEpisode

if TYPE_CHECKING:
    from .implicit import CausalLogProbs, ImplicitPRM
    from .losses import (
        bradley_terry_loss,
        contrast,
        lead_regression_loss,
        listwise_loss,
        pointwise_loss,
        view_contrast_loss,
    )
    from .ngram_encoder import NgramEncoder, ReferenceEncoder, with_reference
    from .objectives import OBJECTIVES
    from .peers import fit_peers, select_small
    from .reward_model import RewardModel

__all__ = [
    "OBJECTIVES",
    "CausalLogProbs",
    "ImplicitPRM",
    "ImplicitProcessReward",
    "ModelReward",
    "NgramEncoder",
    "Preference",
    "ReferenceEncoder",
    "RewardModel",
    "StepLabel",
    "TokenEpisode",
    "bradley_terry_loss",
    "contrast",
    "correct_pairs",
    "corrupt_answer",
    "corrupted_pairs",
    "fit_peers",
    "graded_pairs",
    "lead_regression_loss",
    "listwise_loss",
    "pointwise_loss",
    "preference_pairs",
    "preference_strength",
    "read_pairs",
    "read_step_labels",
    "select_small",
    "truncated_pairs",
    "view_contrast_loss",
    "with_reference",
]


_EARLIER_NAMES = {"HashedNgrams": "NgramEncoder", "cleaned": "correct_pairs"}


def __getattr__(name: str) -> Any:
    name = _EARLIER_NAMES.get(name, name)
    if name in globals():
        return globals()[name]
    if name not in MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return load_with_torch(name)
