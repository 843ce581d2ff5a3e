"""Rewards of the roles of one policy in self-play: solver, critic and scorer; proposer, solver and judge.

Inputs are the marks and scores that the scorer or judge gave. The scorer or judge decides, so a failed episode can
outrank a success.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from ...checks import option
from ..episode import Episode
from ..reward import Reward, register
from .format import check_tag
from .scores import Scorer, ScoreSource, read_scores

MARKS = (1, 2, 3)


def solution_reward(mark: int) -> float:
    """Return (mark - 1) / 2 for marks 1 to 3; 1 if the solution withstands its critique (CoMAS, arXiv 2510.08529)."""
    return (mark - 1) / 2.0


def critique_reward(mark: int) -> float:
    """Return (3 - mark) / 2 for marks 1 to 3: 1 minus the solution's reward (CoMAS, arXiv 2510.08529)."""
    return (3 - mark) / 2.0


def scorer_reward(mark: int | None) -> float:
    """Return 0 for a readable mark, whatever its value, and -1 for None (CoMAS, arXiv 2510.08529)."""
    return 0.0 if mark is not None else -1.0


def read_mark(mark: Any) -> int | None:
    """Return ``mark`` if it is 1, 2 or 3, and None otherwise."""
    return int(mark) if not isinstance(mark, (bool, str)) and mark in MARKS else None


@register("comas")
class CoMAS(Reward):
    """Reward of a solution, its critique or the scoring of both, by the scorer's mark.

    ``episode.extra("mark")`` is 1, 2 or 3; any other value is unreadable, which makes the verdict of a solution or a
    critique invalid. Marks that are always 3 are a sign of hacking: critics then get 0 and solvers 1.
    """

    paper = "CoMAS, arXiv 2510.08529"
    needs = frozenset({"mark"})
    role: Literal["solution", "critique", "scorer"] = option(default="solution", says="role of the judged episodes.")

    @property
    def bounds(self) -> tuple[float, float]:
        return (-1.0, 0.0) if self.role == "scorer" else (0.0, 1.0)

    def value(self, episode: Episode) -> float | None:
        mark = read_mark(episode.extra("mark"))
        if self.role == "scorer":
            return scorer_reward(mark)
        if mark is None:
            return None
        return solution_reward(mark) if self.role == "solution" else critique_reward(mark)


def pair_count_score(text: str, tag: str) -> float:
    """Return 1 for exactly one ``<tag>`` and one ``</tag>``, 0.5 for several but equally many of both, 0 otherwise."""
    opened, closed = text.count(f"<{tag}>"), text.count(f"</{tag}>")
    if opened != closed or not opened:
        return 0.0
    return 1.0 if opened == 1 else 0.5


def proposer_reward(quality: float, solver_scores: Sequence[float], form: float, threshold: float = 0.7) -> float:
    """Return (quality + difficulty + form) / 3 (Multi-Agent Evolve, arXiv 2510.23595).

    The difficulty is 1 - mean(solver_scores), and 0 if the quality is below ``threshold``.

    Args:
        quality: the judge's score of the question, in [0, 1].
        solver_scores: the judge's scores of answers to the question, each in [0, 1]; without any, difficulty is 0.
        form: see `pair_count_score`; 0 means that no question could be read, and the reward is 0.
        threshold: quality from which a question enters the pool, and from which difficulty counts.
    """
    if form == 0.0:
        return 0.0
    has_difficulty = quality >= threshold and len(solver_scores) > 0
    difficulty = 1.0 - sum(solver_scores) / len(solver_scores) if has_difficulty else 0.0
    return (quality + difficulty + form) / 3.0


def solver_reward(score: float, form: float) -> float:
    """Return the mean of the judge's score of the answer, in [0, 1], and the form (see `pair_count_score`)."""
    return 0.5 * score + 0.5 * form


_TAGS = {"proposer": "question", "solver": "answer", "judge": "score"}
"""Role -> default tag around its text."""


@register("multi-agent-evolve")
class MultiAgentEvolve(Reward):
    """Reward of a proposer, solver or judge, in [0, 1], by the judge's scores and the form of the response. A
    proposer's episode needs ``episode.extra("solver_scores")``, the judge's scores of answers to the question, each in
    [0, 1]."""

    paper = "Multi-Agent Evolve, arXiv 2510.23595 (rewards of the roles)"
    needs = frozenset({"judge_score"})
    bounds = (0.0, 1.0)
    role: str = option(default="solver", choices=_TAGS, says="role of the episodes; a judge gets its form alone.")
    scorer: Scorer | None = option(default=None, says="the judge's score in [0, 1]; None reads ``episode.extra(key)``.")
    key: str = option(default="judge_score", says="name of the extra to read.")
    tag: str = option(default=None, check=check_tag, says='None: "question", "answer" or "score" by role.')
    threshold: float = option(default=0.7, low=0, high=1, says="quality from which a question's difficulty counts.")

    def setup(self) -> None:
        self.score = ScoreSource(self.scorer, self.key, 0.0, 1.0)
        self.tag = self.tag or _TAGS[self.role]
        self.needs = self.score.needs if self.role != "judge" else frozenset()
        if self.role == "proposer":
            self.needs |= {"solver_scores"}

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
