"""What a result is worth: verdicts, verifiers of single answers, and rewards of whole episodes."""

from __future__ import annotations

from . import algebra, audit, judges, models, terms, verifiers
from .episode import Episode, Step
from .reward import REWARDS, BatchReward, GroupReward, PooledReward, Reward, StepReward, build, make, register
from .verdict import Verdict
from .verifiers import VERIFIERS, verify
from .wrapper import RewardWrapper

__all__ = [
    "REWARDS",
    "VERIFIERS",
    "BatchReward",
    "Episode",
    "GroupReward",
    "PooledReward",
    "Reward",
    "RewardWrapper",
    "Step",
    "StepReward",
    "Verdict",
    "algebra",
    "audit",
    "build",
    "judges",
    "make",
    "models",
    "register",
    "terms",
    "verifiers",
    "verify",
]
