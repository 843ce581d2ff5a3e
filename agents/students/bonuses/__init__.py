"""The rewards that ``palaestra train --bonus`` adds for students.

`bonus` has the registry. Bonuses without networks are in `shaped` (potential, subgoals, count), `landmarks`,
`demonstration_stages`, `empowerment`, `waypoint_bonus`, `goal_text` and `designed` (rewards designed on tables).
The networks of `distillation` (rnd, rdd), `curiosity` (prediction, hindsight), `graph_subgoals`, `progress_head`,
`latent_bonus` (lare) and `caption_bonus` (oni) learn together with the student; they need torch, which is loaded when
such a bonus is created.
"""

from __future__ import annotations

from . import (
    caption_bonus,
    curiosity,
    demonstration_stages,
    designed,
    distillation,
    empowerment,
    goal_text,
    graph_subgoals,
    landmarks,
    latent_bonus,
    progress_head,
    shaped,
    waypoint_bonus,
)
from .bonus import BONUSES, Bonus, describe_bonus, make_bonuses

__all__ = [
    "BONUSES",
    "Bonus",
    "caption_bonus",
    "curiosity",
    "demonstration_stages",
    "describe_bonus",
    "designed",
    "distillation",
    "empowerment",
    "goal_text",
    "graph_subgoals",
    "landmarks",
    "latent_bonus",
    "make_bonuses",
    "progress_head",
    "shaped",
    "waypoint_bonus",
]
