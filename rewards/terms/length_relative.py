"""Length rewards that compare an episode with others: its siblings, or the average so far.

Rewards that compare an episode with a fixed number of tokens are in `length_limits.py`. Lengths are tokens of all
actions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ...checks import option
from ...errors import InputError
from ..episode import Episode
from ..reward import BatchReward, GroupReward, register
from .format import FormatCheck, check_tags, tags_in_order


def relative_length(lengths: Sequence[int], successes: Sequence[bool]) -> list[float]:
    """Return 0.5 - (length - shortest) / (longest - shortest), at most 0 for a failure (Kimi k1.5, arXiv 2501.12599).

    All get 0 if the lengths of the group are equal.
    """
    shortest, longest = min(lengths), max(lengths)
    if shortest == longest:
        return [0.0] * len(lengths)
    rewards = [0.5 - (length - shortest) / (longest - shortest) for length in lengths]
    return [reward if success else min(0.0, reward) for reward, success in zip(rewards, successes, strict=True)]


@register("relative-length")
class RelativeLength(GroupReward):
    """Term in [-0.5, 0.5]: 0.5 for the shortest episode of the group, falling linearly to -0.5 for the longest.

    A failure gets at most 0. Alone the term can put a short failure (0) above a long success (-0.5): add it to a reward
    of success above 0.5.
    """

    paper = "Kimi k1.5, arXiv 2501.12599, Section 2.3.3 (length penalty)"
    bounds = (-0.5, 0.5)

    def values(self, episodes: Sequence[Episode]) -> list[float]:
        return relative_length([episode.tokens for episode in episodes], [episode.success for episode in episodes])


OBSERVE_TAGS = ("observe", "think", "answer")


def shortest_correct(successes: Sequence[bool], lengths: Sequence[int], above: int = 100) -> int | None:
    """Return the index of the shortest success (the first on ties); None unless it is longer than ``above`` tokens."""
    correct = [index for index, success in enumerate(successes) if success]
    shortest = min(correct, key=lambda index: lengths[index], default=None)
    return shortest if shortest is not None and lengths[shortest] > above else None


@register("shortest-correct")
class ShortestCorrect(GroupReward):
    """Reward of a whole episode: success, format, and a bonus for the shortest success of the group.

    Raises:
        InputError: ``format > correct``, which would let a failure outrank a success.
    """

    paper = "Observe-R1, arXiv 2505.12432"
    complete = True
    ranks_success = True
    correct: float = option(default=1.0, low=0, says="reward of a success.")
    format: float = option(default=0.5, low=0, says="reward of the right format, at most ``correct``.")
    bonus: float = option(default=0.2, low=0, says="added for the shortest success.")
    above: int = option(default=100, unit="tokens", says="the bonus needs a success longer than this.")
    tags: Sequence[str] = option(default=OBSERVE_TAGS, check=check_tags, says="the format: these tags, in order.")
    check: FormatCheck | None = option(default=None, says="a callable that decides on the format instead.")

    def setup(self) -> None:
        if self.format > self.correct:
            raise InputError(
                f"format={self.format!r} must be at most correct={self.correct!r}, so that no failed episode outranks "
                "a success."
            )

    @property
    def bounds(self) -> tuple[float, float]:
        return 0.0, self.correct + self.format + self.bonus

    def values(self, episodes: Sequence[Episode]) -> list[float]:
        shortest = shortest_correct(
            [episode.success for episode in episodes], [episode.tokens for episode in episodes], self.above
        )
        rewards = []
        for index, episode in enumerate(episodes):
            formatted = tags_in_order(episode.response, self.tags) if self.check is None else self.check(episode)
            rewards.append(self.correct * episode.success + self.format * formatted + self.bonus * (index == shortest))
        return rewards


@register("below-average-length")
class BelowAverageLength(BatchReward):
    """Term of 1 for an episode shorter than the average episode of all batches judged before, and 0 otherwise.

    Episodes of the first batch get 0. A group judged alone is a batch.
    """

    paper = "Dynamic Reward Weighting, arXiv 2509.11452 (conciseness)"
    bounds = (0.0, 1.0)
    counts = ("tokens", "episodes")
    tokens = 0
    episodes = 0

    def values(self, groups: Sequence[Sequence[Episode]]) -> list[list[float]]:  # type: ignore[override]
        average = self.tokens / self.episodes if self.episodes else 0.0
        self.tokens += sum(episode.tokens for group in groups for episode in group)
        self.episodes += sum(map(len, groups))
        return [[float(episode.tokens < average) for episode in group] for group in groups]


def length_aware_groups(success_ratios: Sequence[float], fraction: float) -> set[int]:
    """Return the indices of the ``ceil(fraction * groups)`` groups (at least one) of highest success ratio."""
    count = max(1, math.ceil(fraction * len(success_ratios) - 1e-9))
    return set(sorted(range(len(success_ratios)), key=lambda index: -success_ratios[index])[:count])


def length_scaled(lengths: Sequence[float], alpha: float) -> list[float]:
    """Return 1 - alpha * sigmoid((length - mean) / std) for the lengths of the successes of one group (std with ddof
    0). If all lengths are equal, all get 1 - alpha / 2."""
    values = np.asarray(lengths, dtype=float)
    spread = values.std()
    places = (values - values.mean()) / spread if spread > 0 else np.zeros_like(values)
    return (1.0 - alpha / (1.0 + np.exp(-places))).tolist()


@register("grpo-lambda")
class GRPOLambda(BatchReward):
    """1 for a success and 0 for a failure; in the groups of highest success ratio a success loses by its length.

    In these groups a success gets 1 - alpha * sigmoid(standardised length): length counts only for tasks that the
    policy already solves. A group judged alone counts as the whole batch.
    """

    paper = "Stable Reinforcement Learning for Efficient Reasoning (GRPO-λ), arXiv 2505.18086"
    complete = True
    ranks_success = True
    bounds = (0.0, 1.0)
    fraction: float = option(default=0.2, low=0, high=1, says="share of the groups in which length counts.")
    alpha: float = option(default=0.2, low=0, high=1, says="largest loss of a success by its length.")

    def values(self, groups: Sequence[Sequence[Episode]]) -> list[list[float]]:  # type: ignore[override]
        ratios = [sum(episode.success for episode in group) / len(group) for group in groups]
        chosen = length_aware_groups(ratios, self.fraction)
        values = []
        for index, group in enumerate(groups):
            scaled = iter(
                length_scaled([episode.tokens for episode in group if episode.success], self.alpha)
                if index in chosen and ratios[index] > 0
                else [1.0] * len(group)
            )
            values.append([next(scaled) if episode.success else 0.0 for episode in group])
        return values
