"""palaestra/AIME-v0: contest problems whose answers are whole numbers from 0 to 999, from any source."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...rewards import Verdict
from ...rewards.answers.numbers import read_number
from ...rewards.verifiers.registry import CORRECT, WRONG, rejected
from ..axes import Axis, IntAxis
from ..question import Task
from ..registration import register
from .collection import Collection
from .layouts import AIME as LAYOUT
from .layouts import Item
from .questions import DatasetQuestion


class AIME(DatasetQuestion):
    """Solve a contest problem of a data set in the layout of AIME.

    Description:
        Questions come from ``source``; without one, from a small set written for this package, whose answers were
        confirmed by exhaustive search. A record has a ``problem`` (or ``question``) and an ``answer`` from 0 to 999.
        The problem's number in its contest is read from ``problem number``, ``id`` ("2024-II-4"), ``url`` or
        ``problem_idx``; without these, every fifteen records count as one contest.

    Parameters:
        number (1 to 15): the problem's number in its contest; later problems are harder. With a custom ``source``, the
            range from its lowest to its highest number; a number without problems draws from the nearest with some.

    Observation:
        The problem, and the form of the answer.

    Actions:
        Text with one whole number, read in ``answer_format``; ``033``, ``$33$``, ``33.`` and ``33`` are the same.

    Reward:
        1 for the number of the record, 0 otherwise.

    Termination:
        After the first answer.

    Source:
        The layout: data sets of the American Invitational Mathematics Examination, on the hub Maxwell-Jia/AIME_2024 and
        others. The problems that come with the package are its own. Arguments ``source``, ``part`` and ``config``: see
        `DatasetQuestion`.
    """

    layout = LAYOUT
    built_in = "aime.jsonl"
    rung_axis = "number"

    def axes_of(self, collection: Collection) -> list[Axis]:
        return [IntAxis("number", *collection.rungs)]

    def task(self, item: Item, rng: np.random.Generator, params: dict[str, Any]) -> Task:
        asked = f"{item.question}\nThe answer is a whole number from 0 to 999. Answer with it alone."
        return Task(asked, int(item.answer), data=item)

    def verify(self, task: Task, answer: str) -> Verdict:
        value = read_number(answer.replace("^\\circ", "").replace("^{\\circ}", ""))
        if value is None:
            return rejected("The answer must be one whole number from 0 to 999 alone, such as 125.")
        return CORRECT if value == task.reference else WRONG


register("palaestra/AIME-v0", f"{__name__}:AIME")
