"""T8 of ``palaestra bench teachers``: a real student, PPO, on levels of a gridworld that the teacher chooses.

Levels differ in size or in the number of rooms. Rewards are sparse, so that the student finds its first rewards only on
small levels; the test is on held-out levels of all sizes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...teachers.benchmarks.table import Table, TableResult, parse_teacher
from ..harness import require
from ..students import train_student

CHECKPOINTS = 5
ON_THE_WAY, AT_THE_END = 40, 200  # held-out levels of an evaluation during and after training

LENGTH = 400_000


SETTINGS: dict[str, dict[str, Any]] = {
    "DoorKey": {"length": LENGTH, "env": "palaestra/DoorKey-v0", "axes": {"size": [5, 8], "obstacles": 0}},
    "MultiRoom": {"length": LENGTH, "env": "palaestra/MultiRoom-v0", "axes": {"rooms": [2, 5]}},
}


def train(options: Mapping[str, Any], teacher: str, seed: int, length: int) -> TableResult:
    """Train one student in a temporary folder.

    Args:
        length: number of environment steps.
    """
    require("table T8", "train", "torch")
    from ...agents.students.student_config import PPOConfig

    name, teacher_options = parse_teacher(teacher)
    config = PPOConfig(
        env=options["env"],
        axes=dict(options["axes"]),
        teacher=name,
        teacher_options=teacher_options,
        seed=seed,
        steps=length,
        eval_every=max(length // CHECKPOINTS, 1),
        eval_episodes=ON_THE_WAY,
        final_episodes=AT_THE_END,
        checkpoint_every=2 * length,
        threads=1,
        device="cpu",
        track=(),
    )
    rows, steps = train_student(config)
    hardest = max(rows[-1]["by_difficulty"], key=lambda part: part["low"])
    curve = [float(row["step"]) for row in rows], [float(row["success"]) for row in rows]
    practised = [row for row in steps if "success" in row]
    return TableResult(
        score=curve[1][-1],
        curve=curve,
        measures={
            "over the run": sum(curve[1][1:]) / len(curve[1][1:]),
            "hardest": hardest["success"],
            "success in training": sum(row["success"] for row in practised) / max(len(practised), 1),
        },
        hyperparameters=teacher_options,
    )


TABLE = Table(
    name="T8",
    title="PPO on gridworlds",
    about=(
        "PPO learns to play levels that the teacher chooses, of sizes from small to large, where a reward comes at the "
        "end of a level alone. The score is the share solved of held-out levels, spread evenly over the sizes."
    ),
    settings=SETTINGS,
    notes={
        "DoorKey": "rooms of 5 to 8 cells a side: fetch the key, open the door, reach the goal",
        "MultiRoom": "2 to 5 rooms in a row, behind doors",
    },
    run=train,
    teachers=lambda: ["random", "palaestra", "alp-gmm", "rlve window=5 threshold=0.7", "plr"],
    kinds=frozenset({"box", "arms", "levels"}),
    without=frozenset({"format-ladder", "format-stages"}),  # no axis is one of formats
    length="environment steps",
    score="held-out levels solved",
    x="environment steps",
    curve="held-out levels solved",
    seeds=5,
    columns=("over the run", "hardest", "success in training"),
    further=(
        "Over the run: the mean of the scores on the way, from fewer levels. Hardest: share solved of the hardest "
        "quarter of the held-out levels. Success in training: mean over the iterations, on the teacher's levels."
    ),
)
