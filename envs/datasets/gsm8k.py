"""palaestra/GSM8K-v0: word problems of grade-school arithmetic, from any source in the layout of GSM8K."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...rewards import Verdict
from ...rewards.answers.numbers import find_units, parse_number, read_number
from ...rewards.verifiers.registry import CORRECT, WRONG, rejected
from ..axes import Axis, IntAxis
from ..question import Task
from ..registration import register
from .collection import Collection
from .layouts import GSM8K as LAYOUT
from .layouts import Item
from .questions import DatasetQuestion


class GSM8K(DatasetQuestion):
    """Solve a word problem of a data set in the layout of GSM8K.

    Description:
        Questions come from ``source``; without one, from a small set written for this package. A record has a
        ``question`` and an ``answer``: one line for each step, with notes such as ``<<48/2=24>>``, and ``#### 72`` at
        the end.

    Parameters:
        steps (2 to 8): lines of the worked solution; fewer count as 2, more as 8. With a custom ``source``, the range
            of its problems; a number without problems draws from the nearest with some.

    Observation:
        The question, and the form of the answer.

    Actions:
        Text with one number, read in ``answer_format``. Spellings of the same number are the same: ``72``,
        ``72.0``, ``$72``, ``#### 72``, ``**72**``, ``1,200``, and units that the question asks for.

    Reward:
        1 for the number of the record, exactly; 0 otherwise.

    Termination:
        After the first answer.

    Source:
        The layout: Cobbe et al., Training Verifiers to Solve Math Word Problems (arXiv 2110.14168), on the hub
        openai/gsm8k with ``config="main"``. The problems that come with the package are its own. Arguments ``source``,
        ``part`` and ``config``: see `DatasetQuestion`.
    """

    layout = LAYOUT
    built_in = "gsm8k.jsonl"
    rung_axis = "steps"

    def axes_of(self, collection: Collection) -> list[Axis]:
        return [IntAxis("steps", *collection.rungs)]

    def task(self, item: Item, rng: np.random.Generator, params: dict[str, Any]) -> Task:
        # No number as an example: many small models would copy it as their answer.
        return Task(f"{item.question}\nAnswer with the number alone.", item.answer, data=item)

    def verify(self, task: Task, answer: str) -> Verdict:
        value = read_number(answer, find_units(task.data.question))
        if value is None:
            return rejected("The answer must be one number alone, such as 125 or 7.5.")
        return CORRECT if value == parse_number(task.reference) else WRONG


register("palaestra/GSM8K-v0", f"{__name__}:GSM8K")
