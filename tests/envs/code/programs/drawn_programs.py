"""Random programs with their cases, for the tests of both."""

from __future__ import annotations

import numpy as np
from palaestra.envs.code.programs.cases import ProgramCase, draw_cases
from palaestra.envs.code.programs.dice import Dice
from palaestra.envs.code.programs.grammar import DOMAINS, Program, draw_program


def draw_programs(count: int, seed: int = 0, cases: int = 6) -> list[tuple[Program, list[ProgramCase]]]:
    """Draw programs of every domain and of one to five steps, each with its cases."""
    dice, found = Dice(np.random.default_rng(seed)), []
    while len(found) < count:
        program = draw_program(dice, tuple(DOMAINS)[len(found) % 3], 1 + len(found) % 5)
        made = draw_cases(dice, program, cases)
        if made is not None:
            found.append((program, made))
    return found
