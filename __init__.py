"""Palaestra: Gymnasium environments for language-model agents, teachers that choose the task, and a GRPO learner.

``import palaestra`` registers every environment id with Gymnasium and loads nothing heavy; the rest loads on first use.
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any


def _report(kind: type[BaseException], error: BaseException, trace: Any) -> None:
    """Say that Ctrl-C stopped the command, in place of a traceback; leave any other error to Python."""
    if issubclass(kind, KeyboardInterrupt):
        print("palaestra: stopped.", file=sys.stderr)
    else:
        sys.__excepthook__(kind, error, trace)


# The command's own handler is not there yet while the package is imported, which takes a moment.
if "".join(sys.argv[:1]).replace("\\", "/").rpartition("/")[2] in ("palaestra", "palaestra.exe"):
    sys.excepthook = _report

from . import envs, rewards, teachers  # noqa: E402

if TYPE_CHECKING:
    from . import agents
    from .agents.evaluation import evaluate

__version__ = "0.1.0"
__all__ = ["__version__", "agents", "envs", "evaluate", "rewards", "teachers"]


def __getattr__(name: str) -> Any:
    if name == "agents":
        return importlib.import_module(".agents", __name__)
    if name == "evaluate":
        return importlib.import_module(".agents.evaluation", __name__).evaluate
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
