"""The loop in which a model designs a reward program: designer, critic and analyser (Auto MC-Reward, arXiv 2312.09238).

The designer writes a program, the critic rejects it with a text that goes back to the designer, the program trains a
policy, and the analyser tells the designer of the next round how that went. All three are agents, or one of them is.
`factor_author` has the author of factors of single steps (LaRe).
"""

from __future__ import annotations

from .analysis import analyse, read_rows, rows_of, summarise
from .designer import Attempt, DesignTask, ScriptedAuthor, design_program
from .factor_author import FactorAttempt, design_factors

__all__ = [
    "Attempt",
    "DesignTask",
    "FactorAttempt",
    "ScriptedAuthor",
    "analyse",
    "design_factors",
    "design_program",
    "read_rows",
    "rows_of",
    "summarise",
]
