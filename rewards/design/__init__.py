"""Reward programs and factor programs, written by a language model or a person: rewards of episodes,
factors of steps."""

from __future__ import annotations

from .critique import Critique, criticise
from .factors import FACTOR_FUNCTIONS, FACTOR_RUNNERS, FactorCritique, StepFactors, compute_factors, verify_factors
from .program import RewardProgram, read_program
from .program_values import RUNNERS, ProgramValue, describe_episode, run_program

__all__ = [
    "FACTOR_FUNCTIONS",
    "FACTOR_RUNNERS",
    "RUNNERS",
    "Critique",
    "FactorCritique",
    "ProgramValue",
    "RewardProgram",
    "StepFactors",
    "compute_factors",
    "criticise",
    "describe_episode",
    "read_program",
    "run_program",
    "verify_factors",
]
