"""An author of factor programs: it writes, the program is verified on recorded steps, and errors go back (LaRe)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...rewards import Episode
from ...rewards.design import FactorCritique, verify_factors
from ...rewards.design.factors import describe_step_data
from ...rewards.design.program import MODULES
from ..agent import Agent
from .asking import ask, shorten
from .designer import DesignTask


@dataclass(frozen=True)
class FactorAttempt:
    """A prompt, the author's reply, and the verification of the program in it."""

    prompt: str
    reply: str
    critique: FactorCritique


def design_factors(
    author: Agent, task: DesignTask, episodes: Sequence[Episode], attempts: int = 3
) -> list[FactorAttempt]:
    """Let an author write factor programs until one is verified; only the last attempt can have a program.

    Args:
        episodes: recorded ones, on whose steps programs are run.
        attempts: programs at most.
    """
    opening = _FACTORS.format(
        env=task.env_id, description=task.description, keys=describe_step_data(task.example), modules=", ".join(MODULES)
    )
    made: list[FactorAttempt] = []
    prompt = opening
    while len(made) < attempts:
        reply = ask(author, prompt)
        critique = verify_factors(reply, episodes)
        made.append(FactorAttempt(prompt, reply, critique))
        if critique.program is not None:
            break
        prompt = (
            f"{opening}\n\nYour last reply was:\n{shorten(reply, 8000)}\n\n"
            f"It was rejected: {critique.text}\nWrite the whole program again."
        )
    return made


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
