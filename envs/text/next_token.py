"""palaestra/NextToken-v0: the next word of a text, by how much the word before it leaves open."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import InputError
from ...rewards import Verdict
from ...rewards.verifiers.registry import CORRECT, rejected
from ..axes import ChoiceAxis, IntAxis
from ..param_space import ParamSpace
from ..question import Task
from ..registration import register
from .text_corpus import TIERS, split_words
from .text_question import TextQuestion


class NextToken(TextQuestion):
    """Say the next word of a text.

    Description:
        The text is a passage of ``source``, or of a made-up encyclopaedia, up to a word of four letters or more. Words
        are divided into thirds by the entropy of the word after the one before them, by counts of pairs of words in the
        corpus: one that nearly always follows is easy, one that many others could replace is hard.

    Parameters:
        tier ("low", "middle", "high"): third of the words, by entropy.
        before (60 to 20, harder downwards, on request 5 to 1000): most words shown before it.

    Observation:
        The question, and the text up to the word.

    Actions:
        Text with one word, read in ``answer_format``.

    Reward:
        1 for the word, without case and punctuation; 0 otherwise.

    Termination:
        After the first answer.

    Source:
        Reinforcement mid-training, RMT (arXiv 2509.24375), which takes the entropies from the model in training; here
        they are those of an n-gram model, so that a task is the same for all. Its mixture of tiers is --teacher tiers.

    Args:
        **kwargs: ``source`` and ``thoughts_only``, see `TextQuestion`.
    """

    param_space = ParamSpace([ChoiceAxis("tier", TIERS), IntAxis("before", 20, 60, harder="down", limits=(5, 1000))])

    def generate(self, rng: np.random.Generator, params: dict[str, Any]) -> Task:
        corpus = self.draw_corpus(rng)
        places = corpus.tiers[params["tier"]]
        if not places:
            raise InputError(f"the source {self.source!r} has too few words of four letters; give a longer text.")
        place = places[int(rng.integers(len(places)))]
        passage = corpus.passages[place.passage]
        whole = " ".join(passage)
        before = " ".join(whole[: place.start].split()[-params["before"] :])
        text = (before, whole[place.start : place.end], whole[place.end :].strip())
        return self.pose(text, before, "Which word comes next in this text? Answer with that word alone.", passage)

    def verify(self, task: Task, answer: str) -> Verdict:
        words = split_words(answer)
        if len(words) != 1:
            return rejected(f"The answer has {len(words)} words instead of one.")
        return (
            CORRECT if words == split_words(task.reference) else Verdict(0.0, False, feedback="Another word follows.")
        )

    def solver_cost(self, episode: Task) -> float:
        """Return the number of the tier, and a share that falls with the words shown."""
        return TIERS.index(self._params["tier"]) + 1 / self._params["before"]


register("palaestra/NextToken-v0", f"{__name__}:NextToken")
