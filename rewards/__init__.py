"""What a result is worth: verdicts, verifiers of single answers, and rewards of whole episodes."""

from __future__ import annotations

from . import integer, outcome, overlong
from .episode import Episode, Step
from .reward import REWARDS, Reward, make, register
from .verdict import Verdict
from .verifiers import VERIFIERS, verify

__all__ = [
    "REWARDS",
    "VERIFIERS",
    "Episode",
    "Reward",
    "Step",
    "Verdict",
    "integer",
    "make",
    "outcome",
    "overlong",
    "register",
    "verify",
]
