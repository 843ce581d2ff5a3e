"""Rewards of the roles that one policy plays with itself: solver, critic and scorer; proposer, solver and judge."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...checks import check_choice, check_number
from ..episode import Episode
from ..reward import Reward, register
from .format import check_tags
from .scores import Score, Scorer, read_scores

MARKS = (1, 2, 3)


def solution_reward(mark: int) -> float:
    """(mark - 1) / 2 for marks 1 to 3: a solution that withstands its critique."""
    return (mark - 1) / 2.0


def critique_reward(mark: int) -> float:
    """(3 - mark) / 2: what the solution lost. Both rewards add up to 1, always."""
    return (3 - mark) / 2.0


def scorer_reward(mark: int | None) -> float:
    """0 for a mark that can be read and -1 for one that cannot, whatever it says."""
    return 0.0 if mark is not None else -1.0


def readable_mark(mark: Any) -> int | None:
    """``mark`` if it is 1, 2 or 3."""
    return int(mark) if not isinstance(mark, (bool, str)) and mark in MARKS else None


@register("comas")
class CoMAS(Reward):
    """What an episode of debate is worth to the one who wrote it. A model marks, so nothing is promised of success.

    The extra "mark" is what the scorer gave: 1, 2 or 3; anything else could not be read, which makes a solution's and a
    critique's verdict invalid. Marks that are always 3 are a sign of hacking: critics then get 0 and solvers 1.

    Args:
        role: "solution", "critique" or "scorer".

    Raises:
        InputError: another role.
    """

    paper = "CoMAS, arXiv 2510.08529"
    needs = frozenset({"mark"})

    def __init__(self, role: str = "solution"):
        self.role = check_choice("role", role, ("solution", "critique", "scorer"))

    @property
    def bounds(self) -> tuple[float, float]:
        return (-1.0, 0.0) if self.role == "scorer" else (0.0, 1.0)

    def value(self, episode: Episode) -> float | None:
        mark = readable_mark(episode.extra("mark"))
        if self.role == "scorer":
            return scorer_reward(mark)
        if mark is None:
            return None
        return solution_reward(mark) if self.role == "solution" else critique_reward(mark)


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
        self.tag = check_tags([tags[role] if tag is None else tag])[0]
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
        others = read_scores(episode.extra("solver_scores"), "solver_scores", 0.0, 1.0)
        return None if others is None else proposer_reward(score, others, form, self.threshold)
