"""Task environments for language-model agents. Importing this package registers every id and loads no heavy library."""

from __future__ import annotations

from ..rewards.design.factors import FACTOR_RUNNERS
from ..rewards.design.program_values import RUNNERS
from . import (
    code,
    datasets,
    gameable,
    games,
    grids,
    induction,
    ladders,
    math,
    memory,
    mixture,
    players,
    puzzles,
    sql,
    transforms,
    walkers,
    web,
)
from .datasets.own_questions import from_dataset
from .game import Game, Transition
from .param_env import ParamEnv
from .param_space import Axis, ChoiceAxis, FloatAxis, IntAxis, ParamSpace
from .question import Question, Task
from .registration import ids, register, register_installed
from .tags import find, tags_of
from .task_env import TaskEnv
from .text_twin import TextTwin
from .unicode import Unicode

__all__ = [
    "Axis",
    "ChoiceAxis",
    "FloatAxis",
    "Game",
    "IntAxis",
    "ParamEnv",
    "ParamSpace",
    "Question",
    "Task",
    "TaskEnv",
    "TextTwin",
    "Transition",
    "Unicode",
    "code",
    "datasets",
    "find",
    "from_dataset",
    "gameable",
    "games",
    "grids",
    "ids",
    "induction",
    "ladders",
    "math",
    "memory",
    "mixture",
    "players",
    "puzzles",
    "register",
    "sql",
    "tags_of",
    "transforms",
    "walkers",
    "web",
]

RUNNERS.add("sandbox", f"{__name__}.sandbox.reward_programs:judge_in_sandbox")
FACTOR_RUNNERS.add("sandbox", f"{__name__}.sandbox.factor_programs:compute_in_sandbox")
register_installed()
