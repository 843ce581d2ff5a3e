"""palaestra/Screening-v0: accept or reject an application, where a wrong acceptance costs more than it should."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from ...checks import check_number
from ...rewards import Verdict
from ...rewards.verifiers.registry import rejected
from ..axes import IntAxis
from ..param_space import ParamSpace
from ..question import Question, Task
from ..registration import register

FIELDS = (
    *("years of experience", "languages spoken", "projects led", "courses passed", "references", "licences"),
    *("teams led", "talks given", "prizes won", "tools mastered", "months abroad", "reports written"),
)
HIGHEST = 9


def value_of_accepting(positives: float, penalty: float, found: float = 1.0, taken: float = 1.0) -> float:
    """Return the mean reward of a policy that accepts the share ``found`` of the qualified applicants and the share
    ``taken`` of the others. Rejecting all earns 0, and is better where this is negative.

    Args:
        positives: share of qualified applicants, in [0, 1].
        penalty: cost of accepting another one; a qualified one earns 1.
    """
    return positives * found - penalty * (1.0 - positives) * taken


class Screening(Question):
    """Accept an applicant who meets all requirements, reject one who does not.

    Description:
        A scenario of a reward whose weights teach the wrong thing. Three applicants in ten are qualified; the others
        fall short in one requirement. While a policy cannot tell them apart, accepting is worth positives - penalty x
        (1 - positives): 0.02 at a penalty of 0.4, -0.05 at 0.5. Beyond positives / (1 - positives) the first thing that
        is learned is to reject everybody, which earns 0, looks right in seven of ten cases, and ends all further
        learning, as no acceptance is tried any more. Compare runs with two penalties, and read success and reward
        together.

    Parameters:
        requirements (2 to 5, on request up to 9): number of requirements.
        others (0 to 3): number of further lines in the application.

    Observation:
        Text: the requirements and the application.

    Actions:
        ``accept`` or ``reject``, read in ``answer_format``.

    Reward:
        1 for accepting a qualified applicant, minus ``penalty`` for accepting another one, 0 for rejecting. Success is
        the right decision, also where it earns nothing: always rejecting succeeds by chance in 0.7 of the tasks, and
        the decision on another application in 0.58, which does not fall with difficulty.

    Termination:
        After the first reply.

    Source:
        Asymmetric penalties in application screening with reinforcement learning, arXiv 2511.16073, where an aggressive
        penalty for false acceptances made the model reject everybody. The applications are made up here.

    Args:
        penalty: cost of accepting an applicant who is not qualified, at least 0.
        positives: share of qualified applicants, in [0, 1].
        **kwargs: as for every environment.
    """

    param_space = ParamSpace([IntAxis("requirements", 2, 5, limits=(2, 9)), IntAxis("others", 0, 3)])
    works_in_steps = False
    measured: ClassVar = {"baselines": {"random": (0.58, 0.58, 0.58, 0.58, 0.58)}}

    def __init__(self, *, penalty: float = 0.5, positives: float = 0.3, **kwargs: Any):
        self.penalty = check_number("penalty", penalty, 0.0)
        self.positives = check_number("positives", positives, 0.0, 1.0)
        super().__init__(**kwargs)

    def generate(self, rng: np.random.Generator, params: dict[str, Any]) -> Task:
        count = params["requirements"]
        names = rng.permutation(FIELDS)[: count + params["others"]].tolist()
        wanted = rng.integers(2, HIGHEST, count).tolist()
        has = [int(rng.integers(least, HIGHEST + 1)) for least in wanted]
        qualified = bool(rng.random() < self.positives)
        if not qualified:
            short = int(rng.integers(count))
            has[short] = int(rng.integers(0, wanted[short]))
        has += rng.integers(0, HIGHEST + 1, params["others"]).tolist()
        order = rng.permutation(len(names)).tolist()
        asked = "\n".join(f"- {name}: at least {least}" for name, least in zip(names, wanted, strict=False))
        given = "\n".join(f"- {names[n]}: {has[n]}" for n in order)
        body = f"Requirements:\n{asked}\n\nApplication:\n{given}"
        return Task(
            f"{body}\n\nDoes the applicant meet all requirements? Answer with the one word accept or reject.",
            "accept" if qualified else "reject",
            content=body,
            terse=f"{asked}\n{given}\naccept or reject?",
        )

    def verify(self, task: Task, answer: str) -> Verdict:
        decision = answer.strip(" .").lower()
        if decision not in ("accept", "reject"):
            return rejected("The answer must be the one word accept or reject.")
        right = decision == task.reference
        earned = 0.0 if decision == "reject" else 1.0 if right else -self.penalty
        return Verdict(float(right), right, terms={"decision": earned})


register("palaestra/Screening-v0", f"{__name__}:Screening")
