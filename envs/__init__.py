"""Task environments for language-model agents.

Importing this package registers every id, and imports neither the families nor a heavy library: the ids are in
``registered.json``, which `palaestra.tools.update_registered` writes.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from .registration import ids, register, register_installed, register_table

if TYPE_CHECKING:
    from . import (
        code,
        datasets,
        gameable,
        games,
        grids,
        induction,
        instructions,
        judging,
        ladders,
        math,
        memory,
        mixture,
        players,
        puzzles,
        sql,
        text,
        transforms,
        walkers,
        web,
    )
    from .datasets.own_questions import from_dataset
    from .game import Game, Transition
    from .param_env import ParamEnv
    from .param_space import Axis, ChoiceAxis, FloatAxis, IntAxis, ParamSpace
    from .question import Question, Task
    from .tags import find, tags_of
    from .task_env import TaskEnv
    from .text_twin import TextTwin
    from .unicode import Unicode

FAMILIES = (
    *("code", "datasets", "gameable", "games", "grids", "induction", "instructions", "judging", "ladders", "math"),
    *("memory", "mixture", "players", "puzzles", "sql", "text", "transforms", "walkers", "web"),
)
"""Packages and modules with families of environments."""
_PLACES = {
    "from_dataset": "datasets.own_questions",
    **dict.fromkeys(("Game", "Transition"), "game"),
    "ParamEnv": "param_env",
    **dict.fromkeys(("Axis", "ChoiceAxis", "FloatAxis", "IntAxis", "ParamSpace"), "param_space"),
    **dict.fromkeys(("Question", "Task"), "question"),
    **dict.fromkeys(("find", "tags_of"), "tags"),
    "TaskEnv": "task_env",
    "TextTwin": "text_twin",
    "Unicode": "unicode",
}
"""Name -> module of this package."""

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
    "instructions",
    "judging",
    "ladders",
    "math",
    "memory",
    "mixture",
    "players",
    "puzzles",
    "register",
    "sql",
    "tags_of",
    "text",
    "transforms",
    "walkers",
    "web",
]


def __getattr__(name: str) -> Any:
    if name in FAMILIES:
        return importlib.import_module(f".{name}", __name__)
    if name in _PLACES:
        return getattr(importlib.import_module(f".{_PLACES[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


register_table()
register_installed()
