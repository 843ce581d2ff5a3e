"""Multi-Agent Evolve: what one policy earns as proposer, solver and judge."""

from __future__ import annotations

from collections.abc import Sequence

from ...checks import check_choice, check_number
from ..episode import Episode
from ..reward import Reward, register
from .format import checked_tags
from .scored import Score, Scorer, scores_in


def pair_count_score(text: str, tag: str) -> float:
    """1 for exactly one ``<tag>`` and one ``</tag>``, 0.5 for more, as many of each, 0 otherwise."""
    opened, closed = text.count(f"<{tag}>"), text.count(f"</{tag}>")
    if opened != closed or not opened:
        return 0.0
    return 1.0 if opened == 1 else 0.5


def proposer_reward(quality: float, solver_scores: Sequence[float], form: float, threshold: float = 0.7) -> float:
    """(quality + difficulty + form) / 3, with difficulty 1 - mean(solver_scores), or 0 where quality is too low.

    Args:
        quality: the judge's score of the question, in [0, 1].
        solver_scores: the judge's scores of answers to it, each in [0, 1]; without any, difficulty is 0.
        form: see `pair_count_score`; 0 means that no question could be read, and pays nothing.
        threshold: quality from which a question enters the pool, and from which difficulty counts.
    """
    if form == 0.0:
        return 0.0
    counts = quality >= threshold and len(solver_scores) > 0
    difficulty = 1.0 - sum(solver_scores) / len(solver_scores) if counts else 0.0
    return (quality + difficulty + form) / 3.0


def enters_pool(quality: float, form: float, threshold: float = 0.7) -> bool:
    """Whether a proposed question is kept: readable, and good enough in the judge's eyes."""
    return form > 0.0 and quality >= threshold


def solver_reward(score: float, form: float) -> float:
    """Half the judge's score of the answer in [0, 1], half the form."""
    return 0.5 * score + 0.5 * form


@register("multi-agent-evolve")
class MultiAgentEvolve(Reward):
    """What an episode is worth to the one who wrote it, in [0, 1]. A judge decides, so nothing is promised of success.

    Extras: a proposer's episode has "solver_scores" (judge's scores of answers to the question, each in [0, 1]).

    Args:
        role: "proposer", "solver" or "judge"; a judge earns by form alone, whatever it says.
        scorer: the judge's score in [0, 1] of the question (proposer) or the answer (solver).
        key: name of the extra that holds it, without a scorer.
        tag: tag that holds what the role writes; None takes "question", "answer" or "score".
        threshold: quality from which a question enters the pool.

    Raises:
        InputError: unknown role, or an argument out of its range.
    """

    paper = "Multi-Agent Evolve, arXiv 2510.23595 (rewards of the roles)"
    needs = frozenset({"judge_score"})

    def __init__(
        self,
        role: str = "solver",
        scorer: Scorer | None = None,
        key: str = "judge_score",
        tag: str | None = None,
        threshold: float = 0.7,
    ):
        tags = {"proposer": "question", "solver": "answer", "judge": "score"}
        self.role = check_choice("role", role, tags)
        self.score = Score(scorer, key, 0.0, 1.0)
        self.tag = checked_tags([tags[role] if tag is None else tag])[0]
        self.threshold = check_number("threshold", threshold, low=0.0, high=1.0)
        self.needs = self.score.needs if role != "judge" else frozenset()
        if role == "proposer":
            self.needs |= {"solver_scores"}

    @property
    def bounds(self) -> tuple[float, float]:
        return 0.0, 1.0

    def value(self, episode: Episode) -> float | None:
        form = pair_count_score(episode.response, self.tag)
        if self.role == "judge":
            return form
        score = self.score(episode)
        if score is None:
            return None
        if self.role == "solver":
            return solver_reward(score, form)
        others = scores_in(episode.extra("solver_scores"), "solver_scores", 0.0, 1.0)
        return None if others is None else proposer_reward(score, others, form, self.threshold)
