"""Agent that plays ``JudgePairs-v0`` with a trained reward model: the solution with the higher score is right."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ...envs.judging.shortcuts import read_pair
from ...errors import InputError
from ...rewards.models.model_rewards import load_models
from ..agent import Agent
from ..language import language_encoder  # noqa: F401  (registers the encoder)


class RewardModelJudge(Agent):
    """Judge of pairs by the scores of a reward model.

    Args:
        folder: folder of a run of the learner "reward-model" that has ended.
        checkpoint: must be "newest".

    Raises:
        InputError: there is no model in the folder, or another checkpoint is asked for.
    """

    name = "reward-model"

    def __init__(self, folder: str | Path, checkpoint: str = "newest"):
        if checkpoint != "newest":
            raise InputError(f"a run of a reward model keeps its last model alone, not {checkpoint!r}; take 'newest'.")
        self.models = load_models(folder)

    def act(self, observations: Sequence[Any], infos: Sequence[Mapping[str, Any]]) -> list[Any]:
        return [None if info.get("idle") else self._judge(str(text)) for text, info in zip(observations, infos)]

    def _judge(self, observation: str) -> str:
        question, *solutions = read_pair(observation)
        one, two = (sum(model.score([question], [text])[0] for model in self.models) for text in solutions)
        return "[[A]]" if one >= two else "[[B]]"
