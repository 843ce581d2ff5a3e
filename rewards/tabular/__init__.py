"""Rewards designed on a known tabular MDP, so that a learner finds an optimal policy sooner.

`problem` has the MDP with its primary reward, `designer` the registry. One designer each is in `explicable` ("exprd"),
`adaptive` ("expadard"), `exploration` ("explors"), `bilevel` ("barfi") and `potential` ("pbrs").
"""

from __future__ import annotations

from .designer import DESIGNERS, Designer, make_designer
from .problem import RewardProblem

__all__ = ["DESIGNERS", "Designer", "RewardProblem", "make_designer"]
