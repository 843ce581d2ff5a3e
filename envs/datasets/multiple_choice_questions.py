"""palaestra/MultipleChoiceQuestions-v0: questions with options, from any source in the layouts of MMLU and ARC."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from ...rewards import Verdict, verify
from ..axes import Axis, FloatAxis, IntAxis
from ..question import Task
from ..registration import register
from .collection import Collection
from .layouts import CHOICE, LETTERS, Item
from .questions import DatasetQuestion

# Options that refer to other options or to their order.
_ABOUT_OTHERS = re.compile(
    r"\b(?i:all|none|both|neither|either|any|two|some|each) (?i:of )?(?i:the )?(?i:above|these|those|options|choices)\b"
    r"|\b(?i:the above|the preceding|the following|the other (?:options|choices|answers))\b"
    r"|\b[A-J]\)? (?:and|or|nor) \(?[A-J]\b|(?:^|\s)\([A-J]\)|^[A-J](?:, ?[A-J])+"
)


class MultipleChoiceQuestions(DatasetQuestion):
    """Choose the right option of a question of a data set in the layouts of MMLU and ARC.

    Description:
        Questions come from ``source``; without one, from a small set written for this package. A record has a
        ``question``, ``choices`` (a list, or ARC's ``text`` and ``label``) or columns A, B, C, ..., and ``answer`` (an
        index from 0, a letter or a label) or ``answerKey``; its ``rationale``, ``explanation``, ``solution`` or ``exp``
        is the worked solution. Wrong options are dropped at random down to ``options``, and the rest is shuffled; a row
        requested by its id keeps its order. Questions with an option about others ("all of the above", "A and B") are
        shown as they stand.

    Parameters:
        options (2 to 4): maximum number of options shown. For another source all are shown unless fewer are requested.
        length (0.0 to 1.0): draws from one half of the questions, 0 from the half with the shortest text, 1 with the
            longest.

    Observation:
        The question, one line such as ``B) Oxygen`` for each option, and the form of the answer.

    Actions:
        Text with one letter, ``B``, or with the text of the option, read in ``answer_format``.

    Reward:
        1 for the right option, 0 otherwise. With 2 options any letter is right by chance in half (0.5) of the tasks.
        As the package's questions have at most 4 options, this rate does not fall below a quarter.

    Termination:
        After the first answer.

    Source:
        The layouts: MMLU (arXiv 2009.03300), on the hub cais/mmlu, and ARC (arXiv 1803.05457), on the hub
        allenai/ai2_arc. The questions that come with the package are its own. Arguments ``source``, ``part`` and
        ``config``: see `DatasetQuestion`.

    Args:
        shuffle: True to shuffle the options; False keeps the record's order, in which some letters may be right more
            often than others.
        **kwargs: as for `DatasetQuestion`.
    """

    supplies = frozenset({"options", "allowed_answers"})
    layout = CHOICE
    built_in = "multiple_choice.jsonl"
    works_in_steps = False  # questions of knowledge; the records of the small set have no rationale

    def __init__(self, *, shuffle: bool = True, **kwargs: Any):
        self.shuffle = bool(shuffle)
        super().__init__(**kwargs)

    def axes_of(self, collection: Collection) -> list[Axis]:
        most = max(len(item.options) for item in collection.items)
        # Dropping options makes a published question easier, so it happens only on request.
        least = 2 if self.source is None else most
        return [IntAxis("options", least, most, limits=(2, most)), FloatAxis("length", 0.0, 1.0)]

    def task(self, item: Item, rng: np.random.Generator, params: dict[str, Any]) -> Task:
        right, order = int(item.answer), list(range(len(item.options)))
        if not any(map(_ABOUT_OTHERS.search, item.options)):
            order = [place for place in rng.permutation(len(order)).tolist() if place != right][: params["options"] - 1]
            order.insert(int(rng.integers(len(order) + 1)), right)
            if not self.shuffle or self._row is not None:
                order.sort()
        options = [item.options[place] for place in order]
        listed = "\n".join(f"{letter}) {text}" for letter, text in zip(LETTERS, options))
        return Task(
            f"{item.question}\n{listed}\nExactly one option is right. Answer with its letter alone.",
            {"letter": LETTERS[order.index(right)], "options": options},
            data=item,
        )

    def verify(self, task: Task, answer: str) -> Verdict:
        return verify("choice", answer, task.reference["letter"], options=task.reference["options"])

    def compute_extra(self, subject: Task, name: str) -> Any:
        if name == "allowed_answers":
            return list(LETTERS[: len(subject.reference["options"])])
        return len(subject.reference["options"]) if name == "options" else super().compute_extra(subject, name)

    def oracle(self, task: Task) -> str:
        return task.reference["letter"]

    def solver_cost(self, episode: Task) -> float | None:
        """Return the number of characters of the question and of the options shown."""
        return float(len(episode.prompt))


register("palaestra/MultipleChoiceQuestions-v0", f"{__name__}:MultipleChoiceQuestions")
