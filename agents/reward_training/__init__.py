"""Training of reward models: ``palaestra train --learner reward-model``.

`reward_model_config` has the settings, `reward_model_data` makes pairs or labelled steps from files, spoilt solutions
or an agent's attempts, `reward_model_run` is the run on disk, and `reward_model_judge` plays ``JudgePairs-v0`` with a
trained model. Importing this package does not import torch.
"""

from __future__ import annotations

from ..learners import LEARNERS, LearnerKind
from .reward_model_config import RewardModelConfig

__all__ = ["RewardModelConfig"]

LEARNERS.add(
    RewardModelConfig.learner,
    LearnerKind(
        "reward models, from preference pairs or labels of steps",
        RewardModelConfig,
        f"{__name__}.reward_model_run:RewardModelRun",
        f"{__name__}.reward_model_judge:RewardModelJudge",
        RewardModelConfig.extra,
    ),
)
