"""palaestra/HumanEval-v0: functions to complete from head and docstring, from any source in the layout of HumanEval."""

from __future__ import annotations

from ..registration import register
from .problems.problem import Problem
from .problems.problem_layouts import HUMANEVAL
from .problems.problem_set import DATA, ProblemSet


class HumanEval(ProblemSet):
    """Complete a Python function of a data set in the layout of HumanEval.

    Description:
        Problems come from ``source``; without one, from a small set written for this package. A record has a ``prompt``
        (imports, perhaps helpers, the head of a function and its docstring), its ``entry_point``, a
        ``canonical_solution`` and a ``test`` of assertions, which are read as calls with expected values, so that the
        program never sees the expected values. Records with tests of another form are left out, with one warning that
        counts them.

    Parameters:
        length (0.0 to 1.0): draws from one half of the problems, 0 from the half with the least effort, 1 with the
            most. Effort: characters of the question, plus 10 for each statement or expression of the reference program.

    Observation:
        The head of the function with its docstring, and the form of the answer.

    Actions:
        Text with the whole function in a block of Python, of which the last counts; or bare code. The function's body
        alone is accepted as well, and the code above the function in the prompt need not be repeated.

    Reward:
        1 if all tests pass, 0 otherwise; with ``graded`` the share that passes.

    Termination:
        After the first answer.

    Source:
        The layout: Chen et al., Evaluating Large Language Models Trained on Code (arXiv 2107.03374), on the hub
        openai/openai_humaneval. The problems that come with the package are its own. Arguments: see `ProblemSet`.
    """

    layout = HUMANEVAL
    built_in = str(DATA / "humaneval.jsonl")

    def ask(self, problem: Problem) -> str:
        return f"Complete this function.\n```python\n{problem.question}\n```"


register("palaestra/HumanEval-v0", f"{__name__}:HumanEval")
