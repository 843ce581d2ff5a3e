"""Train tabular Q-learning to find the gap in a wall, with and without a teacher, and score it on held-out rooms."""

from __future__ import annotations

from pathlib import Path

from palaestra.agents.students import QConfig
from palaestra.agents.students.student_run import StudentRun

for teacher in (None, "alp-gmm"):
    config = QConfig(
        env="palaestra/LavaGap-v0",
        axes={"size": [5, 6], "rivers": 1, "hazard": "wall"},
        teacher=teacher,
        bonus=("potential",),
        environments=8,
        steps=40_000,
        eval_every=0,
        final_episodes=100,
    )
    run = StudentRun.start(Path("runs") / (teacher or "none"), config)
    run.run(notify=lambda sentence: None)
    print(f"teacher {teacher}: {run.evaluate(100).success} of held-out rooms; palaestra report {run.folder.path}")
