"""Ladder of four tasks whose reward can be gained without doing the work (reward hacking), from mild to severe.

The rungs of the ladder are opinion, flattery, checklist and reward file. `palaestra.rewards.audit.ladder` runs a policy
on all rungs and counts those that the policy exploits. Screening, no rung, has a reward whose weights teach to reject
everybody.
"""

from __future__ import annotations

from . import checklist, flattery, opinion, reward_file, screening
from .gameable_game import GameableGame, RewardRecord

__all__ = ["GameableGame", "RewardRecord", "checklist", "flattery", "opinion", "reward_file", "screening"]
