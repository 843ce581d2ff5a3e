"""Teachers: what to practise next.

    teacher = make("alp-gmm", env.unwrapped.param_space, seed=0)
    proposal = teacher.propose(1)[0]
    teacher.observe([Outcome(proposal.id, proposal.task, returns=[0.7], successes=[True])])

Each algorithm is one module that registers itself; importing this package registers those built in.
"""

from __future__ import annotations

from . import random
from .protocol import Outcome, Proposal, Teacher
from .registry import TEACHERS, make, register
from .spaces import discretise

__all__ = ["TEACHERS", "Outcome", "Proposal", "Teacher", "discretise", "make", "random", "register"]
