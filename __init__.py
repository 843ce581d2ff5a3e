"""Palaestra: Gymnasium environments for language-model agents, teachers that choose the task, and a GRPO learner.

``import palaestra`` registers every environment id with Gymnasium. The parts of the package, torch and other large
packages are imported on first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from . import envs

if TYPE_CHECKING:
    from . import agents, rewards, teachers
    from .agents.evaluation import evaluate

__version__ = "0.1.0"
__all__ = ["__version__", "agents", "envs", "evaluate", "rewards", "teachers"]


def __getattr__(name: str) -> Any:
    if name in ("agents", "rewards", "teachers"):
        return importlib.import_module(f".{name}", __name__)
    if name == "evaluate":
        return importlib.import_module(".agents.evaluation", __name__).evaluate
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
