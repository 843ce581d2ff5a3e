"""T5: rank correlation of level scores with the student's exact regret."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..levels.scores import LEVEL_SCORES
from .level_scores import CRITICS, SWEEP, correlate_scores
from .table import UNIFORM, Table, TableResult

NOTES = {
    "novice": "a student that moves almost at random",
    "compass": "one that walks straight at the goal and is stopped by walls",
    "half-trained": "one that weighs the way around walls as much as the straight line",
    "trained": "one that is nearly optimal",
}
# Description of each row: the docstring of its score.
ROWS = {name: " ".join((score.of.__doc__ or "").split()) for name, score in LEVEL_SCORES.items()}
ROWS |= {f"{name}/returns": f"{name} without a critic, from returns alone." for name in CRITICS}


def _run(options: Mapping[str, Any], teacher: str, seed: int, length: int) -> TableResult:
    scores = correlate_scores(SWEEP[options["student"]], mazes=length, episodes=options["episodes"], seed=seed)
    return TableResult(scores.pop(UNIFORM), also=scores)


TABLE = Table(
    name="T5",
    title="Scores of levels against exact regret",
    about=(
        "Teachers that replay levels rank them by a score that is to tell how far the student is from the best policy "
        "there, which is exactly known in these small mazes; shown is the rank correlation between the two over random "
        "mazes, for students from nearly uniform to nearly optimal. 1 would be the exact order, 0 is no better than "
        "chance (the score named random), and below 0 the score prefers levels that hold nothing to gain."
    ),
    settings={name: {"length": 200, "student": name, "episodes": 16} for name in SWEEP},
    notes=NOTES,
    run=_run,
    teachers=lambda: [UNIFORM],
    kinds=frozenset(),
    length="mazes",
    score="rank correlation with regret",
    x="",
    curve="",
    seeds=5,
    percent=False,
    rows=ROWS,
    row="score",
)
