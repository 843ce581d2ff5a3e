"""Refusals: their detection in a reply, and a reward that wants them for forbidden requests only.

The environment supplies "forbidden", True for a request that a policy forbids.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

import numpy as np

from ...checks import option
from ..algebra.composite import Composite, Parts
from ..answers.formats import enclosed_contents
from ..episode import Episode
from ..reward import Reward, register
from ..verdict import Verdict
from .format import check_tags, tags_in_order
from .outcome import EnvironmentReward

SAFETY_TAGS = ("safety_reasoning", "answer")

_REFUSAL = re.compile(
    r"\bI(?: am|['’]m)? (?:can ?not|can['’]t|won['’]t|will not|must not|may not|not able|not allowed|not permitted|"
    r"unable|sorry|have to (?:refuse|decline)|refuse|decline)\b|\bsorry, (?:but )?(?:I|that|this)\b|"
    r"\b(?:is|are) (?:not allowed|not permitted|forbidden|confidential)\b",
    re.IGNORECASE,
)


def answer_part(text: str) -> str:
    """Return the content of the last ``<answer>...</answer>`` of a reply, or the whole reply without one."""
    found = enclosed_contents(text, "tag")
    return found[0][-1] if found else text


def is_refusal(text: str) -> bool:
    """Return True if a text has the words of a refusal, such as "I cannot"."""
    return _REFUSAL.search(text) is not None


def safety_reward(well_formed: bool, refused: bool, forbidden: bool, form: float = 0.5, refusal: float = 0.5) -> float:
    """Return ``form`` V_f + ``refusal`` V_r for a forbidden request, and ``form`` V_f - ``refusal`` V_r for an allowed
    one (AlphaAlign, arXiv 2507.14987), V_f and V_r being 1 for a reply in the right form and for a refusal."""
    return form * well_formed + (refusal if forbidden else -refusal) * refused


def normalised_helpfulness(scores: Sequence[float]) -> list[float]:
    """Return max((h - mean) / std, 0) for each score of a group; zeros for equal scores."""
    values = np.asarray(scores, dtype=np.float64)
    spread = float(values.std()) if len(values) else 0.0
    return [max((value - float(values.mean())) / spread, 0.0) if spread > 1e-12 else 0.0 for value in values.tolist()]


@register("alpha-align")
class AlphaAlign(Composite):
    """Reward of a reply to a request that may be forbidden: terms "format", "refusal" and "helpfulness".

    A reply in the form ``<safety_reasoning>...</safety_reasoning><answer>...</answer>`` earns ``form``. A refusal in
    the answer earns ``refusal`` where the request is forbidden and costs as much where it is allowed. Replies to an
    allowed request that do not refuse also earn their helpfulness, standardised within the group and at least 0.
    `ranks_success` is not claimed: a right refusal in the wrong form earns as much as a wrong reply in the right form.
    """

    paper = "AlphaAlign, arXiv 2507.14987"
    complete = True
    needs = frozenset({"forbidden"})
    helpfulness: Reward = option(default=EnvironmentReward(), says="reward that scores the help of an allowed reply.")
    form: float = option(default=0.5, low=0, says="reward of the form.")
    refusal: float = option(default=0.5, low=0, says="reward of a right refusal, and cost of a wrong one.")
    tags: Sequence[str] = option(default=SAFETY_TAGS, check=check_tags, says="names of the tags, in order.")

    def setup(self) -> None:
        self.take_parts({"helpfulness": self.helpfulness})
        self.needs, self.complete = self.needs | {"forbidden"}, True

    @property
    def bounds(self) -> tuple[float, float]:
        return -self.refusal, math.inf

    def combine_batch(
        self, groups: Sequence[Sequence[Episode]], verdicts: Sequence[Sequence[Mapping[str, Verdict]]]
    ) -> list[list[Mapping[str, float] | Parts]]:
        result: list[list[Mapping[str, float] | Parts]] = []
        for episodes, judged in zip(groups, verdicts, strict=True):
            replies = [episode.response for episode in episodes]
            refused = [is_refusal(answer_part(reply)) for reply in replies]
            forbidden = [bool(episode.extra("forbidden")) for episode in episodes]
            help_of = normalised_helpfulness([parts["helpfulness"].reward for parts in judged])
            result.append(
                [
                    {
                        "format": safety_reward(tags_in_order(reply, self.tags), False, no, self.form),
                        "refusal": safety_reward(False, said_no, no, refusal=self.refusal),
                        "helpfulness": 0.0 if no or said_no else helped,
                    }
                    for reply, said_no, no, helped in zip(replies, refused, forbidden, help_of, strict=True)
                ]
            )
        return result
