"""Bonuses: rewards that ``palaestra train --bonus`` adds to those of a student's environment.

`bonus` has the registry. Bonuses without networks are in `shaped` (potential, subgoals, count), `landmarks`,
`demonstration_stages`, `empowerment`, `waypoint_bonus`, `beacons` (sub-goals shown to the policy), `goal_text` and
`designed` (reward tables of small gridworlds). The networks of `distillation` (rnd, rdd), `curiosity` (prediction,
hindsight), `graph_subgoals`, `progress_head`, `latent_bonus` (lare) and `caption_bonus` (oni) learn together with the
student; torch, which they need, is imported when such a bonus is created. The registry imports these modules on first
use.
"""

from __future__ import annotations

from .bonus import BONUSES, Bonus, describe_bonus, make_bonuses

__all__ = ["BONUSES", "Bonus", "describe_bonus", "make_bonuses"]
