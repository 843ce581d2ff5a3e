"""A ladder of tasks whose recorded reward can be gained without doing the work, from mild to severe.

For audits, and as examples of reward hacking: opinion, flattery, checklist, reward file.
`palaestra.rewards.audit.ladder` runs a policy on them and counts the rungs that it exploits.
"""

from __future__ import annotations

from . import checklist, flattery, opinion, reward_file
from .rung import Books, Rung

__all__ = ["Books", "Rung", "checklist", "flattery", "opinion", "reward_file"]
