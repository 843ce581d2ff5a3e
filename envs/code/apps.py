"""palaestra/APPS-v0: programming problems of three levels, from any source in the layout of APPS."""

from __future__ import annotations

from ..registration import register
from .problems.problem_layouts import APPS as LAYOUT
from .problems.problem_set import DATA, ProblemSet


class APPS(ProblemSet):
    """Solve a programming problem of a data set in the layout of APPS.

    Description:
        Problems come from ``source``; without one, from a small set written for this package. A record has a
        ``question``, ``input_output`` (inputs and outputs of a program, or, with ``fn_name``, of a function or of a
        method of a class Solution), perhaps ``starter_code``, ``solutions``, and a ``difficulty``. At most 64 tests of
        a record, each of at most 100,000 characters, are kept. Printed numbers with a decimal point, and such values,
        may differ by one part in a million.

    Parameters:
        level (1 to 3): introductory, interview or competition. With a custom source the range is that of its levels,
            and a level without problems stands for the nearest one.
        length (0.0 to 1.0): from the half of the problems of a level with the least to read and write to the half with
            the most: a statement or an expression of the reference program counts like ten characters of the question.

    Observation:
        The problem, the starter code if there is some, and the form of the answer.

    Actions:
        Text with the program, function or class in a block of Python, the last one counts; or bare code. For functions,
        the modules that such classes use without import (typing, collections, math, ...) are imported.

    Reward:
        1 if all tests pass, 0 otherwise; with ``graded`` the share that passes.

    Termination:
        After the first answer.

    Source:
        The layout: Hendrycks et al., Measuring Coding Challenge Competence With APPS (arXiv 2105.09938), as published
        (a folder for each problem) and on the hub codeparrot/apps. The problems that come with the package are its
        own. Arguments: see `ProblemSet`.
    """

    layout = LAYOUT
    built_in = str(DATA / "apps.jsonl")
    rung_axis = "level"


register("palaestra/APPS-v0", f"{__name__}:APPS")
