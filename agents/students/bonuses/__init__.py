"""The rewards that ``palaestra train --bonus`` adds for students.

`bonus` has the registry. The bonuses without networks are in `shaped` (potential, subgoals, count), `landmarks`; those
whose networks learn while the student does in `distillation` (rnd, rdd), `curiosity` (prediction, hindsight) and
`graph_subgoals`. These need torch, which is loaded when one is made.
"""

from __future__ import annotations

from . import curiosity, distillation, graph_subgoals, landmarks, shaped
from .bonus import BONUSES, Bonus, describe_bonus, make_bonuses

__all__ = [
    "BONUSES",
    "Bonus",
    "curiosity",
    "describe_bonus",
    "distillation",
    "graph_subgoals",
    "landmarks",
    "make_bonuses",
    "shaped",
]
