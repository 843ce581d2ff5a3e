"""The rewards that ``palaestra train --bonus`` adds for students.

`bonus` has the registry. Without networks are those in `shaped` (potential, subgoals, count), `landmarks`,
`demonstration_stages`, `empowerment`, `waypoint_bonus` and `goal_text`. The networks of `distillation` (rnd, rdd),
`curiosity` (prediction, hindsight), `graph_subgoals` and `progress_head` learn while the student does; these need
torch, which is loaded when one is made.
"""

from __future__ import annotations

from . import (
    curiosity,
    demonstration_stages,
    distillation,
    empowerment,
    goal_text,
    graph_subgoals,
    landmarks,
    progress_head,
    shaped,
    waypoint_bonus,
)
from .bonus import BONUSES, Bonus, describe_bonus, make_bonuses

__all__ = [
    "BONUSES",
    "Bonus",
    "curiosity",
    "demonstration_stages",
    "describe_bonus",
    "distillation",
    "empowerment",
    "goal_text",
    "graph_subgoals",
    "landmarks",
    "make_bonuses",
    "progress_head",
    "shaped",
    "waypoint_bonus",
]
