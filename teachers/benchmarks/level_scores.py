"""Rank correlation of level scores with the exact regret of a student on small mazes.

Prioritized level replay ranks levels by a score that approximates regret, V*(start) - V^pi(start), which cannot be
computed in a real task. Here both values are exact: mazes of 7 x 7 cells are solved by value iteration, students are
policies whose values follow from a linear equation, and scores are computed from episodes as a learner would. The
result is a table of Spearman correlations by score and student (`SWEEP`), with standard errors over seeds.

    python -m palaestra.teachers.benchmarks.level_scores --mazes 200 --seeds 5
"""

from __future__ import annotations

import argparse
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...estimates import rank_correlation
from ..levels.scores import LEVEL_SCORES, Visit
from ..levels.trajectories import trajectory_extras
from ..signals import is_flat

SIDE = 7
MOVES = np.array([(-1, 0), (1, 0), (0, -1), (0, 1)])
GAMMA, LAMBDA = 0.95, 0.95
TIME_LIMIT = 60


@dataclass(frozen=True)
class GridMaze:
    """A grid with walls, a start and a goal; reaching the goal gives reward 1 and ends the episode; discount 0.95 per
    step.

    Attributes:
        successors: int[cells, 4], the cell to which each move leads; a move into a wall leads to the same cell.
        start, goal: cells; walls are cells too, but no move leads there.
    """

    successors: np.ndarray
    start: int
    goal: int


def generate_maze(rng: np.random.Generator, walls: int = 20) -> GridMaze:
    """Draw a random maze with 0 to ``walls`` wall cells whose goal can be reached."""
    while True:
        cells = rng.permutation(SIDE * SIDE)
        start, goal, count = int(cells[0]), int(cells[1]), int(rng.integers(walls + 1))
        free = np.ones(SIDE * SIDE, dtype=bool)
        free[cells[2 : 2 + count]] = False
        at = np.stack(np.divmod(np.arange(SIDE * SIDE), SIDE), 1)[:, None] + MOVES
        inside = ((at >= 0) & (at < SIDE)).all(-1)
        target = np.where(inside, at[..., 0] * SIDE + at[..., 1], 0)
        here = np.arange(SIDE * SIDE)[:, None]
        maze = GridMaze(np.where(inside & free[target], target, here), start, goal)
        if np.isfinite(goal_distances(maze)[start]):
            return maze


def goal_distances(maze: GridMaze) -> np.ndarray:
    """Return float64[cells], the number of steps to the goal along the shortest path; infinite without a path."""
    steps = np.full(len(maze.successors), np.inf)
    steps[maze.goal], queue = 0, deque([maze.goal])
    while queue:
        cell = queue.popleft()
        before = np.flatnonzero((maze.successors == cell).any(1) & np.isinf(steps))
        steps[before] = steps[cell] + 1
        queue.extend(before.tolist())
    return steps


def optimal_values(maze: GridMaze) -> np.ndarray:
    """Return float64[cells], V*, by value iteration to 1e-12."""
    values = np.zeros(len(maze.successors))
    while True:
        at_goal = maze.successors == maze.goal
        new = np.where(at_goal, 1.0, GAMMA * values[maze.successors]).max(1)
        new[maze.goal] = 0.0
        if np.abs(new - values).max() < 1e-12:
            return new
        values = new


def exact_values(maze: GridMaze, policy: np.ndarray) -> np.ndarray:
    """Return float64[cells], V^pi of ``policy`` (float64[cells, 4]), as the solution of the Bellman equation."""
    n = len(policy)
    at_goal = maze.successors == maze.goal
    transition = np.zeros((n, n))
    np.add.at(transition, (np.arange(n)[:, None], maze.successors), np.where(at_goal, 0.0, GAMMA * policy))
    transition[maze.goal] = 0.0
    reward = (policy * at_goal).sum(1)
    reward[maze.goal] = 0.0
    return np.linalg.solve(np.eye(n) - transition, reward)


@dataclass(frozen=True)
class Student:
    """A policy for all mazes: softmax of a preference for each move, mixed with uniform moves.

    Attributes:
        skill: weight of a move's progress along the shortest path, which respects walls.
        compass: weight of a move's progress in Manhattan distance, which ignores walls.
        noise: share of uniform moves.
    """

    skill: float
    compass: float
    noise: float = 0.1

    def policy(self, maze: GridMaze) -> np.ndarray:
        """Return float64[cells, 4], the probability of each move in each cell."""
        cells = np.stack(np.divmod(np.arange(len(maze.successors)), SIDE), 1)
        crow = np.abs(cells - cells[maze.goal]).sum(1).astype(float)
        way = np.minimum(goal_distances(maze), 4.0 * SIDE)
        after = maze.successors
        preference = self.skill * (way[:, None] - way[after]) + self.compass * (crow[:, None] - crow[after])
        weights = np.exp(preference - preference.max(1, keepdims=True))
        return (1 - self.noise) * weights / weights.sum(1, keepdims=True) + self.noise / 4


SWEEP: Mapping[str, Student] = {
    "novice": Student(0.2, 0.3),
    "compass": Student(0.0, 2.0),
    "half-trained": Student(0.7, 0.7),
    "trained": Student(2.0, 0.5),
}
"""Students along a training run: from nearly uniform, past one that walks straight at the goal, to nearly optimal."""


def fit_critic(mazes: Sequence[GridMaze], students: Sequence[np.ndarray]) -> np.ndarray:
    """Fit a critic, float64[2 SIDE - 1], to the exact values: their mean over all mazes at each Manhattan distance to
    the goal. The critic is right on average but ignores walls."""
    total, count = np.zeros(2 * SIDE - 1), np.zeros(2 * SIDE - 1)
    for maze, values in zip(mazes, students, strict=True):
        reached = np.flatnonzero(np.isfinite(goal_distances(maze)))
        np.add.at(total, manhattan_distances(maze)[reached], values[reached])
        np.add.at(count, manhattan_distances(maze)[reached], 1)
    return total / np.maximum(count, 1)


def manhattan_distances(maze: GridMaze) -> np.ndarray:
    """Return int[cells], Manhattan distances to the goal."""
    cells = np.stack(np.divmod(np.arange(len(maze.successors)), SIDE), 1)
    return np.abs(cells - cells[maze.goal]).sum(1)


def play_episode(
    maze: GridMaze, policy: np.ndarray, values: np.ndarray, rng: np.random.Generator
) -> tuple[float, bool, dict[str, float]]:
    """Play one episode. Return its discounted return, True if it reached the goal, and a learner's measurements."""
    cell, cells = maze.start, []
    cumulative = policy.cumsum(1)
    for draw in rng.random(TIME_LIMIT):
        cells.append(cell)
        cell = int(maze.successors[cell, min(int(np.searchsorted(cumulative[cell], draw)), 3)])
        if cell == maze.goal:
            break
    won = cell == maze.goal
    rewards, dones = np.zeros(len(cells)), np.zeros(len(cells), dtype=bool)
    rewards[-1], dones[-1] = won, won  # an episode cut off by the time limit is bootstrapped from the critic
    expected = np.append(values[cells], values[cell])
    extras = trajectory_extras(rewards, expected, dones, GAMMA, LAMBDA, policy[cells])
    return (GAMMA ** (len(cells) - 1) if won else 0.0), won, extras


def score_maze(
    maze: GridMaze, policy: np.ndarray, values: np.ndarray, episodes: int, rng: np.random.Generator
) -> dict[str, float]:
    """Return every score that needs no further model, computed from ``episodes`` episodes on one maze.

    The key of a score is its name if computed with the critic's measurements; "/returns" is appended if it is computed
    from returns alone, in two groups of half of the episodes each.
    """
    played = [play_episode(maze, policy, values, rng) for _ in range(episodes)]
    returns = np.array([ret for ret, _, _ in played])
    rate = float(np.mean([won for _, won, _ in played]))
    extras = {name: float(np.mean([measured[name] for _, _, measured in played])) for name in played[0][2]}
    first, second = returns[: episodes // 2], returns[episodes // 2 :]
    with_critic = Visit(returns, float(returns.mean()), float(returns.max()), rate, extras, 1.0, rng)
    alone = Visit(second, float(first.mean()), float(returns.max()), rate, {}, 1.0, rng)
    result = {}
    for name, score in LEVEL_SCORES.items():
        if score.needs <= set(extras):
            result[name] = score.of(with_critic)
        if name in CRITICS:
            result[f"{name}/returns"] = score.of(alone)
    return result


CRITICS = ("value_l1", "positive_value_loss", "signed_value_loss", "max_mc", "mna")


def spearman(x: np.ndarray, y: np.ndarray) -> float:
    """Return the rank correlation, with ties at their mean rank; 0 if either array is constant."""
    if is_flat(np.asarray(x)) or is_flat(np.asarray(y)):
        return 0.0
    return rank_correlation(x, y)


def correlate_scores(student: Student, mazes: int = 200, episodes: int = 16, seed: int = 0) -> dict[str, float]:
    """Return the Spearman correlation of each score with the exact regret over random mazes."""
    rng = np.random.default_rng(seed)
    levels = [generate_maze(rng) for _ in range(mazes)]
    policies = [student.policy(maze) for maze in levels]
    exact = [exact_values(maze, policy) for maze, policy in zip(levels, policies)]
    regret = np.array([optimal_values(maze)[maze.start] - v[maze.start] for maze, v in zip(levels, exact)])
    by_distance = fit_critic(levels, exact)
    rows = []
    for maze, policy in zip(levels, policies):
        expected = by_distance[manhattan_distances(maze)]
        expected[maze.goal] = 0.0
        rows.append(score_maze(maze, policy, expected, episodes, rng))
    return {name: spearman(np.array([row[name] for row in rows]), regret) for name in rows[0]}


def tabulate_correlations(
    mazes: int = 200, episodes: int = 16, seeds: int = 5
) -> dict[str, dict[str, tuple[float, float]]]:
    """Return score -> student -> (mean, standard error) of the correlation over seeds; the error of one seed is NaN."""
    runs = {
        name: [correlate_scores(student, mazes, episodes, seed) for seed in range(seeds)]
        for name, student in SWEEP.items()
    }
    result: dict[str, dict[str, tuple[float, float]]] = {}
    for student, records in runs.items():
        for score in records[0]:
            values = np.array([record[score] for record in records])
            error = float(values.std(ddof=1) / np.sqrt(seeds)) if seeds > 1 else float("nan")
            result.setdefault(score, {})[student] = (float(values.mean()), error)
    return result


def format_table(result: Mapping[str, Mapping[str, tuple[float, float]]]) -> str:
    """Return the table in Markdown, best score first."""
    order = sorted(result, key=lambda score: -np.mean([mean for mean, _ in result[score].values()]))
    students = list(result[order[0]])
    lines = ["| score | " + " | ".join(students) + " |", "|---|" + "---|" * len(students)]
    for score in order:
        lines.append(f"| {score} | " + " | ".join(f"{m:+.2f} ± {e:.2f}" for m, e in result[score].values()) + " |")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> str:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--mazes", type=int, default=200)
    parser.add_argument("--episodes", type=int, default=16, help="per maze")
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args(arguments)
    return format_table(tabulate_correlations(options.mazes, options.episodes, options.seeds))


if __name__ == "__main__":
    import sys

    sys.stdout.write(main() + "\n")
