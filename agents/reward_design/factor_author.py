"""Design of factor programs (LaRe): an author writes a program, which is verified on recorded steps.

A factor program maps a step to named numbers, from which a network learns the step's contribution to the return.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...rewards import Episode
from ...rewards.design import verify_factors
from ...rewards.design.factors import describe_step_data
from ...rewards.design.program import MODULES
from ..agent import Agent
from .asking import Attempt, ask_until_accepted
from .designer import DesignTask


def design_factors(author: Agent, task: DesignTask, episodes: Sequence[Episode], attempts: int = 3) -> list[Attempt]:
    """Let an author write factor programs until one is verified; the errors of rejected ones are in the next prompt.

    Args:
        episodes: recorded episodes, on whose steps programs are run.
        attempts: most attempts.

    Returns:
        The attempts; only the last one can be accepted (``critique.program`` is not None).
    """
    opening = _FACTORS.format(
        env=task.env_id, description=task.description, keys=describe_step_data(task.example), modules=", ".join(MODULES)
    )
    return ask_until_accepted(author, opening, attempts, lambda reply: verify_factors(reply, episodes))


_FACTORS = """An agent learns by reinforcement from the return of whole episodes. A small network shall find out how
much each step contributed to it. You choose what the network sees of a step.

The environment is {env}:
{description}

Write a Python function factors(step) that returns a dictionary of named numbers, at most 32, the same names for every
step: what about this step may have helped or harmed the task. Prefer few numbers between -1 and 1, each for one aspect.
It reads a dictionary:
{keys}

The program may import {modules}, and defines functions only; it has no files, network, randomness or classes.
Think first about which steps matter, then give the program in one ```python block."""
