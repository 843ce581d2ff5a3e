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
        a record, each of at most 100,000 characters, are kept. Numbers with a decimal point, printed or returned, may
        differ by one part in a million.

    Parameters:
        level (1 to 3): introductory, interview or competition. With a custom ``source``, the range from its lowest to
            its highest level; a level without problems draws from the nearest level with some.
        length (0.0 to 1.0): draws from one half of a level's problems, 0 from the half with the least effort, 1 with
            the most. Effort: characters of the question, plus 10 for each statement or expression of the reference
            program.

    Observation:
        The problem, the starter code if there is some, and the form of the answer.

    Actions:
        Text with the program, function or class in a block of Python, of which the last counts; or bare code. For
        functions and classes, the modules that published solutions use without import (typing, collections, math, ...)
        are imported.

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
