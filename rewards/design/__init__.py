"""Reward programs: rewards that a language model, or anyone else, writes as a Python function of an episode."""

from __future__ import annotations

from .critique import Critique, criticise
from .program import RewardProgram, read_program
from .program_values import RUNNERS, ProgramValue, describe_episode, run_program

__all__ = [
    "RUNNERS",
    "Critique",
    "ProgramValue",
    "RewardProgram",
    "criticise",
    "describe_episode",
    "read_program",
    "run_program",
]
