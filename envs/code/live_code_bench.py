"""palaestra/LiveCodeBench-v0: contest problems of three levels, from any source in the layout of LiveCodeBench."""

from __future__ import annotations

from ..registration import register
from .problems.problem_layouts import LIVE_CODE_BENCH
from .problems.problem_set import DATA, ProblemSet


class LiveCodeBench(ProblemSet):
    """Solve a contest problem of a data set in the layout of LiveCodeBench.

    Description:
        Problems come from ``source``; without one, from a small set written for this package. A record has
        ``question_content``, ``public_test_cases`` and ``private_test_cases`` (of a program, or of a method of a class
        Solution that ``metadata`` names), perhaps ``starter_code``, and a ``difficulty``. Packed tests are read, but no
        pickle is ever loaded. At most 64 tests of a record, each of at most 100,000 characters, are kept. Numbers with
        a decimal point, printed or returned, may differ by one part in a million.

    Parameters:
        level (1 to 3): easy, medium or hard. With a custom ``source``, the range from its lowest to its highest level;
            a level without problems draws from the nearest level with some.
        length (0.0 to 1.0): draws from one half of a level's problems, 0 from the half with the least effort, 1 with
            the most. Effort: characters of the question, plus 10 for each statement or expression of the reference
            program; records without a ``solution``, as in the published data, count by their question alone.

    Observation:
        The problem, the starter code if there is some, and the form of the answer.

    Actions:
        Text with the program or class in a block of Python, of which the last counts; or bare code. For classes, the
        modules that published solutions use without import (typing, collections, math, ...) are imported.

    Reward:
        1 if all tests pass, 0 otherwise; with ``graded`` the share that passes.

    Termination:
        After the first answer.

    Source:
        The layout: Jain et al., LiveCodeBench (arXiv 2403.07974), on the hub livecodebench/code_generation_lite. The
        problems that come with the package are its own. Arguments: see `ProblemSet`.
    """

    layout = LIVE_CODE_BENCH
    built_in = str(DATA / "live_code_bench.jsonl")
    rung_axis = "level"


register("palaestra/LiveCodeBench-v0", f"{__name__}:LiveCodeBench")
