"""Judges, which score text that no verifier can decide, and the rewards based on their scores."""

from __future__ import annotations

from .endpoint import EndpointJudge
from .ensemble import Aspects, Votes, geometric_mean
from .judge import JUDGES, Judge, Judgement, as_judge, make
from .judge_rewards import JudgeReward, PairwiseReward, RubricReward
from .rubric import HACKING_DEFENCE, Aggregation, Criterion
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
    "Judge",
    "JudgeReward",
    "Judgement",
    "PairwiseReward",
    "RubricReward",
    "RuleJudge",
    "SubgoalJudge",
    "TournamentReward",
    "Votes",
    "as_judge",
    "geometric_mean",
    "make",
]
