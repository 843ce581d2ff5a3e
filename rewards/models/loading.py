"""Lazy imports of the modules that need torch, so that `rewards.models` itself loads without it."""

from __future__ import annotations

import importlib
from typing import Any

from ...errors import MissingExtra

MODULES = {
    "CausalLogProbs": "implicit",
    "ImplicitPRM": "implicit",
    "NgramEncoder": "ngram_encoder",
    "OBJECTIVES": "objectives",
    "ReferenceEncoder": "ngram_encoder",
    "RewardModel": "reward_model",
    "bradley_terry_loss": "losses",
    "contrast": "losses",
    "fit_peers": "peers",
    "lead_regression_loss": "losses",
    "listwise_loss": "losses",
    "pointwise_loss": "losses",
    "select_small": "peers",
    "view_contrast_loss": "losses",
    "with_reference": "ngram_encoder",
}
"""Public name -> module that defines it."""


def load_with_torch(name: str) -> Any:
    """Import the module that defines a name in `MODULES` and return the object of that name.

    Raises:
        MissingExtra: torch is not installed.
    """
    try:
        module = importlib.import_module(f".{MODULES[name]}", __package__)
    except ImportError as error:
        if error.name != "torch":
            raise
        raise MissingExtra("a reward model", "train") from None
    return getattr(module, name)
