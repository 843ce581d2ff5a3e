"""Design of reward programs by a model, with designer, critic and analyser (Auto MC-Reward, arXiv 2312.09238).

A reward program is a Python function of an episode. In each round the designer writes a program, the critic accepts it
or returns it with the reasons, a policy is trained with the accepted program, and the analyser reports the result to
the designer of the next round. Each of the three can be an agent. In `factor_author`, the program computes features
("factors") of single steps instead (LaRe).
"""

from __future__ import annotations

from .analysis import analyse, read_rows, rows_of, summarise
from .asking import Attempt
from .designer import DesignTask, ScriptedAuthor, design_program
from .factor_author import design_factors

__all__ = [
    "Attempt",
    "DesignTask",
    "ScriptedAuthor",
    "analyse",
    "design_factors",
    "design_program",
    "read_rows",
    "rows_of",
    "summarise",
]
