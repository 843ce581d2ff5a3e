"""Students of gridworlds and other environments with array observations: tabular Q-learning, PPO, Go-Explore.

`student_config` has their settings, `practice` the environments and the teacher, `observations` turns what is seen into
arrays, `tabular_q`, `ppo` and `go_explore` learn, `student_run` is the run on disk and `student_agent` plays what was
learned. Only tabular Q-learning does without torch; importing this package loads none.
"""

from __future__ import annotations

from ..learners import LEARNERS, LearnerKind
from .student_config import GoExploreConfig, PPOConfig, QConfig, StudentConfig

__all__ = ["GoExploreConfig", "PPOConfig", "QConfig", "StudentConfig"]

for _config, _summary in (
    (QConfig, "tabular Q-learning"),
    (PPOConfig, "proximal policy optimisation"),
    (GoExploreConfig, "Go-Explore: returns to states, explores from them, and learns the ways backwards, by PPO,"),
):
    LEARNERS.add(
        _config.learner,
        LearnerKind(
            f"{_summary} on environments with array observations",
            _config,
            f"{__name__}.student_run:StudentRun",
            f"{__name__}.student_run:load_student",
            _config.extra,
        ),
    )
