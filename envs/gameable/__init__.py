"""A ladder of gameable tasks: each pays a recorded reward that can be had without the work, from mild to severe.

For audits and for teaching what reward hacking looks like: opinion, flattery, checklist, reward file. Played by
`palaestra.rewards.audit.ladder`, which counts how far a policy goes.
"""

from __future__ import annotations

from . import checklist, flattery, opinion, reward_file
from .rung import Books, Rung

__all__ = ["Books", "Rung", "checklist", "flattery", "opinion", "reward_file"]
