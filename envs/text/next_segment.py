"""palaestra/NextSegment-v0: the sentence that comes next in a text, or between two others."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from ...checks import check_choice, check_number
from ...rewards import Verdict
from ...rewards.embedding import HashedNgrams
from ...rewards.verifiers.registry import CORRECT, rejected
from ..axes import ChoiceAxis, IntAxis
from ..param_space import ParamSpace
from ..question import Task
from ..registration import register
from .text_corpus import split_words
from .text_question import TextQuestion

GAP = "[...]"
_GRAMS = HashedNgrams(sizes=(1, 2), unit="word")


def continues(answer: str, continuation: str, least: int) -> bool:
    """Return True if the words of ``answer``, at least ``least``, are the first words of ``continuation``."""
    words, following = split_words(answer), split_words(continuation)
    return len(words) >= min(least, len(following)) > 0 and words == following[: len(words)]


def likeness(answer: str, continuation: str, least: int) -> float:
    """Return the largest cosine between the counts of words and pairs of words of ``answer`` and those of a beginning
    of ``continuation`` with at least ``least`` words."""
    words, following = split_words(answer), split_words(continuation)
    low = min(least, len(following))
    begins = [" ".join(following[:size]) for size in range(low, min(len(following), 2 * len(words)) + 1)]
    if not words or not begins:
        return 0.0
    rows = _GRAMS([" ".join(words), *begins])
    return max(float(rows[0] @ row) for row in rows[1:])


class NextSegment(TextQuestion):
    """Write how a text goes on, or what stands between two of its sentences.

    Description:
        The text is a passage of ``source``, or of a made-up encyclopaedia. Any beginning of what really follows is
        right, if it is long enough: words are compared without case and punctuation.

    Parameters:
        gap ("middle", "next"): the sentence is followed by the one after it, or by nothing (masked and autoregressive
            segment reasoning).
        words (2 to 8, on request 1 to 60): number of words that must be right; the whole sentence if it is shorter.
        before (6 to 1, harder downwards, on request up to 30): most sentences shown before the place.

    Observation:
        The question, and the text up to the place; with a gap the place is ``[...]``.

    Actions:
        Text that goes on from the place, on one line, read in ``answer_format``.

    Reward:
        1 if the answer is a beginning of the real continuation, 0 otherwise. With ``judge="similar"`` it need only be
        like one: see ``judge``.

    Termination:
        After the first answer.

    Source:
        Reinforcement learning on pre-training data, RLPT (arXiv 2509.19249), whose judge is a language model: see
        ``--reward judge``.

    Args:
        judge: "exact": the words are the same; "similar": the counts of words and pairs of words have a cosine of at
            least ``alike`` to those of a beginning.
        alike: see ``judge``.
        **kwargs: ``source`` and ``thoughts_only``, see `TextQuestion`.
    """

    param_space = ParamSpace(
        [
            ChoiceAxis("gap", ("middle", "next")),
            IntAxis("words", 2, 8, limits=(1, 60)),
            IntAxis("before", 1, 6, harder="down", limits=(1, 30)),
        ]
    )

    def __init__(self, *, judge: Literal["exact", "similar"] = "exact", alike: float = 0.8, **kwargs: Any):
        self.equivalence = check_choice("judge", judge, ("exact", "similar"))
        self.alike = check_number("alike", alike, 0.0, 1.0)
        super().__init__(**kwargs)

    def generate(self, rng: np.random.Generator, params: dict[str, Any]) -> Task:
        passages = self.draw_corpus(rng).passages
        passage = passages[int(rng.integers(len(passages)))]
        filled = params["gap"] == "middle"
        place = int(rng.integers(1, len(passage) - filled))
        before = passage[max(0, place - params["before"]) : place]
        after = passage[place + 1 : place + 2] if filled else ()
        text = (" ".join(before), passage[place], " ".join(after))
        if filled:
            return self.pose(
                text,
                f"{text[0]} {GAP} {text[2]}",
                f"What stands at {GAP} in this text? Answer with that sentence.",
                passage,
            )
        # A prediction may go beyond the sentence.
        text = (text[0], passage[place], " ".join(passage[place + 1 : place + 3]))
        return self.pose(text, text[0], "Write the sentence with which this text goes on.", passage)

    def continuation(self, task: Task) -> str:
        """Return the text of which an answer may be a beginning."""
        _, target, after = task.data
        return target if GAP in task.prompt else f"{target} {after}"

    def verify(self, task: Task, answer: str) -> Verdict:
        if not split_words(answer):
            return rejected("The answer has no words.")
        least = min(int(self._params["words"]), len(split_words(task.data[1])))
        text = self.continuation(task)
        if continues(answer, text, least):
            return CORRECT
        if self.equivalence == "similar" and likeness(answer, text, least) >= self.alike:
            return CORRECT
        return Verdict(0.0, False, feedback="The text goes on in another way.")

    def solver_cost(self, episode: Task) -> float:
        """Return the number of words that must be right, more where nothing follows and where less is shown."""
        params = self._params
        return params["words"] + (params["gap"] == "next") + 1 / params["before"]


register("palaestra/NextSegment-v0", f"{__name__}:NextSegment")
