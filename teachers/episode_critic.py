"""A critic's measurements of an episode, for teachers that need more than its return.

Pass an `EpisodeCritic` as ``TeacherWrapper(..., measure=)``; its numbers become the `Outcome.extras` of the episode.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..checks import check_share
from .levels.trajectories import measurements
from .wrapper import WrappedEpisode


class EpisodeCritic:
    """Computes the extras of an actor-critic learner: "value_l1", "positive_value_loss", "one_step_td", "mean_value"
    ...

        TeacherWrapper(env, "plr", measure=EpisodeCritic(lambda observations: my_network.value(observations)))

    Args:
        value: a list of T + 1 observations -> float[T + 1], the learner's value estimates.
        policy: a list of T observations -> float[T, actions], the probabilities of its actions, for scores by entropy
            and confidence; None omits those scores.
        gamma: discount of the learner, in [0, 1].
        lam: lambda of its generalised advantage estimates, in [0, 1].

    Raises:
        InputError: gamma or lam out of range, or values that do not fit.
    """

    def __init__(
        self,
        value: Callable[[list[Any]], Any],
        policy: Callable[[list[Any]], Any] | None = None,
        *,
        gamma: float = 0.99,
        lam: float = 0.95,
    ):
        self._value, self._policy = value, policy
        self._gamma, self._lam = check_share("gamma", gamma), check_share("lam", lam)

    def __call__(self, played: WrappedEpisode) -> dict[str, float]:
        """Return the episode's extras. A truncated episode is bootstrapped from the value of its last observation."""
        ends = np.zeros(len(played.rewards), dtype=bool)
        ends[-1] = played.terminated
        probabilities = None if self._policy is None else self._policy(played.observations[:-1])
        return measurements(
            played.rewards, self._value(played.observations), ends, self._gamma, self._lam, probabilities
        )
