"""Rewards: verdicts, verifiers of single answers, and rewards of whole episodes."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ..checks import option
from . import verifiers
from .episode import Episode, Step
from .recording import Recording
from .reward import REWARDS, BatchReward, GroupReward, PooledReward, Reward, StepReward, build, make, register
from .verdict import Verdict
from .verifiers import VERIFIERS, verify
from .verifiers.references import References, check_references, unreadable
from .wrapper import RewardWrapper

if TYPE_CHECKING:
    from . import algebra, audit, design, judges, models, terms

__all__ = [
    "REWARDS",
    "VERIFIERS",
    "BatchReward",
    "Episode",
    "GroupReward",
    "PooledReward",
    "Recording",
    "References",
    "Reward",
    "RewardWrapper",
    "Step",
    "StepReward",
    "Verdict",
    "algebra",
    "audit",
    "build",
    "check_references",
    "design",
    "judges",
    "make",
    "models",
    "option",
    "register",
    "terms",
    "unreadable",
    "verifiers",
    "verify",
]

_LAZY = ("algebra", "audit", "design", "judges", "models", "terms")


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return importlib.import_module(f".{name}", __name__)
