"""The table of level scores against exact regret."""

from __future__ import annotations

import numpy as np
import pytest
from palaestra.teachers.benchmarks import level_scores
from palaestra.teachers.benchmarks.level_scores import (
    GAMMA,
    SWEEP,
    Student,
    correlate_scores,
    exact_values,
    format_table,
    generate_maze,
    goal_distances,
    optimal_values,
    play_episode,
    spearman,
    tabulate_correlations,
)


def test_optimal_values_are_the_discount_to_the_power_of_the_steps_left():
    for seed in range(5):
        maze = generate_maze(np.random.default_rng(seed))
        steps = goal_distances(maze)
        reached = np.isfinite(steps) & (steps > 0)
        assert optimal_values(maze)[reached] == pytest.approx(GAMMA ** (steps[reached] - 1), abs=1e-10)
        assert optimal_values(maze)[maze.goal] == 0.0


def test_a_policys_value_is_its_mean_return():
    maze, student = generate_maze(np.random.default_rng(3)), Student(1.0, 0.5)
    policy, rng = student.policy(maze), np.random.default_rng(0)
    assert policy.sum(1) == pytest.approx(np.ones(49))
    exact = exact_values(maze, policy)
    returns = [play_episode(maze, policy, exact, rng)[0] for _ in range(600)]
    assert np.mean(returns) == pytest.approx(exact[maze.start], abs=4 * np.std(returns) / 24)


def test_no_policy_beats_the_optimum_and_a_sharp_one_reaches_it():
    maze = generate_maze(np.random.default_rng(4))
    best = optimal_values(maze)
    for student in SWEEP.values():
        assert (exact_values(maze, student.policy(maze)) <= best + 1e-9).all()
    sharp = exact_values(maze, Student(60.0, 0.0, noise=0.0).policy(maze))
    reached = np.isfinite(goal_distances(maze))
    assert sharp[reached] == pytest.approx(best[reached], abs=1e-6)


def test_rank_correlation_by_hand():
    assert spearman(np.array([1, 2, 3]), np.array([10, 30, 20])) == pytest.approx(0.5)
    assert spearman(np.array([1.0, 1.0, 2.0]), np.array([1.0, 2.0, 3.0])) == pytest.approx(np.sqrt(3) / 2)
    assert spearman(np.ones(3), np.array([1.0, 2.0, 3.0])) == 0.0


def test_a_score_that_is_the_regret_correlates_perfectly_and_chance_does_not(monkeypatch):
    exact = {}

    def scores(maze, policy, values, episodes, rng):
        true = optimal_values(maze)[maze.start] - exact_values(maze, policy)[maze.start]
        exact[maze.start] = true
        return {"itself": true, "opposite": -true}

    monkeypatch.setattr(level_scores, "score_maze", scores)
    result = correlate_scores(SWEEP["compass"], mazes=15)
    assert result == {"itself": pytest.approx(1.0), "opposite": pytest.approx(-1.0)}


def test_the_table_holds_every_score_that_needs_no_model():
    result = tabulate_correlations(mazes=12, episodes=4, seeds=2)
    assert {"value_l1", "positive_value_loss", "max_mc", "learnability", "one_step_td", "mna"} <= set(result)
    assert "traced" not in result
    assert all(set(row) == set(SWEEP) and all(-1 <= mean <= 1 for mean, _ in row.values()) for row in result.values())
    assert format_table(result).count("\n") == len(result) + 1
    assert result["uniform"]["novice"][0] == 0.0


def test_a_seed_fixes_a_run():
    assert correlate_scores(SWEEP["novice"], 6, 4, seed=1) == correlate_scores(SWEEP["novice"], 6, 4, seed=1)
