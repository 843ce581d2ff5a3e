"""What a result is worth: verdicts, verifiers of single answers, and rewards of whole episodes."""

from __future__ import annotations

from . import terms, verifiers
from .episode import Episode, Step
from .reward import REWARDS, BatchReward, GroupReward, Reward, StepReward, make, register
from .verdict import Verdict
from .verifiers import VERIFIERS, verify

__all__ = [
    "REWARDS",
    "VERIFIERS",
    "BatchReward",
    "Episode",
    "GroupReward",
    "Reward",
    "Step",
    "StepReward",
    "Verdict",
    "make",
    "register",
    "terms",
    "verifiers",
    "verify",
]
