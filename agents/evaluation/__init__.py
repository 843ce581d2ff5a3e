"""Evaluation of agents on environments, with confidence intervals; every finished episode is saved at once.

`evaluate` plays an agent on one environment and returns a `Report`, `evaluate_all` on a suite or several environments;
`compare` compares two agents on the same tasks. Modules: episodes (the plan and one record per episode) · playing
(several environments at the same time) · episode_log (the file of finished episodes, and resuming from it) · intervals
(statistics) · matches (agents against each other) · report, suite_report, comparison and formats (results) · suites
(fixed lists of tasks).
"""

from __future__ import annotations

from .comparison import PairedComparison, compare
from .environment_spec import environment_spec
from .evaluate import EvaluationStopped, evaluate, evaluate_all, make_report
from .formats import Format, format_rows
from .intervals import Estimate, mean_interval, share_interval, wilson_interval
from .report import Bin, PassAtK, Report
from .suite_report import SuiteReport
from .suites import Suite, find_suite, suite_names

__all__ = [
    "Bin",
    "Estimate",
    "EvaluationStopped",
    "Format",
    "PairedComparison",
    "PassAtK",
    "Report",
    "Suite",
    "SuiteReport",
    "compare",
    "environment_spec",
    "evaluate",
    "evaluate_all",
    "find_suite",
    "format_rows",
    "make_report",
    "mean_interval",
    "share_interval",
    "suite_names",
    "wilson_interval",
]
