"""Process rewards of thoughts, as heavy as the group is able (TP-GRPO, thought-level)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ...checks import check_number
from ...errors import InputError
from ..episode import Episode
from ..reward import StepReward, register
from ..steps import ability_scale, thought_rewards
from ..verdict import Verdict
from .step_scores import per_turn

Labeller = Callable[[Episode], "Sequence[bool] | None"]


@register("thoughts")
class ThoughtReward(StepReward):
    """In a correct solution wrong thoughts lose ``weight`` times the group's share of successes; in a wrong one,
    thoughts that do not lead to its answer are spared the blame. Consecutive steps of one label are one thought.

    Added to the standardised outcome and summed from each step on, this gives the advantages of
    `palaestra.rewards.steps.thought_rewards`. Groups matter: judged alone, an episode is its own group.

    Args:
        weight: alpha of the paper, 0 or more.
        labeller: from an episode to one label a step: in a correct solution whether the step is correct, in a wrong
            one whether it leads to the wrong answer; None where it cannot tell. By default the extra "step_labels".
    """

    paper = "TP-GRPO (thought-level), arXiv 2507.23317"
    needs = frozenset({"step_labels"})

    def __init__(self, weight: float = 1.0, labeller: Labeller | None = None):
        self.weight = check_number("weight", weight, low=0.0)
        self.labeller = labeller
        self.needs = frozenset() if labeller else frozenset({"step_labels"})

    def values(self, episode: Episode) -> list[float] | None:
        return self.group_values([episode])[0]

    def group_values(self, episodes: Sequence[Episode]) -> list[list[float] | None]:
        """What each step of each of the valid episodes of one task is paid."""
        if not episodes:
            return []
        success = np.array([float(episode.success) for episode in episodes])
        spread = success.std()
        outcomes = (success - success.mean()) / spread if spread > 0 else np.zeros(len(success))
        scale = ability_scale(success.tolist(), self.weight)
        return [self._paid(episode, float(outcome), scale) for episode, outcome in zip(episodes, outcomes, strict=True)]

    def _paid(self, episode: Episode, outcome: float, scale: float) -> list[float] | None:
        labels = self.labeller(episode) if self.labeller else episode.extra("step_labels")
        if labels is None:
            return None
        if any(label not in (False, True) for label in labels):
            raise InputError(f"step labels must be true or false, not {list(labels)[:8]!r}.")
        return per_turn(thought_rewards(labels, episode.success, outcome, scale), episode, "step labels")

    def group(self, episodes: Sequence[Episode]) -> list[Verdict]:
        values = iter(self.group_values([episode for episode in episodes if episode.valid]))
        paid = [next(values) if episode.valid else None for episode in episodes]
        return [
            self.verdict(episode, None if row is None else float(sum(row)))
            for episode, row in zip(episodes, paid, strict=True)
        ]
