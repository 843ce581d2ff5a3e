"""Judges, which score text that no verifier can decide, and the rewards based on their scores."""

from __future__ import annotations

from .endpoint import EndpointJudge
from .ensemble import Aspects, Votes, geometric_mean
from .exemplar import ExemplarComparison
from .judge import JUDGES, Judge, Judgement, as_judge, make
from .judge_rewards import JudgeReward, PairwiseReward, RubricReward
from .rubric import HACKING_DEFENCE, Aggregation, Criterion
from .rubric_books import RubricBook
from .rules import RuleJudge
from .subgoals import SubgoalJudge
from .tournament import TOPOLOGIES, TournamentReward

__all__ = [
    "HACKING_DEFENCE",
    "JUDGES",
    "TOPOLOGIES",
    "Aggregation",
    "Aspects",
    "Criterion",
    "EndpointJudge",
    "ExemplarComparison",
    "Judge",
    "JudgeReward",
    "Judgement",
    "PairwiseReward",
    "RubricBook",
    "RubricReward",
    "RuleJudge",
    "SubgoalJudge",
    "TournamentReward",
    "Votes",
    "as_judge",
    "geometric_mean",
    "make",
]
