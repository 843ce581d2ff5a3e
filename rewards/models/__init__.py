"""Reward models that are trained: Bradley-Terry on preferences, implicit process rewards on outcomes.

Importing this loads no torch; the models do, on first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ...errors import MissingExtra
from .model_rewards import ImplicitProcessReward, ModelReward
from .preferences import (
    Preference,
    cleaned,
    corrupt_answer,
    corrupted_pairs,
    graded_pairs,
    preference_pairs,
    preference_strength,
    truncated_pairs,
)
from .token_episode import TokenEpisode

if TYPE_CHECKING:
    from .implicit import CausalLogProbs, ImplicitPRM
    from .losses import bradley_terry_loss, contrast, listwise_loss
    from .ngram_encoder import NgramEncoder
    from .reward_model import RewardModel

__all__ = [
    "CausalLogProbs",
    "ImplicitPRM",
    "ImplicitProcessReward",
    "ModelReward",
    "NgramEncoder",
    "Preference",
    "RewardModel",
    "TokenEpisode",
    "bradley_terry_loss",
    "cleaned",
    "contrast",
    "corrupt_answer",
    "corrupted_pairs",
    "graded_pairs",
    "listwise_loss",
    "preference_pairs",
    "preference_strength",
    "truncated_pairs",
]

_LAZY = {
    "CausalLogProbs": "implicit",
    "NgramEncoder": "ngram_encoder",
    "ImplicitPRM": "implicit",
    "RewardModel": "reward_model",
    "bradley_terry_loss": "losses",
    "contrast": "losses",
    "listwise_loss": "losses",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        module = importlib.import_module(f".{_LAZY[name]}", __name__)
    except ImportError as error:
        if error.name != "torch":
            raise
        raise MissingExtra("a reward model", "train") from None
    return getattr(module, name)
