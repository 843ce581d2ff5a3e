"""Tables of `palaestra bench models`, from runs written by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from palaestra.benchmarks.models.case_runs import CaseRun
from palaestra.benchmarks.models.case_tables import draw_curves, format_answers, format_cases, format_suite
from palaestra.benchmarks.models.cases import CASES

from palaestra.benchmarks.models.case_tables import format_teachers, rises  # isort: skip


def evaluation(step: int, success: float, half: float = 0.05) -> dict:
    interval = [success - half, success + half]
    return {"step": step, "success": success, "ci": interval, "greedy_success": success, "greedy_ci": interval}


def run(teacher: str, seed: int, successes: list[float], tokens: float) -> CaseRun:
    evaluations = [evaluation(2 * place, success) for place, success in enumerate(successes)]
    steps = range(1, 2 * len(successes) - 1)
    metrics = [{"step": step, "tokens": tokens, "zero_variance_share": 0.75} for step in steps]
    return CaseRun("m", CASES["sums"], teacher, seed, Path(), evaluations, metrics, 120.0, [])


def test_a_case_is_bold_only_where_it_rose_by_ten_points_with_intervals_apart():
    assert rises(evaluation(0, 0.1), evaluation(9, 0.25))
    assert not rises(evaluation(0, 0.1, 0.1), evaluation(9, 0.25, 0.1))
    assert not rises(evaluation(0, 0.1, 0.01), evaluation(9, 0.19, 0.01))
    last = format_cases([run("random", 0, [0.1, 0.5], 10.0)]).splitlines()[-1]
    assert "| 10 [5, 15] | **50 [45, 55]** |" in last
    assert last.endswith("| 2 | 2 |")
    # It was evaluated after two of four steps, and then no more.
    dead = replace(run("random", 0, [0.0, 0.5, 0.5], 10.0), evaluations=[evaluation(0, 0.0), evaluation(2, 0.5)])
    assert format_cases([dead]).endswith("| 0 [-5, 5] | ended without signal | 0 [-5, 5] | – | 4 | 2 |")


def test_teachers_are_compared_at_equal_tokens_paired_by_seed():
    # The second samples twice as many tokens a step: at 40 tokens, the least total, it stands at its second evaluation.
    runs = [run("random", 0, [0.0, 0.2, 0.4], 10.0), run("sec", 0, [0.0, 0.5, 0.9], 20.0)]
    uniform, sec = format_teachers(runs).splitlines()[2:]
    assert "| random | 40 | – | 20 | – | 25% |" in uniform
    assert "| sec | 50 | +10 | 25 | +5 | 25% |" in sec


def test_answers_and_questions_stay_in_their_cells():
    shown = {"actions": ["a|b", "c\n`d`"], "success": True}
    row = {"question": "1\n+ 2", "reference": "3", "before": {"actions": [], "success": False}, "after": shown}
    one = run("random", 0, [0.0, 1.0], 1.0)
    text = format_answers(CaseRun(one.model, one.case, "random", 0, Path(), [], [], 0.0, [row]))
    assert text.splitlines()[-1] == "| `1 + 2` | `(nothing)` ✗ | `a\\|b / c 'd'` ✓ |"


def test_a_suite_has_a_column_a_player():
    text = format_suite("core", {"m": {"a": 0.5, "b": 0.0}, "m after sums": {"a": 1.0, "b": 0.1}})
    assert text.splitlines()[2:] == ["| `a` | 50 | 100 |", "| `b` | 0 | 10 |", "| mean | 25.0 | 55.0 |"]


def test_curves_have_a_panel_a_case():
    svg = draw_curves([run("random", seed, [0.0, 0.4], 1.0) for seed in (0, 1)])
    assert svg.startswith("<svg")
    assert svg.count("sums") == 1
