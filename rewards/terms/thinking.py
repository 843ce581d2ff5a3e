"""Rewards that add a judge's score of the reasoning to the outcome, guarded against optimising that score alone.

The score counts only for right answers, only as far as it agrees with them, or less and less during training.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...checks import check_number
from ...errors import InputError
from ...schedules import Exponential, Linear, Schedule, schedule
from ..algebra.siblings import trust_weight
from ..episode import Episode
from ..reward import GroupReward, Reward, register
from ..timed import Timed
from .format import FormatCheck, r1_format
from .outcome import best_f1
from .scores import Score, Scorer, read_scores


def posterior_reward(well_formed: bool, verified: bool, process: float) -> float:
    """format + outcome + outcome * process, for format and outcome in {0, 1} and process in [0, 1] (Posterior-GRPO)."""
    return float(well_formed) + float(verified) + float(verified) * process


@register("posterior")
class Posterior(Reward):
    """Reward of a whole episode: format, outcome, and for a success the score of its reasoning.

    In a group of successes it still ranks better reasoning higher. The scorer is not called for a failure.

    Args:
        scorer: the process score in [0, 1]; None reads the extra named by ``key``.
        key: name of that extra.
        check: the format; by default ``<think>...</think><answer>...</answer>`` and nothing else.
    """

    paper = "Posterior-GRPO, arXiv 2508.05170"
    needs = frozenset({"process_score"})
    complete = True
    ranks_success = True

    def __init__(self, scorer: Scorer | None = None, key: str = "process_score", check: FormatCheck = r1_format):
        self.score = Score(scorer, key, 0.0, 1.0)
        self.needs = self.score.needs
        self.check = check

    @property
    def bounds(self) -> tuple[float, float]:
        return 0.0, 3.0

    def value(self, episode: Episode) -> float | None:
        process = self.score(episode) if episode.success else 0.0
        return None if process is None else posterior_reward(self.check(episode), episode.success, process)


def consistency_reward(
    well_formed: bool, correct: bool, consistency: float, form: float = 0.5, weight: float = 0.5
) -> float:
    """form * well_formed + correct * (1 + weight * consistency), with consistency in [-1, 1] (R1-Reward)."""
    return form * well_formed + correct * (1.0 + weight * consistency)


@register("consistency")
class Consistency(Reward):
    """Reward of a whole episode: format, success, and for a success the consistency of reasoning and answer.

    Args:
        scorer: the judge's score: 1 (consistent), 0 (unclear) or -1 (contradictory); None reads the extra named by
            ``key``.
        key: name of that extra.
        form: reward of the format, at least 0.
        weight: of the consistency, in [0, 1 - form].
        check: the format; by default ``<think>...</think><answer>...</answer>`` and nothing else.

    Raises:
        InputError: ``form + weight > 1``: a well-formed failure could outrank an inconsistent success.
    """

    paper = "R1-Reward (StableReinforce), arXiv 2505.02835 (consistency reward)"
    needs = frozenset({"consistency"})
    complete = True
    ranks_success = True

    def __init__(
        self,
        scorer: Scorer | None = None,
        key: str = "consistency",
        form: float = 0.5,
        weight: float = 0.5,
        check: FormatCheck = r1_format,
    ):
        self.score = Score(scorer, key, -1.0, 1.0)
        self.needs = self.score.needs
        self.form = check_number("form", form, low=0.0)
        self.weight = check_number("weight", weight, low=0.0)
        self.check = check
        if 1.0 - self.weight < self.form:
            raise InputError(
                f"form={form!r} and weight={weight!r} must not add up to more than 1, so that no failed episode "
                "outranks a success."
            )

    @property
    def bounds(self) -> tuple[float, float]:
        return 0.0, 1.0 + self.form + self.weight

    def value(self, episode: Episode) -> float | None:
        score = self.score(episode)
        if score is None:
            return None
        return consistency_reward(self.check(episode), episode.success, score, self.form, self.weight)


FADING = Exponential(start=0.3, scale=500.0)


def trusted_thinking(
    answers: Sequence[float], thinking: Sequence[float], weight: float, query_above: float | None = None
) -> list[float]:
    """answer + weight * trust * thinking for each response of a group (Trust-GRPO, arXiv 2505.17018).

    Args:
        answers: scores of the answers, in [0, 1]; right from 0.5 on.
        thinking: scores of the reasoning, in [0, 1].
        weight: coefficient of the thinking score at this point of training.
        query_above: None, or the least score of an answer whose thinking score counts (as in the released code).

    A group whose answers are all at least 0.9, or all at most 0.1, has no thinking reward.
    """
    if min(answers) >= 0.9 or max(answers) <= 0.1:
        return list(answers)
    if query_above is not None:
        thinking = [t if a >= query_above else 0.0 for a, t in zip(answers, thinking, strict=True)]
    gamma = trust_weight(thinking, [answer >= 0.5 for answer in answers])
    return [answer + weight * gamma * t for answer, t in zip(answers, thinking, strict=True)]


@register("trusted-thinking")
class TrustedThinking(Timed, GroupReward):
    """Reward of a whole episode: the score of its answer, plus the trusted and annealed score of its reasoning.

    Args:
        weight: coefficient of the thinking score; a number, a schedule or its data. By default 0.3 exp(-step / 500).
        scorer: the judge's score of the reasoning in [0, 1]; None reads the extra named by ``key``.
        key: name of that extra.
        answer: score of the answer in [0, 1]; None is 1 for a success and 0 for a failure. With partial credit a
            failure can outrank a success, so `ranks_success` is off.
        query_above: None adds the thinking score to every response, as in the paper; with a number, responses whose
            answer scores lower are left out (0.2 in the released code).

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
        pairs = [
            (answer, self._score_thinking(episode, answer)) for episode, answer in zip(episodes, answers, strict=True)
        ]
        known = [(answer, thinking) for answer, thinking in pairs if answer is not None and thinking is not None]
        rewards = iter(
            trusted_thinking([a for a, _ in known], [t for _, t in known], self.now(self.weight), self.query_above)
            if known
            else ()
        )
        return [None if answer is None or thinking is None else next(rewards) for answer, thinking in pairs]

    def _score_thinking(self, episode: Episode, answer: float | None) -> float | None:
        """Score the reasoning; the scorer is called only where the score counts."""
        if answer is None or (self.query_above is not None and answer < self.query_above):
            return 0.0
        return self.thinking(episode)


ANNEALED = Linear(start=0.5, end=0.0)


def annealed_process(atoms: Sequence[float], outcome: float, weight: float) -> float:
    """weight * mean(atoms) + (1 - weight) * outcome (Atom-Searcher, arXiv 2508.12800); the mean of no atoms is 0."""
    return weight * (sum(atoms) / len(atoms) if atoms else 0.0) + (1.0 - weight) * outcome


@register("annealed-process")
class AnnealedProcess(Timed):
    """Reward of a whole episode: scores of its units of thought (atoms) at first, its answer alone at the end.

    `ranks_success` is not claimed: a success in the wrong format gets the penalty, and F1 need not agree with success.

    Args:
        weight: of the atoms, in [0, 1]; a number, a schedule or its data. By default it falls from 0.5 to 0 at the end
            of training.
        atoms: scores of the atoms in [0, 1], a callable of the episode; None reads the extra "atom_scores".
        outcome: score of the answer in [0, 1]; None is its F1 with the extra "reference".
        penalty: reward of an episode in the wrong format, at most 0.
        check: the format; by default ``<think>...</think><answer>...</answer>`` and nothing else.

    Raises:
        InputError: an argument out of its range.
    """

    paper = "Atom-Searcher, arXiv 2508.12800"
    needs = frozenset({"atom_scores", "reference"})
    complete = True

    def __init__(
        self,
        weight: Schedule | Mapping[str, Any] | float = ANNEALED,
        atoms: Callable[[Episode], Sequence[float] | None] | None = None,
        outcome: Scorer | None = None,
        penalty: float = -1.0,
        check: FormatCheck = r1_format,
    ):
        self.weight = schedule(weight)
        low, high = self.weight.bounds
        if low < 0 or high > 1:
            raise InputError(f"the weight of the atoms must stay in [0, 1], but spans {low:g} to {high:g}.")
        self.atoms = atoms
        self.outcome = None if outcome is None else Score(outcome, "outcome", 0.0, 1.0)
        self.penalty = check_number("penalty", penalty, high=0.0)
        self.check = check
        self.needs = frozenset(
            ([] if atoms is not None else ["atom_scores"]) + ([] if outcome is not None else ["reference"])
        )

    @property
    def bounds(self) -> tuple[float, float]:
        return self.penalty, 1.0

    def value(self, episode: Episode) -> float | None:
        if not self.check(episode):
            return self.penalty
        raw = episode.extra("atom_scores") if self.atoms is None else self.atoms(episode)
        atoms = read_scores(raw, "atom_scores", 0.0, 1.0)
        outcome = self.outcome(episode) if self.outcome else best_f1(episode.answer, episode.extra("reference"))
        if atoms is None or outcome is None:
            return None
        return annealed_process(atoms, outcome, self.now(self.weight))
