"""Audits of graders, rewards and episodes: attacks on graders, signals of bad episodes, measures of ranking, agreement
of annotators with the truth, distances between rewards, and a ladder of tasks on which a policy can game the reward."""

from __future__ import annotations

from . import sheet
from .annotators import CreditAnnotatorEval, credit_annotator_eval
from .attack import METAMORPHIC, AuditReport, Finding, attack
from .exploits import FAMILIES, Canary, Case
from .ladder import RUNGS, LadderReport, RungReport, ladder
from .mdp import (
    TabularMDP,
    action_values,
    gridworld,
    optimal_policy,
    policy_values,
    potential_shaping,
)
from .metamorphic import FuzzResult, LabelledPair, fuzz, measure_fuzz, rewritings
from .overoptimisation import (
    CurvePoint,
    OneVersusMany,
    TiesScore,
    best_of_four,
    best_of_n_curve,
    best_of_n_kl,
    one_versus_many,
    ties_score,
)
from .planted import PlantedReport, measure_scanner
from .signals import SIGNALS, Scanned, scan_rows
from .starc import canonical, starc_distance
from .traces import Signal

Pair, Rung = LabelledPair, RungReport  # the earlier names

__all__ = [
    "FAMILIES",
    "METAMORPHIC",
    "RUNGS",
    "SIGNALS",
    "AuditReport",
    "Canary",
    "Case",
    "CreditAnnotatorEval",
    "CurvePoint",
    "Finding",
    "FuzzResult",
    "LabelledPair",
    "LadderReport",
    "OneVersusMany",
    "PlantedReport",
    "RungReport",
    "Scanned",
    "Signal",
    "TabularMDP",
    "TiesScore",
    "action_values",
    "attack",
    "best_of_four",
    "best_of_n_curve",
    "best_of_n_kl",
    "canonical",
    "credit_annotator_eval",
    "fuzz",
    "gridworld",
    "ladder",
    "measure_fuzz",
    "measure_scanner",
    "one_versus_many",
    "optimal_policy",
    "policy_values",
    "potential_shaping",
    "rewritings",
    "scan_rows",
    "sheet",
    "starc_distance",
    "ties_score",
]
