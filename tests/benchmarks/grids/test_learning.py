from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from palaestra import benchmarks
from palaestra.benchmarks.grids import learning
from palaestra.benchmarks.grids.learning import (
    LEARNING_TABLES,
    GridPlayer,
    GridRunFigures,
    LearningFigures,
    LearningTable,
)
from palaestra.errors import InputError
from scipy import stats

QUICK = {"environments": 4, "log_every": 256, "env_options": {"max_steps": 15}}
SMALL = LearningTable(
    "small",
    "palaestra/NoisyTV-v0",
    {"size": 7, "screens": 1, "channel": "remote"},
    1024,
    {
        "none": GridPlayer("q", QUICK),
        "potential": GridPlayer("q", {**QUICK, "bonus": ("potential",)}),
    },
)
ARGUMENTS = ["grids", "--tables", "small", "--seeds", "2"]


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(LEARNING_TABLES, "small", SMALL)


def test_players_are_trained_and_finished_runs_are_not_played_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    files = ["--json", str(tmp_path / "figures.json"), "--markdown", str(tmp_path / "table.md")]
    line = [*ARGUMENTS, "--out", str(tmp_path), *files]
    assert benchmarks.main(line) == 0
    figures = json.loads((tmp_path / "figures.json").read_text())["small"]
    assert set(figures["runs"]) == {"none", "potential"}
    assert [run["steps"] for run in figures["runs"]["none"]] == [1024, 1024]
    assert (tmp_path / "table.md").read_text().strip() in capsys.readouterr().out
    before = (tmp_path / "figures.json").read_bytes()
    monkeypatch.setattr(learning.LEARNERS["q"].__class__, "load_run", lambda self: pytest.fail("trained again"))
    assert benchmarks.main(line) == 0
    assert (tmp_path / "figures.json").read_bytes() == before


def test_runs_of_other_settings_are_refused(tmp_path: Path):
    line = [*ARGUMENTS, "--out", str(tmp_path), "--players", "none"]
    benchmarks.main(line)
    with pytest.raises(InputError, match=r"begun with 1,024 steps, which its explore follows.*give --longest 1024"):
        benchmarks.main([*line, "--longest", "2048"])
    with pytest.raises(InputError, match="steps: 512 instead of 1024"):
        benchmarks.main([*line, "--longest", "512"])
    changed = replace(SMALL, axes={**SMALL.axes, "size": 9})
    with pytest.raises(InputError, match="axes"):
        learning.measure_learning(changed, 1, tmp_path / "small", longest=2048)


def test_a_run_that_had_not_learned_goes_on_to_more_steps_as_one_that_began_with_them(tmp_path: Path):
    table = replace(SMALL, players={"none": GridPlayer("q", {**QUICK, "explore_end": 1.0})})
    (short,) = learning.measure_learning(table, 1, tmp_path / "grown").runs["none"]
    (grown,) = learning.measure_learning(table, 1, tmp_path / "grown", longest=2048).runs["none"]
    (fresh,) = learning.measure_learning(table, 1, tmp_path / "fresh", longest=2048).runs["none"]
    assert (short.learned, short.steps, grown.steps) == (None, 1024, 2048)
    assert grown == fresh
    logs = [(tmp_path / name / "none" / "0" / "metrics.jsonl").read_bytes() for name in ("grown", "fresh")]
    assert logs[0] == logs[1]
    # One that had learned is known, and is not played again.
    figures = tmp_path / "grown" / "none" / "0" / "figures.json"
    figures.write_text(json.dumps({"learned": 512, "steps": 2048, "success": 1.0}))
    (learned,) = learning.measure_learning(table, 1, tmp_path / "grown", longest=4096).runs["none"]
    assert learned == GridRunFigures(512, 2048, 1.0)


@pytest.mark.parametrize("option", ["--tables", "--players"])
def test_unknown_names_are_refused(option: str, tmp_path: Path):
    with pytest.raises(InputError, match="subgoal"):
        benchmarks.main(["grids", "--tables", "subgoals", "--out", str(tmp_path), option, "subgoal"])


def metrics(successes: list[float | None]) -> list[dict[str, float]]:
    return [{"step": 10 * (i + 1)} | ({} if s is None else {"success": s}) for i, s in enumerate(successes)]


def test_a_player_has_learned_where_success_begins_to_hold():
    assert learning._find_step_learned([]) is None
    assert learning._find_step_learned(metrics([0.9] * 4)) is None
    assert learning._find_step_learned(metrics([1.0, 0.5, *[0.9] * 5, 0.0])) == 30
    assert learning._find_step_learned(metrics([1.0, None, *[0.9] * 5])) == 30


def test_go_explore_has_learned_where_it_plays_all_its_levels_from_their_starts():
    solved = {"cells": 9, "levels_solved": 1.0}
    # Exploring, in episodes from near the ends, and from the starts of one level of two that was solved.
    rows = [{"step": 10 * i, **solved} for i in range(1, 7)]
    rows += [{"step": 10 * i, **solved, "start": 0.5, "success": 1.0, "success_from_start": 1.0} for i in range(7, 13)]
    half = {"levels_solved": 0.5, "start": 0.0, "success": 1.0, "success_from_start": 1.0}
    rows += [{"step": 10 * i, **solved, **half} for i in range(13, 19)]
    assert learning._find_step_learned(rows) is None
    assert learning._find_first_success([{"step": 5, "cells": 3, "levels_solved": 0.0}, *rows]) == 10
    rows += [{"step": 10 * i, **solved, "start": 0.0, "success_from_start": 0.95} for i in range(19, 24)]
    assert learning._find_step_learned(rows) == 190


def figures_of(first: list[int | None], other: list[int | None]) -> LearningFigures:
    rows = {"none": first, "potential": other}
    runs = {
        name: [GridRunFigures(n, 1024 if n is None else n + 40, 1.0) for n in found] for name, found in rows.items()
    }
    return LearningFigures(SMALL, runs)


def test_the_ratio_is_of_geometric_means_and_a_bound_where_the_first_did_not_learn():
    middle, low, high, bound = figures_of([100, 400], [10, 40]).ratio("potential")
    assert middle == pytest.approx(10.0)
    assert low < middle < high
    assert low * high == pytest.approx(middle**2)
    assert not bound
    middle, *_, bound = figures_of([None], [64]).ratio("potential")
    assert (middle, bound) == (pytest.approx(16.0), True)
    assert "at least 16.0" in figures_of([None], [64]).tabulate()
    assert "never" in figures_of([None], [None]).tabulate()


def test_the_interval_is_that_of_welch():
    figures = figures_of([100, 300, 200, 150], [10, 11, 40, 25])
    first, other = (np.log([run.learned for run in runs]) for runs in figures.runs.values())
    known = stats.ttest_ind(first, other, equal_var=False).confidence_interval(0.95)
    assert figures.ratio("potential")[1:3] == pytest.approx((math.exp(known.low), math.exp(known.high)))


def test_many_equal_ratios_have_a_narrow_interval():
    _, low, high, _ = figures_of([100, 101, 99, 100], [10, 10, 10, 10]).ratio("potential")
    assert 9.5 < low < high < 10.5
    assert math.isfinite(figures_of([100, 100], [10, 10]).ratio("potential")[2])
