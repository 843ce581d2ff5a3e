"""The rewards that ``palaestra train --bonus`` adds for students.

`bonus` has the registry, `shaped` the bonuses without networks, `distillation` (rnd, rdd) and `curiosity` (prediction,
hindsight) those whose networks learn while the student does; these need torch, which is loaded when one is made.
"""

from __future__ import annotations

from . import curiosity, distillation, shaped
from .bonus import BONUSES, Bonus, describe_bonus, make_bonuses

__all__ = ["BONUSES", "Bonus", "curiosity", "describe_bonus", "distillation", "make_bonuses", "shaped"]
