"""Teachers: curricula that choose the next tasks to practise.

    teacher = make("alp-gmm", env.unwrapped.param_space, seed=0)
    proposal = teacher.propose(1)[0]
    teacher.observe([Outcome(proposal.id, proposal.task, returns=[0.7], successes=[True])])
    params = teacher.sample(); teacher.update(params, 0.7)
    env = TeacherWrapper(env, "alp-gmm", seed=0)
    with serve(teacher) as served: ...  # for workers in other processes

Each algorithm is a module that registers itself, in the folder of its kind: `boxes` (points of continuous axes), `arms`
(bandits over categories), `prompts` (selectors over a list of tasks), `levels` (buffers of generated tasks). `budgets`
sets the number of rollouts of each task, `combinators` build teachers from teachers, and `gates` decide which groups
are trained on. ``palaestra list teachers`` shows all of them.
"""

from __future__ import annotations

from ..checks import option
from .arms.arm_teacher import ArmTeacher
from .boxes.box_teacher import BoxTeacher
from .families import FamilyTeacher
from .pools import FiniteTasks, as_arms, as_pool, discretise, fixed_ladders, fixed_tasks, instance
from .prompts.prompt_teacher import PromptTeacher
from .protocol import Draw, Evidence, Outcome, Proposal, Teacher
from .random import RandomTeacher
from .registration import TEACHERS, Preset, choose_space, fixed_pool, make, range_options, register
from .served import ServedTeacher, TeacherHandle, serve
from .spaces import as_cube
from .wrapper import TeacherWrapper

__all__ = [
    "TEACHERS",
    "ArmTeacher",
    "BoxTeacher",
    "Draw",
    "Evidence",
    "FamilyTeacher",
    "FiniteTasks",
    "Outcome",
    "Preset",
    "PromptTeacher",
    "Proposal",
    "RandomTeacher",
    "ServedTeacher",
    "Teacher",
    "TeacherHandle",
    "TeacherWrapper",
    "as_arms",
    "as_cube",
    "as_pool",
    "choose_space",
    "discretise",
    "fixed_ladders",
    "fixed_pool",
    "fixed_tasks",
    "instance",
    "make",
    "option",
    "range_options",
    "register",
    "serve",
]
