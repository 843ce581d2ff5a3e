"""Agreement of a subgoal annotator with the truth, transition by transition (CALM, arXiv 2409.12798, section 4).

The truth is ``episode.extra("achieved")``, supplied by the environment. Play a scripted solver or random actions, keep
the episodes, and ask:

    names = {"key": "the key is picked up", "door": "the door is unlocked"}
    print(credit_annotator_eval(SubgoalJudge("endpoint"), episodes, names))
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ...errors import InputError
from ..episode import Episode


@dataclass(frozen=True, slots=True)
class CreditAnnotatorEval:
    """Confusion counts over all pairs of transition and subgoal, "achieved" being the positive label. Prints as one
    line.

    Attributes:
        both: pairs that annotator and truth label as achieved.
        annotator_only: pairs that only the annotator labels (false positives).
        truth_only: pairs that only the truth labels (false negatives).
        neither: pairs that neither labels.
        unknown: pairs that the annotator could not judge; they are in none of the other counts.
    """

    both: int
    annotator_only: int
    truth_only: int
    neither: int
    unknown: int = 0

    @property
    def precision(self) -> float:
        """Share of the annotator's labels that are right; 0 if it gives none."""
        return self.both / max(self.both + self.annotator_only, 1)

    @property
    def recall(self) -> float:
        """Share of the true labels that the annotator finds; 0 if there are none."""
        return self.both / max(self.both + self.truth_only, 1)

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall; 0 if either is 0."""
        return 2 * self.both / max(2 * self.both + self.annotator_only + self.truth_only, 1)

    @property
    def accuracy(self) -> float:
        """Share of the judged pairs with the right label."""
        judged = self.both + self.annotator_only + self.truth_only + self.neither
        return (self.both + self.neither) / max(judged, 1)

    def __str__(self) -> str:
        judged = self.both + self.annotator_only + self.truth_only + self.neither
        unknown = f", {self.unknown} not judged" if self.unknown else ""
        return (
            f"precision {self.precision:.3f}, recall {self.recall:.3f}, F1 {self.f1:.3f}, accuracy {self.accuracy:.3f} "
            f"over {judged} transitions{unknown}"
        )


def credit_annotator_eval(
    annotator: Callable[[str, Episode, int], bool | None],
    episodes: Sequence[Episode],
    subgoals: Sequence[str] | Mapping[str, str],
) -> CreditAnnotatorEval:
    """Ask an annotator about every subgoal at every step of episodes whose achieved subgoals are known.

    Unlike the reward "subgoals", this function asks again about subgoals already achieved, because it measures the
    labels of single transitions.

    Args:
        annotator: called with a subgoal, an episode and the index of a step, such as
            `palaestra.rewards.judges.SubgoalJudge`; it returns True, False, or None if it cannot tell.
        episodes: episodes with ``extras["achieved"]``: for each step the names of the subgoals achieved.
        subgoals: names as in ``extras["achieved"]``; or a mapping from these names to descriptions for the annotator.

    Raises:
        InputError: no subgoal, or an episode without an entry of "achieved" for each step.
    """
    words = dict(subgoals) if isinstance(subgoals, Mapping) else {name: name for name in subgoals}
    if isinstance(subgoals, str) or not words:
        raise InputError(f"subgoals must be names, or names with words for the annotator, not {subgoals!r}.")
    counts = {(True, True): 0, (True, False): 0, (False, True): 0, (False, False): 0}
    unknown = 0
    for episode in episodes:
        truth = episode.extra("achieved")
        if truth is None or len(truth) != len(episode.steps) or None in truth:
            raise InputError(f"an episode of {len(episode.steps)} steps needs as many lists 'achieved', not {truth!r}.")
        for t, achieved in enumerate(truth):
            for name, asked in words.items():
                label = annotator(asked, episode, t)
                if label is None:
                    unknown += 1
                else:
                    counts[bool(label), name in achieved] += 1
    return CreditAnnotatorEval(
        counts[True, True], counts[True, False], counts[False, True], counts[False, False], unknown
    )
