"""Rewards that add a judge's score of the reasoning to the outcome, guarded against optimising that score alone.

The score counts only for right answers, only as far as it agrees with the outcome, or less and less during training.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from ...checks import option
from ...errors import InputError
from ...schedules import Exponential, Linear, ScheduleLike, check_schedule, schedule
from ..algebra.siblings import trust_weight
from ..episode import Episode
from ..reward import GroupReward, Reward, register
from ..update_counter import UpdateCounter
from .format import FormatCheck, r1_format
from .outcome import best_f1
from .scores import Scorer, ScoreSource, read_scores


def posterior_reward(well_formed: bool, verified: bool, process: float) -> float:
    """Return format + outcome + outcome * process: format and outcome 0 or 1, process in [0, 1] (Posterior-GRPO)."""
    return float(well_formed) + float(verified) + float(verified) * process


@register("posterior")
class Posterior(Reward):
    """Reward of a whole episode: format, outcome, and for a success the score of its reasoning.

    Within a group of successes, better reasoning still ranks higher. The scorer is not called for a failure.
    """

    paper = "Posterior-GRPO, arXiv 2508.05170"
    needs = frozenset({"process_score"})
    complete = True
    ranks_success = True
    bounds = (0.0, 3.0)
    scorer: Scorer | None = option(default=None, says="process score in [0, 1]; None reads ``episode.extra(key)``.")
    key: str = option(default="process_score", says="name of the extra to read.")
    check: FormatCheck = option(default=r1_format, says="the format; tags for thought and answer by default.")

    def setup(self) -> None:
        self.score = ScoreSource(self.scorer, self.key, 0.0, 1.0)
        self.needs = self.score.needs

    def value(self, episode: Episode) -> float | None:
        process = self.score(episode) if episode.success else 0.0
        return None if process is None else posterior_reward(self.check(episode), episode.success, process)


def consistency_reward(
    well_formed: bool, correct: bool, consistency: float, form: float = 0.5, weight: float = 0.5
) -> float:
    """Return form * well_formed + correct * (1 + weight * consistency), with consistency in [-1, 1] (R1-Reward)."""
    return form * well_formed + correct * (1.0 + weight * consistency)


@register("consistency")
class Consistency(Reward):
    """Reward of a whole episode: format, success, and for a success the consistency of reasoning and answer.

    Raises:
        InputError: ``form + weight > 1``: a well-formed failure could outrank an inconsistent success.
    """

    paper = "R1-Reward (StableReinforce), arXiv 2505.02835 (consistency reward)"
    needs = frozenset({"consistency"})
    complete = True
    ranks_success = True
    scorer: Scorer | None = option(default=None, says="1 (consistent), 0 or -1; None reads ``episode.extra(key)``.")
    key: str = option(default="consistency", says="name of the extra to read.")
    form: float = option(default=0.5, low=0, says="reward of the format.")
    weight: float = option(default=0.5, low=0, says="weight of the consistency, in [0, 1 - form].")
    check: FormatCheck = option(default=r1_format, says="the format; tags for thought and answer by default.")

    def setup(self) -> None:
        self.score = ScoreSource(self.scorer, self.key, -1.0, 1.0)
        self.needs = self.score.needs
        if 1.0 - self.weight < self.form:
            raise InputError(
                f"form={self.form!r} and weight={self.weight!r} must not add up to more than 1, so that no failed "
                "episode outranks a success."
            )

    @property
    def bounds(self) -> tuple[float, float]:
        return 0.0, 1.0 + self.form + self.weight

    def value(self, episode: Episode) -> float | None:
        score = self.score(episode)
        if score is None:
            return None
        return consistency_reward(self.check(episode), episode.success, score, self.form, self.weight)


THINKING_WEIGHT = Exponential(start=0.3, scale=500.0)


def trusted_thinking(
    answers: Sequence[float], thinking: Sequence[float], weight: float, query_above: float | None = None
) -> list[float]:
    """Return answer + weight * trust * thinking for each response of a group (Trust-GRPO, arXiv 2505.17018).

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
class TrustedThinking(UpdateCounter, GroupReward):
    """Reward of a whole episode: the score of its answer, plus the trusted and annealed score of its reasoning.

    By default the answer's score is its success, and the weight of the thinking score is 0.3 exp(-step / 500). With
    partial credit for answers a failure can outrank a success, so `ranks_success` is off. As in the paper every
    response gets the thinking score; the released code leaves out responses whose answer scores below 0.2
    (``query_above``).
    """

    paper = "SophiaVL-R1 (Trust-GRPO), arXiv 2505.17018"
    needs = frozenset({"thinking_score"})
    complete = True
    ranks_success = True
    weight: ScheduleLike = option(
        default=THINKING_WEIGHT, check=partial(check_schedule, low=0, high=1), says="weight of the thinking score."
    )
    scorer: Scorer | None = option(default=None, says="thinking score in [0, 1]; None reads ``episode.extra(key)``.")
    key: str = option(default="thinking_score", says="name of the extra to read.")
    answer: Scorer | None = option(default=None, says="score of the answer in [0, 1]; None: 1 for a success, else 0.")
    query_above: float | None = option(default=None, says="least answer score for which the thinking score counts.")

    def setup(self) -> None:
        self.thinking = ScoreSource(self.scorer, self.key, 0.0, 1.0)
        self.answer = None if self.answer is None else ScoreSource(self.answer, "answer", 0.0, 1.0)
        self.needs = self.thinking.needs
        if self.answer is not None:
            self.ranks_success = False

    @property
    def bounds(self) -> tuple[float, float]:
        return 0.0, 1.0 + schedule(self.weight).bounds[1]

    def values(self, episodes: Sequence[Episode]) -> list[float | None]:
        answers = [self.answer(episode) if self.answer else float(episode.success) for episode in episodes]
        pairs = []
        for episode, answer in zip(episodes, answers, strict=True):
            # The scorer is called only where the score counts.
            unscored = answer is None or (self.query_above is not None and answer < self.query_above)
            pairs.append((answer, 0.0 if unscored else self.thinking(episode)))
        known = [(answer, thinking) for answer, thinking in pairs if answer is not None and thinking is not None]
        rewards = iter(
            trusted_thinking([a for a, _ in known], [t for _, t in known], self.now(self.weight), self.query_above)
            if known
            else ()
        )
        return [None if answer is None or thinking is None else next(rewards) for answer, thinking in pairs]


ANNEALED = Linear(start=0.5, end=0.0)


def annealed_process(atoms: Sequence[float], outcome: float, weight: float) -> float:
    """Return weight * mean(atoms) + (1 - weight) * outcome, with mean 0 for no atoms (Atom-Searcher,
    arXiv 2508.12800)."""
    return weight * (sum(atoms) / len(atoms) if atoms else 0.0) + (1.0 - weight) * outcome


@register("annealed-process")
class AnnealedProcess(UpdateCounter):
    """Reward of a whole episode: scores of its units of thought (atoms) at first, its answer alone at the end.

    `ranks_success` is not claimed: a success in the wrong format gets the penalty, and F1 need not agree with success.
    """

    paper = "Atom-Searcher, arXiv 2508.12800"
    needs = frozenset({"atom_scores", "reference"})
    complete = True
    weight: ScheduleLike = option(
        default=ANNEALED, check=partial(check_schedule, low=0, high=1), says="weight of the atoms; from 0.5 to 0."
    )
    atoms: Callable[[Episode], Sequence[float] | None] | None = option(
        default=None, says='scores of the atoms in [0, 1]; None reads ``episode.extra("atom_scores")``.'
    )
    outcome: Scorer | None = option(
        default=None, says='score of the answer in [0, 1]; None: F1 with ``episode.extra("reference")``.'
    )
    penalty: float = option(default=-1.0, high=0, says="reward of an episode in the wrong format.")
    check: FormatCheck = option(default=r1_format, says="the format; tags for thought and answer by default.")

    def setup(self) -> None:
        self.outcome = None if self.outcome is None else ScoreSource(self.outcome, "outcome", 0.0, 1.0)
        sources = {"atom_scores": self.atoms, "reference": self.outcome}
        self.needs = frozenset(name for name, source in sources.items() if source is None)

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
