"""Learned model of the environment's transitions, whose error measures how new a task's dynamics are to the learner."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from ....checks import check_count, check_number
from ....rewards.embedding import HashedNgrams
from ..batch.trajectory import Group, Trajectory
from .likelihoods import valid_of
from .producer import Found, ProducerTools, place_rows, produces


@produces("transition_loss")
class TransitionModel:
    """Linear map from the hashed words of observation and action to the next observation's words, the reward and
    whether the episode ends (the transition model of TRACED, arXiv 2506.19997, section 4.1, over text).

    The loss is the squared error summed over outputs, averaged over an episode's turns, before the model learns from
    them. The model learns from every episode by normalised least mean squares.

    Args:
        lr: step size, in (0, 2); 1 fits each transition exactly at its update.
        columns: number of hashed features of a text.
    """

    def __init__(self, lr: float = 0.5, columns: int = 256):
        self.lr = check_number("lr", lr, 0.0, 2.0)
        self.columns = check_count("columns", columns, 1)
        self._embed = HashedNgrams(columns=columns)

    def attach(self, model: Any) -> None:
        """Set all weights to 0, so that the model predicts 0."""
        self._weights = np.zeros((2 * self.columns + 1, self.columns + 2))

    def follow(self, model: Any) -> None:
        """Do nothing: the model does not depend on the policy."""

    def state(self) -> dict[str, Any]:
        """Return the weights, for `torch.save`."""
        return {"weights": torch.from_numpy(self._weights)}

    def load(self, state: Mapping[str, Any]) -> None:
        """Restore the state that `state` returned."""
        self._weights = state["weights"].numpy().copy()

    def __call__(self, groups: Sequence[Group], tools: ProducerTools) -> Found:
        episodes = [self._transitions(trajectory) for trajectory in valid_of(groups)]
        losses = [float(np.square(y - x @ self._weights).sum(-1).mean()) if len(x) else 0.0 for x, y in episodes]
        for inputs, targets in episodes:
            for x, y in zip(inputs, targets, strict=True):
                self._weights += self.lr / (x @ x) * np.outer(x, y - x @ self._weights)
        return place_rows(groups, ({"transition_loss": loss} for loss in losses))

    def _transitions(self, trajectory: Trajectory) -> tuple[np.ndarray, np.ndarray]:
        """Return inputs [K, 2 columns + 1] and targets [K, columns + 2] of an episode's K turns."""
        turns = trajectory.turns
        answers = [turn.observation for turn in turns[1:]] + [turns[-1].feedback if turns else ""]
        seen, acted, answered = (
            self._embed(texts) for texts in ([t.observation for t in turns], [t.action for t in turns], answers)
        )
        ones = np.ones((len(turns), 1))
        over = np.array([[float(number == len(turns) - 1)] for number in range(len(turns))])
        rewards = np.array([[turn.reward] for turn in turns])
        return np.hstack([seen, acted, ones]), np.hstack([answered, rewards, over])
