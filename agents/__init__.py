"""Agents: their protocol, the built-in ones, evaluation, and the learner of language models (`palaestra.agents.grpo`).

Importing this package does not import torch; the language-model parts load on first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from . import aided_agent, human, oracle, pathwise, random_agent  # noqa: F401  (each registers its agents)
from .agent import AGENTS, Agent, AgentError, EndEpisode, SlotAgent, make, register
from .callable_agent import CallableAgent
from .chat.chat_agent import ChatAgent
from .evaluation import Bin, Estimate, PairedComparison, Report, SuiteReport, compare, evaluate, evaluate_all
from .history import HISTORIES, HistoryWrapper
from .language.language_agent import LanguageAgent
from .lookup import as_agent
from .replay import ReplayRecorder

if TYPE_CHECKING:
    from . import engines, grpo, language

__all__ = [
    "AGENTS",
    "HISTORIES",
    "Agent",
    "AgentError",
    "Bin",
    "CallableAgent",
    "ChatAgent",
    "EndEpisode",
    "Estimate",
    "HistoryWrapper",
    "LanguageAgent",
    "PairedComparison",
    "ReplayRecorder",
    "Report",
    "SlotAgent",
    "SuiteReport",
    "as_agent",
    "compare",
    "engines",
    "evaluate",
    "evaluate_all",
    "grpo",
    "language",
    "make",
    "register",
]


def __getattr__(name: str) -> Any:
    if name in ("engines", "grpo", "language"):
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
