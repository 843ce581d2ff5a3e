"""Trust-GRPO: a judge's score of the reasoning counts as far as it prefers that of right answers, and fades."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...checks import check_number
from ...errors import InputError
from ...schedules import Exponential, Schedule, schedule
from ..algebra.siblings import trust
from ..episode import Episode
from ..reward import GroupReward, register
from ..timed import Timed
from .scored import Score, Scorer

FADING = Exponential(start=0.3, scale=500.0)


def trusted_thinking(
    answers: Sequence[float], thinking: Sequence[float], weight: float, query_above: float | None = None
) -> list[float]:
    """answer + weight * trust * thinking for each response of a group.

    Args:
        answers: scores of the answers, in [0, 1]; right from 0.5 on.
        thinking: scores of the reasoning, in [0, 1].
        weight: coefficient of the thinking score at this point of training.
        query_above: as in the released code, the reasoning of an answer below this score has score 0.

    A group whose answers are all at least 0.9, or all at most 0.1, has no thinking reward.
    """
    if min(answers) >= 0.9 or max(answers) <= 0.1:
        return list(answers)
    if query_above is not None:
        thinking = [t if a >= query_above else 0.0 for a, t in zip(answers, thinking, strict=True)]
    gamma = trust(thinking, [answer >= 0.5 for answer in answers])
    return [answer + weight * gamma * t for answer, t in zip(answers, thinking, strict=True)]


@register("trusted-thinking")
class TrustedThinking(Timed, GroupReward):
    """The whole worth of an episode: its answer, plus the trusted and annealed score of its reasoning.

    Args:
        weight: coefficient of the thinking score; a number, a schedule or its data. By default 0.3 exp(-step / 500).
        scorer: the judge's score of the reasoning in [0, 1]; None reads the extra named by ``key``.
        key: name of that extra.
        answer: score of the answer in [0, 1]; None is 1 for a success and 0 for a failure. With partial credit a
            failure can outrank a success, so `ranks_success` is off.
        query_above: None adds the thinking score to every response, as the paper writes; a number leaves out those
            whose answer scores lower (0.2 in the released code).

    Raises:
        InputError: a weight outside [0, 1], with which well-argued failures could outrank successes.
    """

    paper = "SophiaVL-R1 (Trust-GRPO), arXiv 2505.17018"
    needs = frozenset({"thinking_score"})
    complete = True
    ranks_success = True

    def __init__(
        self,
        weight: Schedule | Mapping[str, Any] | float = FADING,
        scorer: Scorer | None = None,
        key: str = "thinking_score",
        answer: Scorer | None = None,
        query_above: float | None = None,
    ):
        self.weight = schedule(weight)
        low, high = self.weight.bounds
        if low < 0 or high > 1:
            raise InputError(
                f"the weight of the thinking score must stay in [0, 1], but this schedule spans {low:g} to {high:g}."
            )
        self.thinking = Score(scorer, key, 0.0, 1.0)
        self.answer = None if answer is None else Score(answer, "answer", 0.0, 1.0)
        self.query_above = None if query_above is None else check_number("query_above", query_above)
        self.needs = self.thinking.needs
        if answer is not None:
            self.ranks_success = False

    @property
    def bounds(self) -> tuple[float, float]:
        return 0.0, 1.0 + self.weight.bounds[1]

    def values(self, episodes: Sequence[Episode]) -> list[float | None]:
        answers = [self.answer(episode) if self.answer else float(episode.success) for episode in episodes]
        pairs = [(answer, self._thought(episode, answer)) for episode, answer in zip(episodes, answers, strict=True)]
        known = [(answer, thinking) for answer, thinking in pairs if answer is not None and thinking is not None]
        judged = iter(
            trusted_thinking([a for a, _ in known], [t for _, t in known], self.now(self.weight), self.query_above)
            if known
            else ()
        )
        return [None if answer is None or thinking is None else next(judged) for answer, thinking in pairs]

    def _thought(self, episode: Episode, answer: float | None) -> float | None:
        """The score of the reasoning, asked for only where it counts."""
        if answer is None or (self.query_above is not None and answer < self.query_above):
            return 0.0
        return self.thinking(episode)
