"""The loop in which a model designs a reward program: designer, critic and analyser (Auto MC-Reward, arXiv 2312.09238).

The designer writes a program, the critic may return it with a text, the accepted program trains a policy, and the
analyser reports the result to the designer of the next round. All three can be agents, or one of them.
`factor_author` has the author of factors of single steps (LaRe).
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
