"""Agreement of an annotator of subgoals with the truth, transition by transition (CALM, arXiv 2409.12798, section 4).

The truth is the extra "achieved" that the environment supplies. Play a scripted solver or random actions, keep the
episodes, and ask:

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
    """Counts of the transitions at which annotator and truth say that a subgoal was achieved. Prints as one line.

    Attributes:
        both: transitions and subgoals that both label.
        annotator_only: labelled by the annotator alone (false positives).
        truth_only: labelled by the truth alone (false negatives).
        neither: labelled by neither.
        unknown: that the annotator could not judge; they count nowhere else.
    """

    both: int
    annotator_only: int
    truth_only: int
    neither: int
    unknown: int = 0

    @property
    def precision(self) -> float:
        """Share of the annotator's labels that are right; 0 without any."""
        return self.both / max(self.both + self.annotator_only, 1)

    @property
    def recall(self) -> float:
        """Share of the true labels that the annotator finds; 0 without any."""
        return self.both / max(self.both + self.truth_only, 1)

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall; 0 where either is."""
        return 2 * self.both / max(2 * self.both + self.annotator_only + self.truth_only, 1)

    @property
    def accuracy(self) -> float:
        """Share of the judged transitions with the right label."""
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

    Unlike the reward "subgoals", this asks again about subgoals already achieved, because it measures the labels of
    single transitions.

    Args:
        annotator: called with a subgoal, an episode and the index of a step, such as
            `palaestra.rewards.judges.SubgoalJudge`; it returns None if it cannot tell.
        episodes: with the extra "achieved".
        subgoals: names as in that extra; or for each name the words for the annotator.

    Raises:
        InputError: no subgoal, an episode without the extra, or one without an entry for each step.
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
