"""The rewards that ``palaestra train --bonus`` adds for students.

`bonus` has the registry. Bonuses without networks are in `shaped` (potential, subgoals, count), `landmarks`,
`demonstration_stages`, `empowerment`, `waypoint_bonus`, `goal_text` and `designed` (rewards designed on tables).
The networks of `distillation` (rnd, rdd), `curiosity` (prediction, hindsight), `graph_subgoals`, `progress_head`,
`latent_bonus` (lare) and `caption_bonus` (oni) learn together with the student; they need torch, which is loaded when
such a bonus is created. The registry imports these modules when it is first asked.
"""

from __future__ import annotations

from .bonus import BONUSES, Bonus, describe_bonus, make_bonuses

__all__ = ["BONUSES", "Bonus", "describe_bonus", "make_bonuses"]
