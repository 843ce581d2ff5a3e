"""Students: small learners for environments with array observations, such as gridworlds: tabular Q-learning, PPO,
Go-Explore, novelty search, and hand-over from a demonstrator.

`student_config` and `novelty_config` hold the settings, `practice` the environments and the teacher, `observations`
encodes observations as arrays, `tabular_q`, `ppo`, `go_explore`, `novelty_search` and `hand_over` learn, `student_run`
is the run on disk and `student_agent` plays the learned policy. Tabular Q-learning and novelty search do not need
torch, and importing this package does not import torch.
"""

from __future__ import annotations

from ..learners import LEARNERS, LearnerKind
from .hand_over_config import HandOverConfig
from .novelty_config import NoveltyConfig
from .student_config import GoExploreConfig, PPOConfig, QConfig, StudentConfig

__all__ = ["GoExploreConfig", "HandOverConfig", "NoveltyConfig", "PPOConfig", "QConfig", "StudentConfig"]

for _config, _summary in (
    (QConfig, "tabular Q-learning"),
    (PPOConfig, "proximal policy optimisation"),
    (
        GoExploreConfig,
        "Go-Explore: returns to saved states, explores from them, and learns their paths backwards by PPO,",
    ),
    (NoveltyConfig, "novelty search over policies, with emitters at rewarded ones,"),
    (HandOverConfig, "gradual hand-over from a demonstrator to a learner around its cloned policy,"),
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
