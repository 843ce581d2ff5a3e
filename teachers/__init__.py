"""Teachers: what to practise next.

    teacher = make("alp-gmm", env.unwrapped.param_space, seed=0)
    proposal = teacher.propose(1)[0]
    teacher.observe([Outcome(proposal.id, proposal.task, returns=[0.7], successes=[True])])
    params = teacher.sample(); teacher.update(params, 0.7)
    env = TeacherWrapper(env, "alp-gmm", seed=0)

Each algorithm is one module that registers itself; importing this package registers those built in.
"""

from __future__ import annotations

from .alp_gmm import ALPGMM
from .protocol import Draw, Evidence, Outcome, Proposal, Teacher
from .random import RandomTeacher
from .registry import TEACHERS, make, register
from .sec import SEC
from .spaces import as_arms, as_cube, discretise
from .wrapper import TeacherWrapper

__all__ = [
    "ALPGMM",
    "SEC",
    "TEACHERS",
    "Draw",
    "Evidence",
    "Outcome",
    "Proposal",
    "RandomTeacher",
    "Teacher",
    "TeacherWrapper",
    "as_arms",
    "as_cube",
    "discretise",
    "make",
    "register",
]
