"""What a result is worth: verdicts, verifiers of single answers, and rewards of whole episodes."""

from __future__ import annotations

from . import countdown, integer, number, outcome, overlong, text
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
    "countdown",
    "integer",
    "make",
    "number",
    "outcome",
    "overlong",
    "register",
    "text",
    "verify",
]
